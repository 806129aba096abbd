// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/core/bundle/bundle_files.h"
#include "tests/core/tensor/naive_tensor.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <thread>

// What the writer writes, the reader reads: every type, storage and shape, and every field of every record.
namespace forkpoint::bundle {
namespace {

using namespace test;
using forkpoint::test::expectSame;
using forkpoint::test::NaiveTensor;
using forkpoint::test::Random;

constexpr int kTypes = 14;

std::shared_ptr<const Bundle> openClean(const fs::path& folder)
{
    auto bundle = Bundle::open(folder);
    EXPECT_TRUE(bundle) << bundle.error().text();
    if (!bundle)
        return nullptr;
    EXPECT_EQ(problemsText((*bundle)->problems()), "");
    return *bundle;
}

/// Bytes that compress, so that zstd's other block kinds appear too.
NaiveTensor smoothTensor(Random& random, DType dtype, Shape shape)
{
    NaiveTensor tensor = forkpoint::test::randomTensor(random, dtype, std::move(shape));
    if (random() % 2 == 0) {
        for (std::size_t i = 0; i < tensor.bytes.size(); ++i)
            tensor.bytes[i] = static_cast<std::byte>(i / 97);
    }
    return tensor;
}

TEST(RoundTrip, EveryTypeStorageAndShape)
{
    Random random(31);
    struct Storage {
        Codec codec;
        Filter filter;
        std::uint64_t frameSize;
    };
    const Storage storages[] = {
        {Codec::Raw, Filter::None, 1u << 20},    {Codec::Zstd, Filter::None, 1u << 20}, {Codec::Zstd, Filter::Shuffle, 1u << 20},
        {Codec::Raw, Filter::Shuffle, 1u << 20}, {Codec::Zstd, Filter::None, 64},       {Codec::Zstd, Filter::Shuffle, 64},
        {Codec::Zstd, Filter::None, 7},          {Codec::Zstd, Filter::Shuffle, 13},    {Codec::Raw, Filter::Shuffle, 13},
        {Codec::Zstd, Filter::Shuffle, 1},       {Codec::Raw, Filter::None, 5},
    };
    const Shape shapes[] = {{}, {0}, {3, 0, 2}, {1}, {5}, {7, 3}, {2, 3, 4}, {3, 2, 2, 3}, {41, 17}};
    TempFolder temp;
    const fs::path folder = temp.path() / "types.forkpoint";
    std::vector<NaiveTensor> written;
    {
        RankWriter writer = RankWriter::create(folder, 0).value();
        for (int type = 0; type < kTypes; ++type) {
            for (const Storage& storage : storages) {
                for (const Shape& shape : shapes) {
                    const auto dtype = static_cast<DType>(type);
                    written.push_back(smoothTensor(random, dtype, shape));
                    TensorRecord made = record(Phase::Forward, Kind::Output, "m", shape, dtype);
                    made.bytes.emplace();
                    made.bytes->codec = storage.codec;
                    made.bytes->filter = storage.filter;
                    made.bytes->frameSize = storage.frameSize;
                    const auto done = writer.tensor(made, written.back().bytes);
                    ASSERT_TRUE(done) << done.error().text();
                }
            }
        }
        ASSERT_TRUE(writer.info(rankInfo(1)));
        ASSERT_TRUE(writeBundleInfo(folder, bundleInfo(1)));
    }
    const auto bundle = openClean(folder);
    ASSERT_TRUE(bundle);
    const RankData& rank = bundle->ranks().front();
    ASSERT_EQ(rank.tensors.size(), written.size());
    for (std::size_t i = 0; i < written.size(); ++i) {
        SCOPED_TRACE(i);
        const TensorRecord& tensor = rank.tensors[i];
        EXPECT_EQ(tensor.id, static_cast<std::int64_t>(i));
        EXPECT_EQ(tensor.dtype, written[i].dtype);
        if (tensor.bytes) {
            EXPECT_EQ(tensor.bytes->offset % 64, 0u);
        }
        const auto source = bundle->source(rank, tensor);
        ASSERT_TRUE(source) << source.error().text();
        expectSame(**source, written[i], random, 6);
        if (testing::Test::HasFatalFailure())
            return;
    }
    const auto report = verify(*bundle);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->checked, static_cast<std::int64_t>(written.size()));
    EXPECT_EQ(problemsText(report->problems), "");
}

TEST(RoundTrip, BlocksOfALargeTensorAcrossManyFrames)
{
    Random random(32);
    TempFolder temp;
    const fs::path folder = temp.path() / "large.forkpoint";
    const NaiveTensor tensor = smoothTensor(random, DType::Float32, {700, 1000}); // 2.8 MB
    RankWriter writer = RankWriter::create(folder, 0).value();
    const std::pair<Codec, Filter> storages[] = {{Codec::Raw, Filter::None}, {Codec::Zstd, Filter::Shuffle}};
    for (const auto& [codec, filter] : storages) {
        TensorRecord made = record(Phase::Start, Kind::Param, "m", tensor.shape);
        made.bytes.emplace();
        made.bytes->codec = codec;
        made.bytes->filter = filter;
        NaiveTensor other = tensor;
        other.bytes[0] = codec == Codec::Raw ? std::byte{1} : std::byte{2}; // else the second would share the first's bytes
        ASSERT_TRUE(writer.tensor(made, other.bytes));
        ASSERT_TRUE(writer.info(rankInfo(1)));
        ASSERT_TRUE(writeBundleInfo(folder, bundleInfo(1)));
        const auto bundle = openClean(folder);
        ASSERT_TRUE(bundle);
        const RankData& rank = bundle->ranks().front();
        const auto source = bundle->source(rank, rank.tensors.back());
        ASSERT_TRUE(source);
        ReadBuffer buffer;
        // A column (far apart, within the gap that is bridged), a wide block, rows, the last element.
        for (const Box& box : {Box{{0, 500}, {700, 1}}, Box{{3, 1}, {600, 998}}, Box{{250, 0}, {30, 1000}}, Box{{699, 999}, {1, 1}},
                               Box{{0, 0}, {700, 1000}}}) {
            const auto bytes = (*source)->read(box, buffer);
            ASSERT_TRUE(bytes) << bytes.error().text();
            const std::vector<std::byte> wanted = naiveRead(other, box);
            EXPECT_TRUE(std::equal(bytes->begin(), bytes->end(), wanted.begin(), wanted.end()));
        }
    }
}

TEST(RoundTrip, RowsDealtInTurnOverCompressedRanks)
{
    // What the assembly of a data-parallel run does; of each rank the frame that was opened last is found again, though reads alternate.
    Random random(33);
    TempFolder temp;
    const fs::path folder = temp.path() / "rows.forkpoint";
    std::vector<NaiveTensor> parts;
    for (int r = 0; r < 2; ++r) {
        parts.push_back(smoothTensor(random, DType::Float32, {50, 8}));
        RankWriter writer = RankWriter::create(folder, r).value();
        TensorRecord made = record(Phase::Forward, Kind::Output, "m", {50, 8});
        made.bytes.emplace();
        made.bytes->codec = Codec::Zstd;
        made.bytes->frameSize = 256;
        ASSERT_TRUE(writer.tensor(made, parts.back().bytes));
        ASSERT_TRUE(writer.info(rankInfo(2)));
    }
    ASSERT_TRUE(writeBundleInfo(folder, bundleInfo(2)));
    const auto bundle = openClean(folder);
    ASSERT_TRUE(bundle);
    std::vector<TensorSourcePtr> sources;
    std::vector<std::int64_t> order;
    NaiveTensor expected{DType::Float32, {100, 8}, {}};
    for (const RankData& rank : bundle->ranks())
        sources.push_back(bundle->source(rank, rank.tensors[0]).value());
    for (std::int64_t row = 0; row < 100; ++row) {
        order.push_back(row / 2 + 50 * (row % 2));
        const std::byte* bytes = parts[static_cast<std::size_t>(row % 2)].at({row / 2, 0});
        expected.bytes.insert(expected.bytes.end(), bytes, bytes + 32);
    }
    const TensorSourcePtr joined = rowMapSource(concatSource(sources, 0).value(), order, 1).value();
    expectSame(*joined, expected, random);

    ReadBuffer buffer;
    ASSERT_TRUE(joined->read({{0, 0}, {2, 8}}, buffer)); // the first row of each rank opens the first frame of each: 8 rows
    for (const RankData& rank : bundle->ranks())
        fs::resize_file(rank.folder / "tensors-0000.bin", 0);
    EXPECT_TRUE(joined->read({{2, 0}, {14, 8}}, buffer)) << "frames that are in the buffer were read again";
    EXPECT_FALSE(joined->read({{16, 0}, {1, 8}}, buffer));
}

TEST(RoundTrip, ManyThreadsReadOneSource)
{
    Random random(34);
    TempFolder temp;
    RankWriter writer = RankWriter::create(temp.path() / "t.forkpoint", 0).value();
    const NaiveTensor tensor = smoothTensor(random, DType::Int64, {200, 30});
    TensorRecord made = record(Phase::Start, Kind::Param, "m", tensor.shape, tensor.dtype);
    made.bytes.emplace().codec = Codec::Zstd;
    made.bytes->filter = Filter::Shuffle;
    made.bytes->frameSize = 5000;
    ASSERT_TRUE(writer.tensor(made, tensor.bytes));
    ASSERT_TRUE(writer.info(rankInfo(1)));
    const auto bundle = Bundle::open(temp.path() / "t.forkpoint").value();
    const TensorSourcePtr source = bundle->source(bundle->ranks()[0], bundle->ranks()[0].tensors[0]).value();
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (unsigned seed = 0; seed < 8; ++seed) {
        threads.emplace_back([&, seed] {
            Random own(seed);
            ReadBuffer buffer;
            for (int i = 0; i < 100; ++i) {
                const Box box = forkpoint::test::randomBox(own, tensor.shape);
                const auto bytes = source->read(box, buffer);
                const std::vector<std::byte> wanted = naiveRead(tensor, box);
                if (!bytes || !std::equal(bytes->begin(), bytes->end(), wanted.begin(), wanted.end()))
                    ++wrong;
            }
        });
    }
    threads.clear();
    EXPECT_EQ(wrong, 0);
}

TEST(RoundTrip, EqualBytesAreWrittenOnce)
{
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path());
    TempFolder other;
    RankWriter writer = RankWriter::create(other.path() / "once.forkpoint", 0).value();
    const std::vector<float> values = {1, 2, 3, 4};
    ASSERT_TRUE(writer.tensor(record(Phase::Start, Kind::Param, "a", {4}), bytesOf(values)));
    ASSERT_TRUE(writer.tensor(record(Phase::Optimizer, Kind::Param, "a", {2, 2}), bytesOf(values)));
    ASSERT_TRUE(writer.tensor(record(Phase::Start, Kind::Param, "b", {16}, DType::UInt8), bytesOf(values)));
    ASSERT_TRUE(writer.info(rankInfo(1)));
    const auto bundle = Bundle::open(other.path() / "once.forkpoint").value();
    const std::vector<TensorRecord>& tensors = bundle->ranks()[0].tensors;
    ASSERT_EQ(tensors.size(), 3u);
    for (const TensorRecord& tensor : tensors) {
        ASSERT_TRUE(tensor.bytes);
        EXPECT_EQ(tensor.bytes->offset, 0u);
        EXPECT_EQ(tensor.digest, tensors[0].digest);
    }
    EXPECT_EQ(fs::file_size(other.path() / "once.forkpoint/rank00000/tensors-0000.bin"), 16u);
}

