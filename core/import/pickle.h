// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

// Python's pickle, protocols 0 to 5 as far as tensors need them, read as data. Python builds objects by calling what a pickle names; here
// a call stays what it is in the file: a node with the name and the arguments. Nothing is looked up, imported or run, so a pickle from a
// stranger can say what it likes. Whoever reads the nodes decides which names it understands.
//
// Every opcode makes at most one node and one reference to another, so memory is a multiple of the file's bytes; lengths are checked
// against what is left. Nodes refer to each other by number: lists may contain themselves, and readers must expect it.
namespace forkpoint::import {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = ~NodeId(0);

struct PickleNode {
    enum class Type : std::uint8_t {
        None, Bool, Integer, BigInteger, Float, Text, Bytes, Tuple, List, Dict, Set,
        Global,     ///< `text` is "module.name"
        Call,       ///< `callee` called with `arguments`; what was put into the result is in items or pairs, and in `state`
        Persistent, ///< `arguments` is the persistent id
    };
    Type type = Type::None;
    bool pairs = false;          ///< items are key, value, key, value, ...: Dict, and a Call that received such
    std::int64_t number = 0;     ///< Integer, Bool
    double real = 0;             ///< Float
    std::string_view text;       ///< Text, Bytes, Global; lives as long as the Pickle and the bytes it was read from
    std::vector<NodeId> items;   ///< Tuple, List, Dict, Set, Call
    NodeId callee = kNoNode, arguments = kNoNode, state = kNoNode;
};

struct Pickle {
    std::vector<PickleNode> nodes;
    std::shared_ptr<const std::unordered_set<std::string>> names; ///< the texts of globals
    NodeId root = kNoNode;
    std::size_t size = 0; ///< bytes read, up to and with the STOP

    const PickleNode& operator[](NodeId id) const { return nodes[id]; }
    const PickleNode& top() const { return nodes[root]; }
};

/// Reads one pickle from the start of `bytes`, which must outlive it. Truncated, Corrupt (says what and at which byte), Unsupported (names the
/// opcode). `label` and `base` (where `bytes` begin in the file) are for messages.
Result<Pickle> readPickle(std::span<const std::byte> bytes, const std::string& label, std::uint64_t base = 0);

} // namespace forkpoint::import
