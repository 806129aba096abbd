// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/writer.h"

#include "core/bundle/extent_source.h"
#include "core/bundle/json_document.h"
#include "core/bundle/recorded_stats.h"
#include "core/bundle/sha256.h"
#include "core/bundle/shuffle.h"
#include "core/tensor/box_ranges.h"

#include <cerrno>
#include <cmath>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <zstd.h>

namespace forkpoint::bundle {

namespace fs = std::filesystem;
using nlohmann::ordered_json; // keys in the order of FORMAT.md, for people who read the files

namespace {

constexpr const char* kBytesFile = "tensors-0000.bin";
constexpr int kZstdLevel = 3;

/// A file that is only appended to.
class AppendFile {
public:
    AppendFile() = default;
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;
    ~AppendFile()
    {
        if (m_descriptor >= 0)
            ::close(m_descriptor);
    }

    Result<void> create(const fs::path& path)
    {
        m_path = path.string();
        m_descriptor = ::open(m_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (m_descriptor < 0)
            return failure(errno);
        return {};
    }

    std::uint64_t size() const { return m_size; }

    Result<void> append(std::span<const std::byte> bytes)
    {
        if (m_failed)
            return fail(ErrorCode::WriteFailed, "an earlier write failed, nothing more is written", m_path);
        while (!bytes.empty()) {
            const ssize_t written = ::write(m_descriptor, bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR)
                continue;
            if (written < 0) {
                m_failed = true;
                return failure(errno);
            }
            m_size += static_cast<std::uint64_t>(written);
            bytes = bytes.subspan(static_cast<std::size_t>(written));
        }
        return {};
    }

private:
    tl::unexpected<Error> failure(int error) const
    {
        return fail(ErrorCode::WriteFailed, fmt::format("cannot be written: {}", std::generic_category().message(error)), m_path);
    }

    int m_descriptor = -1;
    std::string m_path;
    std::uint64_t m_size = 0;
    bool m_failed = false;
};

ordered_json number(double value)
{
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "Infinity" : "-Infinity";
    return value;
}

/// One line of JSON; it is one write(), so that a reader sees it whole or torn, never mixed.
Result<void> appendLine(AppendFile& file, const ordered_json& object)
{
    std::string text;
    try {
        text = object.dump() + "\n";
    } catch (const nlohmann::json::exception&) {
        return fail(ErrorCode::Usage, "a name in the record is not UTF-8");
    }
    return file.append(std::as_bytes(std::span(text)));
}

ordered_json placementsJson(const std::vector<Placement>& placements)
{
    ordered_json list = ordered_json::array();
    for (const Placement& placement : placements) {
        ordered_json axis = {{"axis", placement.axis}};
        switch (placement.type) {
        case Placement::Type::Replicate:
            axis["type"] = "replicate";
            break;
        case Placement::Type::Shard:
            axis["type"] = "shard";
            axis["dim"] = placement.dim;
            break;
        case Placement::Type::Partial:
            axis["type"] = "partial";
            axis["op"] = placement.op;
            break;
        }
        list.push_back(std::move(axis));
    }
    return list;
}

ordered_json tensorJson(const TensorRecord& record)
{
    ordered_json line = {{"id", record.id}, {"step", record.step}};
    if (record.micro != kNoMicro)
        line["micro"] = record.micro;
    line["phase"] = name(record.phase);
    line["kind"] = name(record.kind);
    if (record.level == Level::Op)
        line["level"] = "op";
    line["module"] = *record.module;
    if (hasParam(record.kind) || !record.param.empty())
        line["param"] = *record.param;
    if (record.call != 0)
        line["call"] = record.call;
    if (!record.slot.empty())
        line["slot"] = *record.slot;
    line["order"] = record.order;
    line["dtype"] = name(record.dtype);
    line["shape"] = *record.shape;
    if (!record.globalShape.empty())
        line["global_shape"] = *record.globalShape;
    if (!record.globalOffset.empty())
        line["global_offset"] = *record.globalOffset;
    if (!record.placement.empty())
        line["placement"] = placementsJson(record.placement);
    if (record.recompute)
        line["recompute"] = true;
    if (!record.sampleIds.empty())
        line["sample_ids"] = *record.sampleIds;
    if (!record.notObserved.empty())
        line["not_observed"] = *record.notObserved;
    if (const auto& stats = record.stats) {
        line["stats"] = {{"min", number(stats->min)}, {"max", number(stats->max)}, {"mean", number(stats->mean)},
                         {"l2", number(stats->l2)},   {"nan", stats->nan},         {"inf", stats->inf}};
    }
    if (record.detail != Detail::Full)
        line["detail"] = name(record.detail);
    if (record.digest)
        line["digest"] = hexText(*record.digest);
    if (record.fold)
        line["fold"] = fmt::format("{:016x}", *record.fold);
    if (const auto& bytes = record.bytes) {
        line["file"] = *bytes->file;
        line["offset"] = bytes->offset;
        if (bytes->codec == Codec::Zstd)
            line["codec"] = "zstd";
        if (bytes->filter == Filter::Shuffle)
            line["filter"] = "shuffle";
        if (bytes->codec == Codec::Zstd || bytes->filter == Filter::Shuffle) {
            if (bytes->frameSize != Extent{}.frameSize)
                line["frame_size"] = bytes->frameSize;
        }
        if (bytes->codec == Codec::Zstd)
            line["frames"] = bytes->frames;
    }
    return line;
}

ordered_json portJson(const Port& port)
{
    return {{"module", port.module}, {"call", port.call}, {"slot", port.slot}};
}

} // namespace

struct RankWriter::State {
    fs::path folder;
    int rank = 0;
    std::int64_t nextId = 0;
    AppendFile graph, scalars, tensors, bytes;

