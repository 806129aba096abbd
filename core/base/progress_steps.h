// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"

#include <cstdint>
#include <mutex>
#include <string>

namespace forkpoint {

/// Turns counts of work done, added from any thread, into at most about a hundred reports of a stage, never decreasing.
class ProgressSteps {
public:
    ProgressSteps(Progress* progress, std::string stage, std::uint64_t total);
    void add(std::uint64_t done);
    void finish(); ///< reports 1

private:
    Progress* m_progress;
    std::string m_stage;
    std::uint64_t m_total;
    std::mutex m_mutex;
    std::uint64_t m_done = 0;
    std::uint64_t m_nextReport = 0;
};

} // namespace forkpoint