TEST(RoundTrip, ShuffledBytesAreSharedOnlyWithElementsOfTheSameSize)
{
    TempFolder temp;
    RankWriter writer = RankWriter::create(temp.path() / "s.forkpoint", 0).value();
    std::vector<float> values(100);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i);
    for (const DType dtype : {DType::Float32, DType::Int32, DType::UInt8}) {
        TensorRecord made = record(Phase::Start, Kind::Param, "a", {400 / static_cast<std::int64_t>(itemSize(dtype))}, dtype);
        made.bytes.emplace();
        made.bytes->codec = Codec::Zstd;
        made.bytes->filter = Filter::Shuffle;
        ASSERT_TRUE(writer.tensor(made, bytesOf(values)));
    }
    ASSERT_TRUE(writer.info(rankInfo(1)));
    const auto bundle = Bundle::open(temp.path() / "s.forkpoint").value();
    const RankData& rank = bundle->ranks()[0];
    EXPECT_EQ(rank.tensors[0].bytes->offset, rank.tensors[1].bytes->offset);
    EXPECT_NE(rank.tensors[0].bytes->offset, rank.tensors[2].bytes->offset);
    for (const TensorRecord& tensor : rank.tensors)
        EXPECT_EQ(valuesOf<float>(*bundle, rank, tensor), values);
}

