// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/shared_value.h"
#include "core/tensor/dtype.h"
#include "core/tensor/tensor_source.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The records of a bundle as values; FORMAT.md is the authority for every field.
namespace forkpoint::bundle {

enum class Phase : std::uint8_t { Start, Data, Forward, Backward, Reduce, Optimizer }; ///< in the order of a step
enum class Kind : std::uint8_t { Batch, Input, Output, GradOutput, Grad, Param, Buffer, OptimizerState, Scale };
enum class Level : std::uint8_t { Module, Op };
enum class Codec : std::uint8_t { Raw, Zstd };
enum class Filter : std::uint8_t { None, Shuffle };
enum class Detail : std::uint8_t { Full, Sketch, Digest, Fold }; ///< how much of a value is written: FORMAT.md, section 6.1

std::string_view name(Phase phase);
std::string_view name(Kind kind);
std::string_view name(Detail detail);
std::optional<Phase> phaseFromName(std::string_view name);
std::optional<Kind> kindFromName(std::string_view name);
std::optional<Detail> detailFromName(std::string_view name);
bool hasMicro(Phase phase); ///< data, forward, backward; the others belong to the step as a whole
bool hasParam(Kind kind);   ///< param, buffer, grad, optimizer_state

struct Placement {
    enum class Type : std::uint8_t { Replicate, Shard, Partial };
    std::string axis;
    Type type = Type::Replicate;
    std::int64_t dim = 0; ///< Shard
    std::string op;       ///< Partial: "sum" or "mean"
    bool operator==(const Placement&) const = default;
};

using SharedShape = SharedValue<Shape>;
using SharedPlacements = SharedValue<std::vector<Placement>>;

/// Over the finite elements; counts over all.
struct RecordedStats {
    double min = 0, max = 0, mean = 0, l2 = 0;
    std::int64_t nan = 0, inf = 0;
};

using Digest = std::array<std::uint8_t, 32>; ///< SHA-256

/// Where a tensor's bytes lie. Present only if every length was checked against the file.
struct Extent {
    SharedText file;
    std::uint64_t offset = 0;
    std::uint64_t frameSize = 1u << 20;
    Codec codec = Codec::Raw;
    Filter filter = Filter::None;
    std::vector<std::uint64_t> frames; ///< stored bytes per frame; empty for Raw
};

/// What is kept of a tensor whose bytes are not: the elements at its sample positions (sketch.h), and a histogram of magnitudes.
struct SketchRecord {
    std::int64_t samples = 0;
    std::int64_t zeros = 0;
    std::int64_t firstExponent = 0;            ///< floor(log2 |x|) of the first count
    std::vector<std::int64_t> exponentCounts;  ///< empty for types without exponents
    std::optional<Extent> bytes;               ///< of the samples, raw; present only if checked against the file
};

inline constexpr std::int32_t kNoMicro = -1;

/// A bundle may have a million of these: what repeats is shared, and the members stand so that little is lost to alignment.
struct TensorRecord {
    std::int64_t id = 0;
    std::int32_t step = 0;
    std::int32_t micro = kNoMicro;
    std::int64_t order = 0;
    SharedText module; ///< as recorded, wrapper names included
    SharedText param;
    SharedText slot;
    std::int32_t call = 0;
    Phase phase = Phase::Start;
    Kind kind = Kind::Param;
    Level level = Level::Module;
    DType dtype = DType::Float32;
    Detail detail = Detail::Full;
    bool recompute = false;
    std::optional<Digest> digest;
    SharedShape shape;
    SharedShape globalShape, globalOffset; ///< empty if not stated
    SharedPlacements placement;
    SharedValue<std::vector<std::int64_t>> sampleIds;
    SharedText notObserved; ///< the reason; empty if the value was seen
    std::optional<RecordedStats> stats;
    std::optional<std::uint64_t> fold; ///< 64-bit additive hash over (global index, bits)
    std::shared_ptr<const SketchRecord> sketch; ///< nullptr if there is none
    std::optional<Extent> bytes; ///< also of a sketch that keeps every element
};

struct ModuleRecord {
    std::string path, className, wrapper;
    std::vector<std::string> parameters, buffers;
};

struct CallRecord {
    std::int32_t step = 0, micro = 0;
    std::string module;
    std::int32_t call = 0;
    std::int64_t order = 0;
    std::optional<std::string> parent; ///< nullopt at a root
    std::int32_t parentCall = 0;
    bool training = true;
    bool recompute = false;
    std::string source; ///< "train.py:41", empty if unknown
};

struct BackwardRecord {
    std::int32_t step = 0, micro = 0;
    std::string root;
    std::int64_t order = 0;
    std::string source;
};

struct Port {
    std::string module;
    std::int32_t call = 0;
    std::string slot;
    auto operator<=>(const Port&) const = default;
};

struct EdgeRecord {
    std::int32_t step = 0, micro = 0;
    Port from, to;
    bool direct = false;
};

struct ScalarRecord {
    std::int32_t step = 0;
    std::int32_t micro = kNoMicro;
    std::string name;
    double value = 0;
};

} // namespace forkpoint::bundle
