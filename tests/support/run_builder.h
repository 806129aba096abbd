// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/alignment.h"
#include "core/bundle/bundle.h"
#include "core/bundle/writer.h"
#include "tests/support/temp_folder.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <initializer_list>
#include <map>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// Recorded runs in a few lines, written by the library's own writer into a folder that is gone after the test:
//
//     RecordedRun run("ddp2", 2);
//     run.rank(0).batch(f32({ 2, 1 }, { 1, 3 })).output("fc", f32({ 2, 1 }, { 10, 30 })).loss(2);
//     run.rank(1).batch(f32({ 2, 1 }, { 2, 4 })).output("fc", f32({ 2, 1 }, { 20, 40 })).loss(3);
//     auto bundle = run.open();
//
// Records are written in the order of the calls, which is the execution order of that rank.
namespace forkpoint::bundle {

/// For messages of failed tests.
inline std::ostream& operator<<(std::ostream& to, const SharedText& text) { return to << *text; }

} // namespace forkpoint::bundle

namespace forkpoint::test {

/// The elements of a tensor.
struct Values {
    DType dtype = DType::Float32;
    Shape shape;
    std::vector<std::byte> bytes;
};

template <class T> Values valuesOf(DType dtype, Shape shape, const std::vector<T>& elements)
{
    Values out { dtype, std::move(shape), std::vector<std::byte>(elements.size() * sizeof(T)) };
    EXPECT_EQ(elementCount(out.shape), static_cast<std::int64_t>(elements.size()));
    if (!elements.empty()) {
        std::memcpy(out.bytes.data(), elements.data(), out.bytes.size());
    }
    return out;
}

inline Values f32(Shape shape, const std::vector<float>& elements)
{
    return valuesOf(DType::Float32, std::move(shape), elements);
}
inline Values f64(Shape shape, const std::vector<double>& elements)
{
    return valuesOf(DType::Float64, std::move(shape), elements);
}
inline Values i64(Shape shape, const std::vector<std::int64_t>& elements)
{
    return valuesOf(DType::Int64, std::move(shape), elements);
}

/// Bits of the nearest bfloat16 (to even); finite numbers only.
inline std::uint16_t bfloat16Bits(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

inline float roundedToBFloat16(float value)
{
    return fromBFloat16(bfloat16Bits(value));
}

inline Values bf16(Shape shape, const std::vector<float>& elements)
{
    std::vector<std::uint16_t> bits;
    for (const float value : elements) {
        bits.push_back(bfloat16Bits(value));
    }
    return valuesOf(DType::BFloat16, std::move(shape), bits);
}

/// n numbers from N(0, 1), always the same for a seed on every machine.
inline std::vector<float> gaussian(std::size_t n, unsigned seed)
{
    std::mt19937 bits(seed);
    std::vector<float> out(n);
    for (auto& x : out) {
        double sum = -6; // the sum of twelve uniform numbers; std::normal_distribution differs between libraries
        for (int i = 0; i < 12; ++i) {
            sum += static_cast<double>(bits()) / 4294967296.0;
        }
        x = static_cast<float>(sum);
    }
    return out;
}

/// Each number times (1 + size * a number in [-1, 1]): an error without structure.
inline std::vector<float> perturbed(std::vector<float> values, double size, unsigned seed)
{
    std::mt19937 bits(seed);
    for (auto& x : values) {
        x = static_cast<float>(static_cast<double>(x) * (1 + size * (static_cast<double>(bits()) / 2147483648.0 - 1)));
    }
    return values;
}

/// Each number times a constant.
inline std::vector<float> scaled(std::vector<float> values, double factor)
{
    for (auto& x : values) {
        x = static_cast<float>(static_cast<double>(x) * factor);
    }
    return values;
}

/// What is seldom said of a tensor.
struct At {
    std::string slot = {};
    std::int32_t call = 0;
    std::string notObserved = {}; ///< a reason; the values are not written then
    std::vector<bundle::Placement> placement = {};
    std::vector<std::int64_t> sampleIds = {};
    bool recompute = false;
    bool digestOnly = false; ///< the values are not written
};

/// Writes the records of one rank.
class RankScribe {
public:
    RankScribe(const std::filesystem::path& folder, int rank)
        : m_writer(bundle::RankWriter::create(folder, rank).value())
    {
    }

    RankScribe& step(std::int32_t step)
    {
        m_step = step;
        m_micro = 0;
        return *this;
    }
    RankScribe& micro(std::int32_t micro)
    {
        m_micro = micro;
        return *this;
    }

    RankScribe& batch(const Values& values, const At& at = {}) { return put(bundle::Phase::Data, bundle::Kind::Batch, "", "", values, at); }
    RankScribe& input(const std::string& module, const Values& values, const At& at = {})
    {
        return put(at.recompute ? bundle::Phase::Backward : bundle::Phase::Forward, bundle::Kind::Input, module, "", values, at);
    }
    RankScribe& output(const std::string& module, const Values& values, const At& at = {})
    {
        return put(at.recompute ? bundle::Phase::Backward : bundle::Phase::Forward, bundle::Kind::Output, module, "", values, at);
    }
    RankScribe& gradOutput(const std::string& module, const Values& values, const At& at = {})
    {
        return put(bundle::Phase::Backward, bundle::Kind::GradOutput, module, "", values, at);
    }

    // Named like "fc.weight"; a name without a dot belongs to the root.
    RankScribe& start(const std::string& name, const Values& values, const At& at = {})
    {
        return state(bundle::Phase::Start, bundle::Kind::Param, name, values, at);
    }
    RankScribe& startBuffer(const std::string& name, const Values& values)
    {
        return state(bundle::Phase::Start, bundle::Kind::Buffer, name, values);
    }
    RankScribe& grad(const std::string& name, const Values& values, const At& at = {})
    {
        return state(bundle::Phase::Backward, bundle::Kind::Grad, name, values, at);
    }
    RankScribe& reduced(const std::string& name, const Values& values, const At& at = {})
    {
        return state(bundle::Phase::Reduce, bundle::Kind::Grad, name, values, at);
    }
    RankScribe& clipped(const std::string& name, const Values& values)
    {
        return state(bundle::Phase::Optimizer, bundle::Kind::Grad, name, values);
    }
    RankScribe& after(const std::string& name, const Values& values)
    {
        return state(bundle::Phase::Optimizer, bundle::Kind::Param, name, values);
    }
    RankScribe& afterBuffer(const std::string& name, const Values& values)
    {
        return state(bundle::Phase::Optimizer, bundle::Kind::Buffer, name, values);
    }
    RankScribe& optimizerState(const std::string& name, const std::string& slot, const Values& values)
    {
        return state(bundle::Phase::Optimizer, bundle::Kind::OptimizerState, name, values, { .slot = slot });
    }

    /// The root of backward: its tensor and its scalar.
    RankScribe& loss(float value)
    {
        output("loss", f32({}, { value }));
        return lossScalar(value);
    }
    RankScribe& lossScalar(double value)
    {
        check(m_writer.scalar({ m_step, m_micro, "loss", value }));
        return *this;
    }
    RankScribe& scalar(const std::string& name, double value)
    {
        check(m_writer.scalar({ m_step, bundle::kNoMicro, name, value }));
        return *this;
    }

    RankScribe& module(const std::string& path, const std::string& className, const std::vector<std::string>& parameters = {})
    {
        check(m_writer.module({ path, className, "", parameters, {} }));
        return *this;
    }
    RankScribe& call(const std::string& module, const std::string& source = {}, std::int32_t number = 0)
    {
        bundle::CallRecord call;
        call.step = m_step;
        call.micro = m_micro;
        call.module = module;
        call.call = number;
        call.order = m_order++;
        call.source = source;
        check(m_writer.call(call));
        return *this;
    }
    RankScribe& backward(const std::string& source = {}, const std::string& root = "loss")
    {
        check(m_writer.backward({ m_step, m_micro, root, m_order++, source }));
        return *this;
    }
    RankScribe& edge(const bundle::Port& from, const bundle::Port& to)
    {
        check(m_writer.edge({ m_step, m_micro, from, to, false }));
        return *this;
    }
    RankScribe& edge(const std::string& from, const std::string& to) { return edge({ from, 0, "" }, { to, 0, "" }); }
    RankScribe& tie(const std::vector<std::string>& names)
    {
        check(m_writer.tie(names));
        return *this;
    }

    /// Merged into rank.json.
    RankScribe& info(const nlohmann::json& keys)
    {
        m_info.update(keys);
        return *this;
    }

    RankScribe& put(
        bundle::Phase phase, bundle::Kind kind, const std::string& module, const std::string& param, const Values& values, const At& at)
    {
        bundle::TensorRecord record;
        record.step = m_step;
        record.micro = m_micro;
        record.phase = phase;
        record.kind = kind;
        record.module = module;
        record.param = param;
        record.call = at.call;
        record.slot = at.slot;
        record.order = m_order++;
        record.dtype = values.dtype;
        record.shape = values.shape;
        record.placement = at.placement;
        record.recompute = at.recompute;
        record.sampleIds = at.sampleIds;
        record.notObserved = at.notObserved;
        if (at.digestOnly) {
            record.detail = bundle::Detail::Digest;
            record.digest.emplace();
            record.fold = std::hash<std::string_view>()({ reinterpret_cast<const char*>(values.bytes.data()), values.bytes.size() });
            std::memcpy(record.digest->data(), &*record.fold, sizeof *record.fold);
        }
        check(m_writer.tensor(record, at.notObserved.empty() && !at.digestOnly ? values.bytes : std::vector<std::byte>()));
        return *this;
    }

    void finish(const std::string& run, int worldSize)
    {
        nlohmann::json info = { { "run", run }, { "world_size", worldSize }, { "status", "complete" } };
        info.update(m_info);
        check(m_writer.info(info));
    }

private:
    RankScribe& state(bundle::Phase phase, bundle::Kind kind, const std::string& name, const Values& values, const At& at = {})
    {
        const auto dot = name.rfind('.');
        return put(phase, kind, dot == std::string::npos ? "" : name.substr(0, dot), dot == std::string::npos ? name : name.substr(dot + 1),
            values, at);
    }

    static void check(const Result<void>& done) { EXPECT_TRUE(done) << done.error().text(); }

    bundle::RankWriter m_writer;
    std::int32_t m_step = 0, m_micro = 0;
    std::int64_t m_order = 0;
    nlohmann::json m_info = nlohmann::json::object();
};

/// One run on disk. Its ranks are created when they are first asked for.
class RecordedRun {
public:
    explicit RecordedRun(std::string name = "run", int worldSize = 1)
        : m_name(std::move(name))
        , m_worldSize(worldSize)
    {
    }

    RankScribe& rank(int number = 0)
    {
        auto& rank = m_ranks[number];
        if (!rank) {
            rank = std::make_unique<RankScribe>(path(), number);
        }
        return *rank;
    }

    std::filesystem::path path() const { return m_folder.path() / (m_name + ".forkpoint"); }

    /// Completes the metadata and opens what was written.
    std::shared_ptr<const bundle::Bundle> open()
    {
        for (auto& [number, rank] : m_ranks) {
            rank->finish(m_name, m_worldSize);
        }
        EXPECT_TRUE(bundle::writeBundleInfo(path(), { { "name", m_name }, { "world_size", m_worldSize } }));
        auto bundle = bundle::Bundle::open(path());
        EXPECT_TRUE(bundle) << bundle.error().text();
        return bundle.value_or(nullptr);
    }

    align::Side side() { return align::Side::whole(open()); }
    align::Side side(int rank)
    {
        auto side = align::Side::oneRank(open(), rank);
        EXPECT_TRUE(side) << side.error().text();
        return side.value_or(align::Side());
    }

private:
    TempFolder m_folder;
    std::string m_name;
    int m_worldSize;
    std::map<int, std::unique_ptr<RankScribe>> m_ranks;
};

/// Whether `part` occurs in `text`; says what the text is if not.
inline testing::AssertionResult contains(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos ? testing::AssertionSuccess()
                                                     : testing::AssertionFailure() << '"' << part << "\" is not in: " << text;
}

/// The pairs of two runs; fails the test if they cannot be aligned.
inline align::Alignment aligned(align::Side a, align::Side b, const align::AlignOptions& options = {})
{
    auto alignment = align::align(std::move(a), std::move(b), options);
    EXPECT_TRUE(alignment) << alignment.error().text();
    return alignment ? std::move(*alignment) : align::Alignment();
}

inline std::vector<std::string> idsOf(const align::Alignment& alignment)
{
    std::vector<std::string> out;
    for (const auto& pair : alignment.pairs) {
        out.push_back(pair.id);
    }
    return out;
}

/// The index of the pair with this id; fails the test if there is none.
inline std::size_t indexOf(const align::Alignment& alignment, std::string_view id)
{
    for (std::size_t i = 0; i < alignment.pairs.size(); ++i) {
        if (alignment.pairs[i].id == id) {
            return i;
        }
    }
    ADD_FAILURE() << "no pair " << id;
    return 0;
}

inline const align::Pair& pairOf(const align::Alignment& alignment, std::string_view id)
{
    return alignment.pairs.at(indexOf(alignment, id));
}

/// The float32 elements of an assembled tensor.
inline std::vector<float> elementsOf(const align::Side& side, const align::Assembly& assembly)
{
    const auto source = align::open(*side.bundle, assembly);
    EXPECT_TRUE(source) << source.error().text();
    if (!source) {
        return {};
    }
    EXPECT_EQ((*source)->dtype(), DType::Float32);
    EXPECT_EQ((*source)->shape(), assembly.shape);
    ReadBuffer buffer;
    const auto bytes = (*source)->read(Box::whole((*source)->shape()), buffer);
    EXPECT_TRUE(bytes) << bytes.error().text();
    std::vector<float> out(bytes ? bytes->size() / sizeof(float) : 0);
    if (!out.empty()) {
        std::memcpy(out.data(), bytes->data(), bytes->size());
    }
    return out;
}

} // namespace forkpoint::test