TEST(RoundTrip, EveryFieldOfATensorRecord)
{
    TempFolder temp;
    RankWriter writer = RankWriter::create(temp.path() / "f.forkpoint", 3).value();
    TensorRecord made = record(Phase::Backward, Kind::Grad, "module.fc1", {2, 1});
    made.step = 5;
    made.micro = 2;
    made.level = Level::Op;
    made.param = "bias";
    made.call = 4;
    made.slot = "a.b";
    made.order = 123456789012;
    made.globalShape = {8, 1};
    made.globalOffset = {6, 0};
    made.placement
        = {{"dp", Placement::Type::Replicate, 0, ""}, {"tp", Placement::Type::Shard, 1, ""}, {"cp", Placement::Type::Partial, 0, "mean"}};
    made.recompute = true;
    made.sampleIds = {3, -1, 9000000000};
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    ASSERT_TRUE(writer.tensor(made, bytesOf(std::vector<float>{3, -4})));
    TensorRecord odd = record(Phase::Start, Kind::OptimizerState, "\u5c42.\"1\"", {4});
    odd.slot = "exp_avg@before";
    ASSERT_TRUE(writer.tensor(odd, bytesOf(std::vector<float>{nan, inf, -inf, 2})));
    ASSERT_TRUE(writer.tensor(record(Phase::Start, Kind::Buffer, "n", {2}), bytesOf(std::vector<float>{nan, nan})));
    TensorRecord unseen = record(Phase::Forward, Kind::Input, "g", {5});
    unseen.notObserved = "in a CUDA graph";
    ASSERT_TRUE(writer.tensor(unseen, {}));
    TensorRecord digestOnly = record(Phase::Forward, Kind::Input, "h", {5});
    digestOnly.digest.emplace().fill(0xab);
    digestOnly.stats = RecordedStats{-1, 1, 0.25, 2, 3, 4};
    ASSERT_TRUE(writer.tensor(digestOnly, {}));
    ASSERT_TRUE(writer.info(rankInfo(4)));

    const auto bundle = Bundle::open(temp.path() / "f.forkpoint/rank00003").value();
    const RankData& rank = bundle->ranks().front();
    EXPECT_EQ(rank.rank, 3);
    EXPECT_EQ(bundle->worldSize(), 4);
    ASSERT_EQ(rank.tensors.size(), 5u);
    const TensorRecord& read = rank.tensors[0];
    EXPECT_EQ(read.step, 5);
    EXPECT_EQ(read.micro, 2);
    EXPECT_EQ(read.phase, Phase::Backward);
    EXPECT_EQ(read.kind, Kind::Grad);
    EXPECT_EQ(read.level, Level::Op);
    EXPECT_EQ(read.module, "module.fc1");
    EXPECT_EQ(read.param, "bias");
    EXPECT_EQ(read.call, 4);
    EXPECT_EQ(read.slot, "a.b");
    EXPECT_EQ(read.order, 123456789012);
    EXPECT_EQ(read.globalShape, (Shape{8, 1}));
    EXPECT_EQ(read.globalOffset, (Shape{6, 0}));
    EXPECT_EQ(read.placement, made.placement);
    EXPECT_TRUE(read.recompute);
    EXPECT_EQ(read.sampleIds, made.sampleIds);
    ASSERT_TRUE(read.stats);
    EXPECT_EQ(read.stats->min, -4);
    EXPECT_EQ(read.stats->max, 3);
    EXPECT_EQ(read.stats->mean, -0.5);
    EXPECT_EQ(read.stats->l2, 5);

    const TensorRecord& oddRead = rank.tensors[1];
    EXPECT_EQ(oddRead.module, odd.module);
    EXPECT_EQ(oddRead.slot, "exp_avg@before");
    EXPECT_EQ(oddRead.micro, kNoMicro);
    EXPECT_EQ(oddRead.stats->nan, 1);
    EXPECT_EQ(oddRead.stats->inf, 2);
    EXPECT_EQ(oddRead.stats->max, 2);
    const std::vector<float> oddValues = valuesOf<float>(*bundle, rank, oddRead);
    EXPECT_TRUE(std::isnan(oddValues[0]) && oddValues[1] == inf && oddValues[2] == -inf);
    EXPECT_TRUE(std::isnan(rank.tensors[2].stats->min)); // no finite element: "NaN" in the file
    EXPECT_EQ(rank.tensors[2].stats->nan, 2);

    EXPECT_EQ(rank.tensors[3].notObserved, "in a CUDA graph");
    EXPECT_FALSE(rank.tensors[3].digest || rank.tensors[3].bytes || rank.tensors[3].stats);
    const auto noSource = bundle->source(rank, rank.tensors[3]);
    ASSERT_FALSE(noSource);
    EXPECT_EQ(noSource.error().code, ErrorCode::NotFound);
    EXPECT_NE(noSource.error().text().find("in a CUDA graph"), std::string::npos);
    EXPECT_EQ(rank.tensors[4].digest, digestOnly.digest);
    EXPECT_EQ(rank.tensors[4].stats->mean, 0.25);
    EXPECT_EQ(bundle->source(rank, rank.tensors[4]).error().code, ErrorCode::NotFound);
}

