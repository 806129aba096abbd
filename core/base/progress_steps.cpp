// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/progress_steps.h"

#include <algorithm>
#include <utility>

namespace forkpoint {

ProgressSteps::ProgressSteps(Progress* progress, std::string stage, std::uint64_t total)
    : m_progress(progress)
    , m_stage(std::move(stage))
    , m_total(std::max<std::uint64_t>(total, 1))
{
}

void ProgressSteps::add(std::uint64_t done)
{
    if (!m_progress)
        return;
    const std::lock_guard lock(m_mutex);
    m_done = std::min(m_total, m_done + done);
    if (m_done < m_nextReport)
        return;
    m_nextReport = m_done + std::max<std::uint64_t>(1, m_total / 100);
    m_progress->report(m_stage, static_cast<double>(m_done) / static_cast<double>(m_total));
}

void ProgressSteps::finish()
{
    if (m_progress)
        m_progress->report(m_stage, 1.0);
}

} // namespace forkpoint
