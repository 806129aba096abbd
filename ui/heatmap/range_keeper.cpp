// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/range_keeper.h"

#include <algorithm>
#include <cmath>

namespace forkpoint::ui {

using heatmap::Mode;
using heatmap::RangeScale;

namespace {

constexpr double kLinearPart = 1e-3; ///< of a range with both signs that is shown linearly on a logarithmic scale

bool hasSign(Mode mode) { return mode == Mode::A || mode == Mode::B || mode == Mode::Difference; }

} // namespace

Mode RangeKeeper::keyOf(Mode mode) { return mode == Mode::B ? Mode::A : mode; }

void RangeKeeper::setTensor(const QString& tensor) { m_tensor = tensor; }

const RangeKeeper::Entry* RangeKeeper::find(Mode mode) const
{
    const auto in = [&](const Entries& entries) -> const Entry* {
        const auto found = entries.find(keyOf(mode));
        return found == entries.end() ? nullptr : &found->second;
    };
    if (m_locked) {
        return in(m_lockedRanges);
    }
    const auto tensor = m_tensors.constFind(m_tensor);
    return tensor == m_tensors.constEnd() ? nullptr : in(*tensor);
}

std::optional<RangeKeeper::Kept> RangeKeeper::range(Mode mode, const QString& picture) const
{
    const auto* entry = find(mode);
    if (!entry) {
        return std::nullopt;
    }
    Kept out;
    out.normalisation.scale = scale(mode);
    out.normalisation.range = entry->range;
    out.normalisation.linear = std::max(std::fabs(entry->range.low), std::fabs(entry->range.high)) * kLinearPart;
    if (out.normalisation.scale == RangeScale::Log && entry->range.low <= 0) {
        out.normalisation.range.low = entry->range.high * 1e-6; // a range of a linear scale, from the clipboard or by hand
    }
    out.marked = mode != Mode::OverTolerance && (m_locked || entry->byHand || entry->fittedTo != picture);
    return out;
}

void RangeKeeper::fit(Mode mode, const heatmap::Histogram& histogram, const QString& picture, bool symmetric)
{
    auto range = heatmap::fittedRange(histogram, scale(mode));
    if (symmetric) {
        const double size = std::max(std::fabs(range.low), std::fabs(range.high));
        range = { -size, size };
    }
    (m_locked ? m_lockedRanges : m_tensors[m_tensor])[keyOf(mode)] = { range, false, picture };
}

void RangeKeeper::set(Mode mode, heatmap::ValueRange range)
{
    auto& entry = (m_locked ? m_lockedRanges : m_tensors[m_tensor])[keyOf(mode)];
    entry.range = range;
    entry.byHand = true;
}

bool RangeKeeper::isByHand(Mode mode) const
{
    const auto* entry = find(mode);
    return entry && entry->byHand;
}

void RangeKeeper::setLocked(bool locked)
{
    if (locked && !m_locked) {
        m_lockedRanges = m_tensors.value(m_tensor);
    }
    m_locked = locked;
}

bool RangeKeeper::isLog(Mode mode) const
{
    const auto found = m_log.find(keyOf(mode));
    return found == m_log.end() ? !hasSign(mode) && mode != Mode::OverTolerance : found->second;
}

RangeScale RangeKeeper::scale(Mode mode) const { return !isLog(mode) ? RangeScale::Linear : hasSign(mode) ? RangeScale::SymLog : RangeScale::Log; }

void RangeKeeper::setLog(Mode mode, bool log)
{
    m_log[keyOf(mode)] = log;
    const auto forget = [&](Entries& entries) {
        const auto found = entries.find(keyOf(mode));
        if (found != entries.end() && !found->second.byHand) {
            entries.erase(found);
        }
    };
    for (auto& entries : m_tensors) {
        forget(entries);
    }
    forget(m_lockedRanges);
}

void RangeKeeper::clear() { m_tensors.clear(); }

} // namespace forkpoint::ui
