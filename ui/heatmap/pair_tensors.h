// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/compare/comparison.h"
#include "core/diagnose/measurement.h"

#include <memory>
#include <mutex>
#include <optional>

namespace forkpoint::ui {

/// Opens the tensors that a comparison's numbers were computed from. Keeps the comparison alive; safe to use from many threads.
class PairTensors {
public:
    explicit PairTensors(compare::Snapshot comparison);

    const compare::Snapshot& comparison() const { return m_comparison; }
    /// Both sides of a lane. Fails as opening does. Not for the UI thread: the first call looks through all records.
    Result<diagnose::LaneTensors> open(std::size_t pair, std::size_t lane) const;
    /// What a portable comparison holds in their place; null if the lane can be opened.
    const compare::KeptTensors* pictureOf(std::size_t pair, std::size_t lane) const;

private:
    compare::Snapshot m_comparison;
    mutable std::once_flag m_once;
    mutable std::optional<diagnose::Measurer> m_measurer;
};

} // namespace forkpoint::ui
