// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace forkpoint {

/// Receives progress of a long call; every function that takes one accepts nullptr. Implementations must be safe to call from any thread
/// and cheap: callers report at most about a hundred times per stage. Cancellation travels separately, as a std::stop_token.
class Progress {
public:
    virtual ~Progress() = default;
    /// `fraction` in [0, 1] of the stage named by `stage` (a stable English key such as "read", "align", "measure").
    virtual void report(std::string_view stage, double fraction) = 0;
};

} // namespace forkpoint