TEST(RoundTrip, GraphAndScalars)
{
    TempFolder temp;
    RankWriter writer = RankWriter::create(temp.path() / "g.forkpoint", 0).value();
    ASSERT_TRUE(writer.module({"m", "DDP", "DistributedDataParallel", {"w", "b"}, {"running_mean"}}));
    CallRecord call;
    call.step = 1;
    call.micro = 2;
    call.module = "m";
    call.call = 3;
    call.order = 4;
    call.parent = "p";
    call.parentCall = 5;
    call.training = false;
    call.recompute = true;
    call.source = "train.py:7";
    ASSERT_TRUE(writer.call(call));
    call.parent.reset();
    ASSERT_TRUE(writer.call(call));
    ASSERT_TRUE(writer.backward({1, 2, "loss#1", 9, "train.py:8"}));
    ASSERT_TRUE(writer.edge({1, 2, {"a", 1, "0"}, {"b", 2, "x"}, true}));
    ASSERT_TRUE(writer.tie({"embed.weight", "head.weight"}));
    const double inf = std::numeric_limits<double>::infinity();
    const double values[] = {0.1, 1e300, std::nan(""), inf, -inf, -0.0, 5e-324};
    for (const double value : values)
        ASSERT_TRUE(writer.scalar({7, kNoMicro, "grad_norm", value}));
    ASSERT_TRUE(writer.info(rankInfo(1)));

    const auto bundle = Bundle::open(temp.path() / "g").value();
    const RankData& rank = bundle->ranks().front();
    ASSERT_EQ(rank.modules.size(), 1u);
    EXPECT_EQ(rank.modules[0].wrapper, "DistributedDataParallel");
    EXPECT_EQ(rank.modules[0].parameters, (std::vector<std::string>{"w", "b"}));
    EXPECT_EQ(rank.modules[0].buffers, std::vector<std::string>{"running_mean"});
    ASSERT_EQ(rank.calls.size(), 2u);
    EXPECT_EQ(rank.calls[0].step, 1);
    EXPECT_EQ(rank.calls[0].micro, 2);
    EXPECT_EQ(rank.calls[0].call, 3);
    EXPECT_EQ(rank.calls[0].order, 4);
    EXPECT_EQ(rank.calls[0].parent, "p");
    EXPECT_EQ(rank.calls[0].parentCall, 5);
    EXPECT_FALSE(rank.calls[0].training);
    EXPECT_TRUE(rank.calls[0].recompute);
    EXPECT_EQ(rank.calls[0].source, "train.py:7");
    EXPECT_EQ(rank.calls[1].parent, std::nullopt);
    ASSERT_EQ(rank.backwards.size(), 1u);
    EXPECT_EQ(rank.backwards[0].root, "loss#1");
    ASSERT_EQ(rank.edges.size(), 1u);
    EXPECT_EQ(rank.edges[0].from, (Port{"a", 1, "0"}));
    EXPECT_EQ(rank.edges[0].to, (Port{"b", 2, "x"}));
    EXPECT_TRUE(rank.edges[0].direct);
    EXPECT_EQ(rank.ties, (std::vector<std::vector<std::string>>{{"embed.weight", "head.weight"}}));
    ASSERT_EQ(rank.scalars.size(), std::size(values));
    for (std::size_t i = 0; i < std::size(values); ++i) {
        EXPECT_EQ(std::isnan(rank.scalars[i].value), std::isnan(values[i]));
        if (!std::isnan(values[i])) {
            EXPECT_EQ(rank.scalars[i].value, values[i]);
            EXPECT_EQ(std::signbit(rank.scalars[i].value), std::signbit(values[i]));
        }
    }
}

