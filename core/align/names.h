// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/record.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace forkpoint::align {

/// The path without the components that wrappers add: `module` (DDP), `_orig_mod` (compile), `_fsdp_wrapped_module`,
/// `_checkpoint_wrapped_module`. "module.layers.0" -> "layers.0".
std::string normalisedPath(std::string_view path);

/// True if nothing but such components is in it: the root module, whatever it is wrapped in.
bool isRoot(std::string_view path);

/// `module.param`, or the one of the two that is not empty.
std::string joinName(std::string_view module, std::string_view param);

/// What a pair is about, with normalised names. Two records are one pair if their keys are equal.
struct PairKey {
    std::int32_t step = 0;
    std::int32_t micro = bundle::kNoMicro; ///< kNoMicro in phases start, reduce, optimizer
    bundle::Phase phase = bundle::Phase::Start;
    bundle::Kind kind = bundle::Kind::Param;
    bundle::Level level = bundle::Level::Module;
    bundle::SharedText module;
    bundle::SharedText param;
    std::int32_t call = 0;
    bundle::SharedText slot;

    auto operator<=>(const PairKey&) const = default;
    std::string name() const; ///< module and parameter, "batch" for a batch, "(root)" for the root module
};

/// / # : @ % as %2F, ...: how names stand in pair ids.
std::string percentEncoded(std::string_view text);

/// DESIGN section 5: s{step}[.m{micro}]/{phase}/{kind}/{name}[#{call}][:{slot}]; parts at their default are left out; / # : @ % in
/// names are percent-encoded.
std::string pairId(const PairKey& key);

/// Modules of B that have no namesake in A, matched by class and order under a matched parent: path in B -> path in A. Paths are
/// normalised; a module matches only one whose parameter names are the same.
std::map<std::string, std::string> matchRenamedModules(const std::vector<bundle::ModuleRecord>& a, const std::vector<bundle::ModuleRecord>& b);

/// `path` with its longest renamed prefix replaced.
std::string renamed(const std::map<std::string, std::string>& renames, const std::string& path);

} // namespace forkpoint::align
