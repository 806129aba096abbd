// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/parse_lines.h"

#include "core/bundle/extent_source.h"
#include "core/bundle/problem_log.h"
#include "core/bundle/sha256.h"
#include "core/bundle/sketch.h"
#include "core/tensor/box_ranges.h"

#include <charconv>
#include <fmt/format.h>

namespace forkpoint::bundle {

namespace {

constexpr std::size_t kMaxRank = 64;

/// Looks `key`'s text up, and complains about a word that this version does not know.
template <class T, class Lookup> T word(JsonFields& fields, std::string_view key, std::string_view text, Lookup lookup, T absent)
{
    if (const std::optional<T> value = lookup(text))
        return *value;
    fields.complain(fmt::format("`{}` \"{}\" is unknown to this version of Forkpoint", key, shownText(text)));
    return absent;
}

void parsePlacement(JsonFields& fields, ValuePool& pool, TensorRecord& record)
{
    thread_local std::vector<Placement> placements; // most lines repeat what the pool has
    placements.clear();
    fields.eachObjectOr("placement", [&](JsonFields& axis) {
        Placement placement;
        placement.axis = axis.text("axis");
        const std::string_view type = axis.text("type");
        if (type == "shard") {
            placement.type = Placement::Type::Shard;
            placement.dim = axis.integer("dim", 0, static_cast<std::int64_t>(record.shape.size()) - 1);
        } else if (type == "partial") {
            placement.type = Placement::Type::Partial;
            placement.op = axis.text("op");
            if (axis.ok() && placement.op != "sum" && placement.op != "mean")
                axis.complain(fmt::format("the partial placement's `op` \"{}\" is neither sum nor mean", shownText(placement.op)));
        } else if (type != "replicate") {
            axis.complain(fmt::format("the placement's `type` \"{}\" is neither replicate, shard nor partial", shownText(type)));
        }
        if (!axis.ok())
            fields.complain(axis.problem());
        placements.push_back(std::move(placement));
    });
    record.placement = pool.placements(placements);
}

void parseStats(JsonFields& fields, TensorRecord& record)
{
    std::optional<JsonFields> stats = fields.objectOr("stats");
    if (!stats)
        return;
    RecordedStats& values = record.stats.emplace();
    const auto number = [&stats](std::string_view key) {
        return stats->has(key) ? stats->number(key) : std::numeric_limits<double>::quiet_NaN(); // no finite element: no mean
    };
    values.min = number("min");
    values.max = number("max");
    values.mean = number("mean");
    values.l2 = number("l2");
    values.nan = stats->integerOr("nan", 0, 0);
    values.inf = stats->integerOr("inf", 0, 0);
    if (!stats->ok())
        fields.complain(stats->problem());
}

/// The piece must lie in the whole; else what was recorded about the whole is of no use.
bool globalFits(const TensorRecord& record)
{
    const std::size_t rank = record.shape.size();
    if (!elementCount(record.globalShape) || record.globalShape.size() != rank)
        return false;
    if (record.globalOffset.empty())
        return true;
    return record.globalOffset.size() == rank && checkBox(record.globalShape, {record.globalOffset, record.shape}).has_value();
}

void parseClaim(JsonFields& fields, ValuePool& pool, TensorRecord& record, std::string& lost)
{
    Extent& claim = record.bytes.emplace();
    claim.file = pool.text(fields.textOr("file", {}));
    const std::int64_t offset = fields.integer("offset");
    const std::string_view codec = fields.textOr("codec", "raw");
    const std::string_view filter = fields.textOr("filter", "none");
    const std::int64_t frameSize = fields.integerOr("frame_size", 1 << 20);
    const std::span<const std::int64_t> frames = fields.numbersOr("frames");

    if (codec == "zstd")
        claim.codec = Codec::Zstd;
    else if (codec != "raw")
        lost = fmt::format("the codec \"{}\" is unknown to this version of Forkpoint", shownText(codec));
    if (filter == "shuffle")
        claim.filter = Filter::Shuffle;
    else if (filter != "none")
        lost = fmt::format("the filter \"{}\" is unknown to this version of Forkpoint", shownText(filter));
    if (offset < 0)
        lost = fmt::format("the offset {} is negative", offset);
    claim.offset = static_cast<std::uint64_t>(offset);
    claim.frameSize = frameSize < 0 ? 0 : static_cast<std::uint64_t>(frameSize);
    if (claim.codec != Codec::Zstd)
        return; // frames of raw bytes need no list
    claim.frames.reserve(frames.size());
    for (const std::int64_t frame : frames) {
        if (frame < 0)
            lost = fmt::format("a frame claims {} stored bytes", frame);
        claim.frames.push_back(static_cast<std::uint64_t>(frame));
    }
}

std::optional<SketchRecord> parseSketch(JsonFields& fields, ValuePool& pool)
{
    std::optional<JsonFields> sketch = fields.objectOr("sketch");
    if (!sketch) {
        fields.complain("`detail` is sketch, but the key `sketch` is missing");
        return std::nullopt;
    }
    SketchRecord values;
    values.samples = sketch->integer("samples", 0, kSamples);
    values.zeros = sketch->integerOr("zeros", 0, 0);
    if (std::optional<JsonFields> exponents = sketch->objectOr("exponents")) {
        values.firstExponent = exponents->integer("first", -(1 << 16), 1 << 16);
        values.exponentCounts = exponents->integers("counts");
        if (!exponents->ok())
            fields.complain(exponents->problem());
    }
    if (sketch->has("file")) {
        Extent& claim = values.bytes.emplace();
        claim.file = pool.text(sketch->text("file"));
        claim.offset = static_cast<std::uint64_t>(sketch->integer("offset", 0));
    }
    if (!sketch->ok())
        fields.complain(sketch->problem());
    return values;
}

/// Why the claim cannot be true whatever the file holds.
std::string contradiction(const Extent& claim, DType dtype, const Shape& shape)
{
    return extentProblem(claim, dtype, shape, ~std::uint64_t{0});
}

/// 16 hexadecimal digits.
std::optional<std::uint64_t> foldFromHex(std::string_view text)
{
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return text.size() == 16 && error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

Port parsePort(JsonFields& fields, std::string_view key)
{
    Port port;
    if (std::optional<JsonFields> end = fields.objectOr(key)) {
        port.module = end->text("module");
        port.call = end->indexOr("call", 0);
        port.slot = end->textOr("slot", {});
        if (!end->ok())
            fields.complain(end->problem());
    } else {
        fields.complain(fmt::format("the key `{}` is missing", key));
    }
    return port;
}

} // namespace

bool parseTensor(JsonFields& fields, ValuePool& pool, TensorRecord& record, TensorRemarks& remarks)
{
    record.id = fields.integer("id", 0);
    record.step = fields.index("step");
    record.phase = word(fields, "phase", fields.text("phase"), phaseFromName, Phase::Start);
    record.kind = word(fields, "kind", fields.text("kind"), kindFromName, Kind::Param);
    // Start, reduce and optimizer belong to the step as a whole: a micro given there means nothing and would only split what belongs
    // together.
    record.micro = hasMicro(record.phase) ? fields.index("micro") : kNoMicro;
    const std::string_view level = fields.textOr("level", "module");
    if (level == "op")
        record.level = Level::Op;
    else if (level != "module")
        fields.complain(fmt::format("`level` \"{}\" is unknown to this version of Forkpoint", shownText(level)));
    record.module = pool.text(fields.text("module"));
    record.param = pool.text(hasParam(record.kind) ? fields.text("param") : fields.textOr("param", {}));
    record.call = fields.indexOr("call", 0);
    record.slot = pool.text(fields.textOr("slot", {}));
    record.order = fields.integer("order");
    record.dtype = word(fields, "dtype", fields.text("dtype"), dtypeFromName, DType::Float32);
    record.shape = pool.shape(fields.numbers("shape"));
    if (record.shape.size() > kMaxRank)
        fields.complain(fmt::format("`shape` has {} dimensions, more than the {} that PyTorch allows", record.shape.size(), kMaxRank));
    record.globalShape = pool.shape(fields.numbersOr("global_shape"));
    record.globalOffset = pool.shape(fields.numbersOr("global_offset"));
    parsePlacement(fields, pool, record);
    record.recompute = fields.flagOr("recompute", false);
    if (fields.has("sample_ids"))
        record.sampleIds = fields.integersOr("sample_ids");
    record.notObserved = pool.text(fields.textOr("not_observed", {}));
    parseStats(fields, record);

    const bool seen = record.notObserved.empty();
    record.detail = word(fields, "detail", fields.textOr("detail", "full"), detailFromName, Detail::Full);
    const bool needsDigest = record.detail == Detail::Full || record.detail == Detail::Digest;
    const std::string_view digest = !seen ? std::string_view{} : needsDigest ? fields.text("digest") : fields.textOr("digest", {});
    const std::string_view fold = seen && record.detail != Detail::Full ? fields.text("fold") : fields.textOr("fold", {});
    if (seen && fields.ok() && !fold.empty()) {
        record.fold = foldFromHex(fold);
        if (!record.fold)
            fields.complain("`fold` is no hash: 16 hexadecimal digits are needed");
    }
    std::optional<SketchRecord> sketch;
    if (seen && record.detail == Detail::Sketch)
        sketch = parseSketch(fields, pool);
    if (seen && fields.ok() && (needsDigest || !digest.empty())) {
        record.digest = digestFromHex(digest);
        if (!record.digest)
            fields.complain("`digest` is no SHA-256: 64 hexadecimal digits are needed");
    }
    if (seen && record.detail == Detail::Full && fields.has("file"))
        parseClaim(fields, pool, record, remarks.lost);
    if (!fields.ok())
        return false;

    if ((!record.globalShape.empty() || !record.globalOffset.empty()) && !globalFits(record)) {
        remarks.note = fmt::format(
            "a piece of shape {} at {} does not fit into the whole of shape {}: what the record says about the whole is ignored",
            shapeText(record.shape), shapeText(record.globalOffset), shapeText(record.globalShape));
        record.globalShape = Shape{};
        record.globalOffset = Shape{};
    }
    if (!elementCount(record.shape)) {
        // Nothing may be computed with such a shape. Marked as not observed, no finding uses the record and every reader is prepared for
        // it.
        remarks.lost
            = fmt::format("the shape {} is impossible: a size is negative, or the product overflows", shapeText(record.shape));
        record.notObserved = remarks.lost;
        record.digest.reset();
        record.fold.reset();
        record.stats.reset();
        record.bytes.reset();
        return true;
    }
    if (sketch) {
        if (const std::int64_t count = sampleCount(record); sketch->samples != count) {
            remarks.lost = fmt::format("the sketch has {} samples, but a tensor of this shape has {}", sketch->samples, count);
            sketch->samples = 0;
        } else if (sketch->bytes) {
            remarks.lost = contradiction(*sketch->bytes, record.dtype, {sketch->samples});
        }
        if (!remarks.lost.empty())
            sketch->bytes.reset();
        if (sketch->samples == elementCount(record.shape))
            record.bytes = sketch->bytes; // one that keeps every element is as good as the tensor
        record.sketch = std::make_shared<const SketchRecord>(std::move(*sketch));
    } else if (record.bytes && remarks.lost.empty()) {
        remarks.lost = contradiction(*record.bytes, record.dtype, record.shape);
    }
    if (!remarks.lost.empty())
        record.bytes.reset();
    return true;
}

std::optional<ScalarRecord> parseScalar(JsonFields& fields)
{
    ScalarRecord scalar;
    scalar.step = fields.index("step");
    scalar.micro = fields.indexOr("micro", kNoMicro);
    scalar.name = fields.text("name");
    scalar.value = fields.number("value");
    return fields.ok() ? std::optional(std::move(scalar)) : std::nullopt;
}

bool parseGraph(JsonFields& fields, RankData& rank)
{
    const std::string_view type = fields.text("type");
    if (type == "module") {
        ModuleRecord module;
        module.path = fields.text("path");
        module.className = fields.text("class");
        module.wrapper = fields.textOr("wrapper", {});
        module.parameters = fields.texts("parameters");
        module.buffers = fields.texts("buffers");
        if (fields.ok())
            rank.modules.push_back(std::move(module));
    } else if (type == "call") {
        CallRecord call;
        call.step = fields.index("step");
        call.micro = fields.index("micro");
        call.module = fields.text("module");
        call.call = fields.index("call");
        call.order = fields.integer("order");
        if (fields.has("parent"))
            call.parent = std::string(fields.textOr("parent", {}));
        call.parentCall = fields.indexOr("parent_call", 0);
        call.training = fields.flag("training");
        call.recompute = fields.flagOr("recompute", false);
        call.source = fields.textOr("source", {});
        if (fields.ok())
            rank.calls.push_back(std::move(call));
    } else if (type == "backward") {
        BackwardRecord backward;
        backward.step = fields.index("step");
        backward.micro = fields.index("micro");
        backward.root = fields.text("root");
        backward.order = fields.integer("order");
        backward.source = fields.textOr("source", {});
        if (fields.ok())
            rank.backwards.push_back(std::move(backward));
    } else if (type == "edge") {
        EdgeRecord edge;
        edge.step = fields.index("step");
        edge.micro = fields.index("micro");
        edge.from = parsePort(fields, "from");
        edge.to = parsePort(fields, "to");
        edge.direct = fields.flagOr("direct", false);
        if (fields.ok())
            rank.edges.push_back(std::move(edge));
    } else if (type == "tie") {
        std::vector<std::string> names = fields.texts("names");
        if (fields.ok())
            rank.ties.push_back(std::move(names));
    } else {
        return !fields.ok();
    }
    return true;
}

} // namespace forkpoint::bundle