TEST(Writer, DocumentsAreReplacedWholeAndHoldNoBareNaN)
{
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path());
    nlohmann::json info = bundleInfo(1);
    info["odd"] = {std::nan(""), {{"deep", -std::numeric_limits<double>::infinity()}}};
    ASSERT_TRUE(writeBundleInfo(folder, info));
    EXPECT_FALSE(fs::exists(folder / "bundle.json.tmp"));
    const auto bundle = openClean(folder);
    ASSERT_TRUE(bundle);
    EXPECT_EQ(bundle->info().at("odd").at(0), "NaN");
    EXPECT_EQ(bundle->info().at("odd").at(1).at("deep"), "-Infinity");
    EXPECT_EQ(bundle->info().at("format"), "forkpoint-bundle");
    EXPECT_EQ(bundle->ranks()[0].info.at("rank"), 0);
}

TEST(Writer, RefusesWhatTheFormatHasNoPlaceFor)
{
    TempFolder temp;
    const fs::path folder = temp.path() / "w.forkpoint";
    RankWriter writer = RankWriter::create(folder, 0).value();
    const std::vector<float> two = {1, 2};
    const auto code = [&](TensorRecord made, std::span<const std::byte> bytes) {
        const auto done = writer.tensor(std::move(made), bytes);
        return done ? std::optional<ErrorCode>() : done.error().code;
    };
    EXPECT_EQ(code(record(Phase::Start, Kind::Param, "m", {3}), bytesOf(two)), ErrorCode::Usage);
    EXPECT_EQ(code(record(Phase::Start, Kind::Param, "m", {-2}), bytesOf(two)), ErrorCode::Usage);
    EXPECT_EQ(code(record(Phase::Start, Kind::Param, "m", {2}), {}), ErrorCode::Usage); // neither bytes nor a digest
    TensorRecord made = record(Phase::Forward, Kind::Output, "m", {2});
    made.micro = kNoMicro;
    EXPECT_EQ(code(made, bytesOf(two)), ErrorCode::Usage);
    made = record(Phase::Start, Kind::Param, "m", {2});
    made.step = -1;
    EXPECT_EQ(code(made, bytesOf(two)), ErrorCode::Usage);
    made = record(Phase::Start, Kind::Param, "m", {2});
    made.notObserved = "why";
    EXPECT_EQ(code(made, bytesOf(two)), ErrorCode::Usage);
    made = record(Phase::Start, Kind::Param, "m", {2});
    made.bytes.emplace().frameSize = 0;
    EXPECT_EQ(code(made, bytesOf(two)), ErrorCode::Usage);
    made = record(Phase::Start, Kind::Param, "not \xff UTF-8", {2});
    EXPECT_EQ(code(made, bytesOf(two)), ErrorCode::Usage);
    EXPECT_EQ(writer.info(nlohmann::json::array()).error().code, ErrorCode::Usage);
    EXPECT_EQ(writeBundleInfo(folder, 3).error().code, ErrorCode::Usage);
    EXPECT_EQ(RankWriter::create(folder, -1).error().code, ErrorCode::Usage);
    EXPECT_EQ(code(record(Phase::Start, Kind::Param, "m", {2}), bytesOf(two)), std::nullopt);
    ASSERT_TRUE(writer.info(rankInfo(1)));
    const auto bundle = Bundle::open(folder).value();
    ASSERT_EQ(bundle->ranks()[0].tensors.size(), 1u);
    EXPECT_EQ(bundle->ranks()[0].tensors[0].id, 0);
}

TEST(Writer, NeverOverwritesARank)
{
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path());
    const auto again = RankWriter::create(folder, 0);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::Exists);
    EXPECT_TRUE(RankWriter::create(folder, 1));
    writeText(temp.path() / "file", "x");
    EXPECT_EQ(RankWriter::create(temp.path() / "file", 0).error().code, ErrorCode::WriteFailed);
    EXPECT_EQ(writeBundleInfo(temp.path() / "nowhere", bundleInfo(1)).error().code, ErrorCode::WriteFailed);
}

} // namespace
} // namespace forkpoint::bundle
