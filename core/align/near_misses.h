// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/alignment.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace forkpoint::align {

/// A tensor of the other side that an unmatched one might have been paired with, and why it was not.
struct NearMiss {
    std::size_t pair = 0; ///< in Alignment::pairs
    std::string why;      ///< "other shape: [4, 2] against [2, 4]", "taken by s0/forward/output/fc", ...
};

/// Answers for every unmatched pair of an alignment. Nothing is refused silently: what has no partner has its nearest candidates here. The alignment
/// must outlive it.
class NearMisses {
public:
    explicit NearMisses(const Alignment& alignment);

    /// The nearest first, at most `most`; empty if the other side has nothing alike. Asked of a pair with status OnlyA or OnlyB.
    std::vector<NearMiss> of(std::size_t pair, std::size_t most = 3) const;

private:
    const Alignment& m_alignment;
    std::unordered_map<std::string, std::vector<std::uint32_t>> m_byName;              ///< step and whole name -> pairs
    std::unordered_map<std::string, std::vector<std::uint32_t>> m_byEnd;               ///< step, phase and last part of the name -> pairs
    std::unordered_map<std::string, std::vector<std::uint32_t>> m_byShape;             ///< step, phase, kind and shape -> pairs
};

} // namespace forkpoint::align
