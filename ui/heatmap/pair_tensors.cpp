// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/pair_tensors.h"

namespace forkpoint::ui {

PairTensors::PairTensors(compare::Snapshot comparison)
    : m_comparison(std::move(comparison))
{
}

Result<diagnose::LaneTensors> PairTensors::open(std::size_t pair, std::size_t lane) const
{
    if (const auto& kept = m_comparison.structure().kept) {
        return kept->tensors(pair, lane);
    }
    std::call_once(m_once, [this] { m_measurer.emplace(m_comparison.structure().alignment); });
    const auto& it = m_comparison.structure().alignment.pairs[pair];
    return m_measurer->tensors(it, it.lanes[lane]);
}

const compare::KeptTensors* PairTensors::pictureOf(std::size_t pair, std::size_t lane) const
{
    const auto& kept = m_comparison.structure().kept;
    return kept && kept->form(pair, lane) == compare::KeptTensors::Form::Picture ? kept.get() : nullptr;
}

} // namespace forkpoint::ui