    struct Stored {
        Extent extent;
        std::size_t itemSize = 0;
    };
    std::map<Digest, std::vector<Stored>> stored;

    Result<Extent> store(Extent extent, std::span<const std::byte> raw, std::size_t itemSize);
};

/// Writes the bytes at the next multiple of 64 and completes the extent.
Result<Extent> RankWriter::State::store(Extent extent, std::span<const std::byte> raw, std::size_t itemSize)
{
    extent.file = kBytesFile;
    extent.frames.clear();
    const std::size_t padding = static_cast<std::size_t>((64 - bytes.size() % 64) % 64);
    const std::byte zeros[64] = {};
    if (Result<void> done = bytes.append(std::span(zeros, padding)); !done)
        return tl::unexpected(std::move(done.error()));
    extent.offset = bytes.size();
    if (extent.codec == Codec::Raw && extent.filter == Filter::None) {
        if (Result<void> done = bytes.append(raw); !done)
            return tl::unexpected(std::move(done.error()));
        return extent;
    }
    std::vector<std::byte> filtered, packed;
    while (!raw.empty()) {
        std::span<const std::byte> frame = raw.first(static_cast<std::size_t>(std::min<std::uint64_t>(raw.size(), extent.frameSize)));
        raw = raw.subspan(frame.size());
        if (extent.filter == Filter::Shuffle) {
            filtered.resize(frame.size());
            shuffle(frame, filtered, itemSize);
            frame = filtered;
        }
        if (extent.codec == Codec::Zstd) {
            packed.resize(ZSTD_compressBound(frame.size()));
            const std::size_t size = ZSTD_compress(packed.data(), packed.size(), frame.data(), frame.size(), kZstdLevel);
            if (ZSTD_isError(size))
                return fail(ErrorCode::WriteFailed, fmt::format("cannot be compressed: {}", ZSTD_getErrorName(size)), kBytesFile);
            frame = std::span(packed).first(size);
            extent.frames.push_back(size);
        }
        if (Result<void> done = bytes.append(frame); !done)
            return tl::unexpected(std::move(done.error()));
    }
    return extent;
}

RankWriter::RankWriter(std::unique_ptr<State> state)
    : m_state(std::move(state))
{
}

RankWriter::RankWriter(RankWriter&&) noexcept = default;
RankWriter& RankWriter::operator=(RankWriter&&) noexcept = default;
RankWriter::~RankWriter() = default;

Result<RankWriter> RankWriter::create(const fs::path& bundleFolder, int rank)
{
    if (rank < 0)
        return fail(ErrorCode::Usage, fmt::format("{} is no rank number", rank));
    auto state = std::make_unique<State>();
    state->folder = bundleFolder / fmt::format("rank{:05d}", rank);
    state->rank = rank;
    std::error_code error;
    fs::create_directories(bundleFolder, error);
    if (error)
        return fail(ErrorCode::WriteFailed, fmt::format("cannot be created: {}", error.message()), bundleFolder.string());
    if (!fs::create_directory(state->folder, error)) {
        if (!error || error == std::errc::file_exists) {
            return fail(ErrorCode::Exists, "this rank was recorded already. Choose another name for the run, or remove the folder",
                        state->folder.string());
        }
        return fail(ErrorCode::WriteFailed, fmt::format("cannot be created: {}", error.message()), state->folder.string());
    }
    for (const auto& [file, fileName] : {std::pair{&state->graph, "graph.jsonl"}, std::pair{&state->scalars, "scalars.jsonl"},
                                         std::pair{&state->tensors, "tensors.jsonl"}, std::pair{&state->bytes, kBytesFile}}) {
        if (Result<void> done = file->create(state->folder / fileName); !done)
            return tl::unexpected(std::move(done.error()));
    }
    return RankWriter(std::move(state));
}

Result<void> RankWriter::tensor(TensorRecord record, std::span<const std::byte> bytes)
{
    const std::string what = fmt::format("a {} tensor of shape {}", name(record.dtype), shapeText(record.shape));
    const std::optional<std::int64_t> elements = elementCount(record.shape);
    std::int64_t expected = 0;
    if (!elements || __builtin_mul_overflow(*elements, static_cast<std::int64_t>(itemSize(record.dtype)), &expected))
        return fail(ErrorCode::Usage, what + " is impossible: a size is negative, or the product overflows");
    if (!bytes.empty() && bytes.size() != static_cast<std::size_t>(expected))
        return fail(ErrorCode::Usage, fmt::format("{} has {} bytes, but {} were given", what, expected, bytes.size()));
    if (record.step < 0 || record.call < 0 || (hasMicro(record.phase) && record.micro < 0)) {
        return fail(ErrorCode::Usage,
                    fmt::format("step {}, micro {}, call {} must not be negative in phase {}", record.step, record.micro, record.call,
                                name(record.phase)));
    }
    if (!hasMicro(record.phase))
        record.micro = kNoMicro;
    if (!record.notObserved.empty() && !bytes.empty())
        return fail(ErrorCode::Usage, what + " was not observed, and still has bytes");

    record.id = m_state->nextId;
    if (!record.notObserved.empty()) {
        record.digest.reset();
        record.stats.reset();
        record.bytes.reset();
    } else if (bytes.empty() && expected > 0) {
        if (record.detail == Detail::Sketch)
            return fail(ErrorCode::Unsupported, what + " is a sketch: only the recorder writes these");
        if (!record.digest && !(record.detail == Detail::Fold && record.fold))
            return fail(ErrorCode::Usage, what + " has neither bytes nor a digest nor a reason why it was not observed");
        record.bytes.reset();
    } else {
        Sha256 hash;
        hash.add(bytes);
        record.digest = hash.finish();
        if (!record.digest)
            return fail(ErrorCode::Unsupported, "this machine's OpenSSL does not offer SHA-256");
        record.stats = statsOf(record.dtype, bytes);
        Extent wanted = record.bytes.value_or(Extent{});
        record.bytes.reset();
        if (wanted.frameSize == 0 || wanted.frameSize > kMaxFrameSize)
            return fail(ErrorCode::Usage, fmt::format("the frame size {} is not within 1 and {}", wanted.frameSize, kMaxFrameSize));
        if (expected > 0) {
            // The same bytes once. Shuffled ones serve another tensor only if its elements have the same size: the grouping depends on it.
            std::vector<State::Stored>& places = m_state->stored[*record.digest];
            for (const State::Stored& place : places) {
                if (place.extent.filter == Filter::None || place.itemSize == itemSize(record.dtype))
                    record.bytes = place.extent;
            }
            if (!record.bytes) {
                Result<Extent> extent = m_state->store(std::move(wanted), bytes, itemSize(record.dtype));
                if (!extent)
                    return tl::unexpected(std::move(extent.error()));
                places.push_back({*extent, itemSize(record.dtype)});
                record.bytes = std::move(*extent);
            }
        }
    }
    if (Result<void> done = appendLine(m_state->tensors, tensorJson(record)); !done)
        return done;
    ++m_state->nextId;
    return {};
}

Result<void> RankWriter::module(const ModuleRecord& module)
{
    ordered_json line = {{"type", "module"}, {"path", module.path}, {"class", module.className}};
    line["parameters"] = module.parameters;
    line["buffers"] = module.buffers;
    if (!module.wrapper.empty())
        line["wrapper"] = module.wrapper;
    return appendLine(m_state->graph, line);
}

Result<void> RankWriter::call(const CallRecord& call)
{
    ordered_json line = {{"type", "call"},    {"step", call.step},   {"micro", call.micro}, {"module", call.module},
                         {"call", call.call}, {"order", call.order}, {"parent", nullptr},   {"parent_call", nullptr}};
    if (call.parent) {
        line["parent"] = *call.parent;
        line["parent_call"] = call.parentCall;
    }
    line["training"] = call.training;
    if (!call.source.empty())
        line["source"] = call.source;
    if (call.recompute)
        line["recompute"] = true;
    return appendLine(m_state->graph, line);
}

Result<void> RankWriter::backward(const BackwardRecord& backward)
{
    ordered_json line
        = {{"type", "backward"}, {"step", backward.step}, {"micro", backward.micro}, {"root", backward.root}, {"order", backward.order}};
    if (!backward.source.empty())
        line["source"] = backward.source;
    return appendLine(m_state->graph, line);
}

Result<void> RankWriter::edge(const EdgeRecord& edge)
{
    return appendLine(m_state->graph,
                      {{"type", "edge"},
                       {"step", edge.step},
                       {"micro", edge.micro},
                       {"from", portJson(edge.from)},
                       {"to", portJson(edge.to)},
                       {"direct", edge.direct}});
}

Result<void> RankWriter::tie(const std::vector<std::string>& names)
{
    ordered_json line = {{"type", "tie"}};
    line["names"] = names;
    return appendLine(m_state->graph, line);
}

Result<void> RankWriter::scalar(const ScalarRecord& scalar)
{
    ordered_json line = {{"step", scalar.step}};
    if (scalar.micro != kNoMicro)
        line["micro"] = scalar.micro;
    line["name"] = scalar.name;
    line["value"] = number(scalar.value);
    return appendLine(m_state->scalars, line);
}

Result<void> RankWriter::info(const nlohmann::json& rankJson)
{
    nlohmann::json document = rankJson;
    if (!document.is_object())
        return fail(ErrorCode::Usage, "rank.json must be an object");
    document.emplace("format", "forkpoint-rank");
    document.emplace("version", nlohmann::json::array({1, 0}));
    document.emplace("rank", m_state->rank);
    return writeDocument(m_state->folder / "rank.json", document);
}

Result<void> writeBundleInfo(const fs::path& bundleFolder, const nlohmann::json& info)
{
    nlohmann::json document = info;
    if (!document.is_object())
        return fail(ErrorCode::Usage, "bundle.json must be an object");
    document.emplace("format", "forkpoint-bundle");
    document.emplace("version", nlohmann::json::array({1, 0}));
    return writeDocument(bundleFolder / "bundle.json", document);
}

} // namespace forkpoint::bundle
