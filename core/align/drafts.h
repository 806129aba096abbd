// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/alignment.h"
#include "core/align/mapped_names.h"
#include "core/align/numbering.h"
#include "core/align/side_index.h"
#include "core/align/stages.h"

#include <cstdint>
#include <span>
#include <string>
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
    bool bySlotOrder = false;
    bool dropped = false;                     ///< its parts went to another draft
    std::span<const Part> a, b;               ///< rank by rank, of not observed ones too
    const MappedName* mappedA = nullptr;      ///< of the first part
    const MappedName* mappedB = nullptr;
    const ExactPair* call = nullptr;          ///< the user paired this very call or slot
    const bundle::SharedText* notObserved = nullptr; ///< the reason why some part is; nothing is compared then
};

struct TextHash {
    std::uint64_t operator()(const bundle::SharedText& text) const;
};

/// The drafts of one step, and what they refer to.
struct StepDrafts {
    std::vector<Draft> drafts;
    std::vector<Part> partsA, partsB;                 ///< draft by draft
    Numbering<bundle::SharedText, TextHash> slots;    ///< DraftKey::slot
};

/// What collecting needs of one side.
struct CollectSide {
    const Side& side;
    const SideIndex& index;
    const std::vector<MappedName>& names;
    std::int32_t recordedStep = 0;
    const std::vector<std::vector<std::int32_t>>& microGroups;
    const Stages& stages;
};

/// The drafts of one step. Names are matched by their numbers, slots that are named differently by their order.
StepDrafts draftsOfStep(const CollectSide& a, const CollectSide& b, const MappedNames& names);

/// Numbers of the drafts in display order: phase, then A's order; what only B has follows its neighbour in B.
std::vector<std::uint32_t> displayOrder(const std::vector<Draft>& drafts);

PairKey pairKey(const DraftKey& key, std::int32_t step, const MappedNames& names, const StepDrafts& drafts);

} // namespace forkpoint::align
