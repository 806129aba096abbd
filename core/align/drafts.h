// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/alignment.h"
#include "core/align/mapped_names.h"
#include "core/align/side_index.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// Records with equal keys meet in one draft: the parts of a pair before they are put together.
namespace forkpoint::align {

/// PairKey of one step, with numbers for names: runs have millions of records.
struct DraftKey {
    std::int32_t micro = 0, call = 0;
    std::uint32_t name = 0, slot = 0;
    bundle::Phase phase = bundle::Phase::Start;
    bundle::Kind kind = bundle::Kind::Param;
    bundle::Level level = bundle::Level::Module;
    bool operator==(const DraftKey&) const = default;
};

struct Draft {
    DraftKey key;
    std::vector<Part> a, b;                    ///< rank by rank, of not observed ones too
    const MappedName* mappedA = nullptr;       ///< of the first part
    const MappedName* mappedB = nullptr;
    const ExactPair* call = nullptr;           ///< the user paired this very call or slot
    bool bySlotOrder = false;
    bool dropped = false;                      ///< its parts went to another draft
    const std::string* notObserved = nullptr;  ///< the reason why some part is; nothing is compared then
};

/// Numbers for texts that live elsewhere. The number 0 is the empty text.
class TextNumbers {
public:
    TextNumbers() { number({}); }
    std::uint32_t number(std::string_view text);
    const std::string_view& text(std::uint32_t number) const { return m_texts[number]; }

private:
    std::unordered_map<std::string_view, std::uint32_t> m_numbers;
    std::vector<std::string_view> m_texts;
};

/// What collecting needs of one side.
struct CollectSide {
    const Side& side;
    const SideIndex& index;
    const std::vector<MappedName>& names;
    std::int32_t recordedStep = 0;
    const std::vector<std::vector<std::int32_t>>& microGroups;
};

/// The drafts of one step. Names are matched by their numbers, slots that are named differently by their order.
std::vector<Draft> draftsOfStep(const CollectSide& a, const CollectSide& b, const MappedNames& names, TextNumbers& slots);

/// Numbers of the drafts in display order: phase, then A's order; what only B has follows its neighbour in B.
std::vector<std::uint32_t> displayOrder(const std::vector<Draft>& drafts);

PairKey pairKey(const DraftKey& key, std::int32_t step, const MappedNames& names, const TextNumbers& slots);

} // namespace forkpoint::align
