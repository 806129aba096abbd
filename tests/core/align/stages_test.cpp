// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/align/stage_numbers.h"
#include "core/align/stages.h"
#include "tests/support/assembled_bytes.h"
#include "tests/support/run_builder.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <optional>
#include <set>

// A model whose layers are spread over ranks, against one that is whole, and against one that is spread otherwise.
namespace forkpoint::align {
namespace {

using test::aligned;
using test::bytesOf;
using test::f32;
using test::RecordedRun;

constexpr std::int64_t kRows = 8, kMicros = 2, kLayers = 4, kFeatures = 3;

/// How a run lays out the model.
struct Launch {
    friend void PrintTo(const Launch& launch, std::ostream* to) { *to << launch.name; }
    std::string name = {};
    std::vector<std::int64_t> ends = { kLayers }; ///< of each stage: the layer behind its last one
    std::int64_t replicas = 1; ///< ranks of each stage; those of one stage follow one another
    bool dividesLoss = true; ///< by the number of micro-steps; else the gradients are divided in the end
    bool ownNumbers = false; ///< each stage numbers its layers from 0
    bool chunks = false; ///< two ranks take the stages in turn: each has two models
    std::optional<std::int64_t> scaled = {}; ///< a layer whose output is wrong
    bool recordsWeights = true;
    bool copies = false; ///< all layers begin with the same weights
    std::vector<std::int32_t> steps = { 0 };

    std::int64_t stages() const { return std::ssize(ends); }
    int ranks() const { return static_cast<int>((chunks ? 2 : stages()) * replicas); }
    bool isPipeline() const { return stages() > 1; }
};

/// What flows between the layers: of every sample what the layers up to this one have made of it.
test::Values activations(const std::vector<std::int64_t>& rows, std::int64_t layer, float times = 1)
{
    std::vector<float> out;
    for (const auto row : rows) {
        for (std::int64_t feature = 0; feature < kFeatures; ++feature) {
            out.push_back((static_cast<float>(row * 100 + layer * 10 + feature) + 0.5f) * times);
        }
    }
    return f32({ std::ssize(rows), kFeatures }, out);
}

test::Values weights(std::int64_t layer, std::int32_t step = 0)
{
    return f32({ 2 }, { static_cast<float>(layer) + static_cast<float>(step) / 4, static_cast<float>(layer) * 2 - 7 });
}

void recordStage(RecordedRun& run, const Launch& launch, std::int32_t step, std::int64_t stage, std::int64_t replica)
{
    const auto first = stage == 0 ? 0 : launch.ends[static_cast<std::size_t>(stage - 1)],
               end = launch.ends[static_cast<std::size_t>(stage)];
    auto& rank = run.rank(static_cast<int>((launch.chunks ? stage % 2 : stage) * launch.replicas + replica));
    const std::string root = launch.chunks && stage >= 2 ? "second" : "";
    const auto nameOf = [&](std::int64_t layer) {
        return (root.empty() ? "" : root + ".") + "layers." + std::to_string(launch.ownNumbers ? layer - first : layer);
    };
    rank.step(step);
    if (step == launch.steps.front()) {
        rank.module(root, "Model").module(root.empty() ? "layers" : root + ".layers", "ModuleList");
        for (auto layer = first; layer < end; ++layer) {
            rank.module(nameOf(layer), "Linear", { "weight" });
        }
    }
    for (auto layer = first; layer < end && launch.recordsWeights; ++layer) {
        rank.start(nameOf(layer) + ".weight", weights(launch.copies ? 1 : layer, step));
    }
    for (std::int32_t micro = 0; micro < kMicros; ++micro) {
        std::vector<std::int64_t> rows(kRows / kMicros / launch.replicas);
        std::iota(rows.begin(), rows.end(), micro * kRows / kMicros + replica * std::ssize(rows));
        const auto of = [&](std::int64_t layer) { return activations(rows, layer, launch.scaled && layer > *launch.scaled ? 2 : 1); };
        rank.micro(micro).call(root);
        rank.input(root, of(first), { .slot = "0" });
        for (auto layer = first; layer < end; ++layer) {
            rank.call(nameOf(layer)).input(nameOf(layer), of(layer), { .slot = "0" }).output(nameOf(layer), of(layer + 1));
        }
        rank.output(root, of(end));
        const float share = 1.0f / static_cast<float>(launch.replicas), divided = launch.dividesLoss ? 1.0f / kMicros : 1.0f;
        if (end == kLayers) {
            rank.loss((static_cast<float>(micro) + 1 + static_cast<float>(2 * replica + 1 - launch.replicas) / 8) * divided);
        }
        rank.backward();
        rank.gradOutput(root, activations(rows, end, divided / share));
        for (auto layer = end; layer-- > first;) {
            rank.gradOutput(nameOf(layer), activations(rows, layer + 1, divided / share));
        }
    }
}

Side record(RecordedRun& run, const Launch& launch)
{
    for (const auto step : launch.steps) {
        for (std::int64_t stage = 0; stage < launch.stages(); ++stage) {
            for (std::int64_t replica = 0; replica < launch.replicas; ++replica) {
                recordStage(run, launch, step, stage, replica);
            }
        }
    }
    return run.side();
}

bool isSpread(const Pair& pair)
{
    return pair.key.module == "" || pair.key.module == "second";
}

/// The ids of pairs that were not compared, and of those whose sides differ.
struct Seen {
    std::set<std::string> different, notCompared;
    std::size_t compared = 0, ofLayers = 0, ofModel = 0;
};

Seen seen(const Alignment& alignment)
{
    Seen out;
    for (const auto& pair : alignment.pairs) {
        if (pair.status == PairStatus::NotObserved) {
            out.notCompared.insert(pair.id);
            EXPECT_TRUE(isSpread(pair)) << pair.id;
            continue;
        }
        EXPECT_EQ(pair.status, PairStatus::Matched) << pair.id << ": " << *pair.note;
        for (const auto& lane : pair.lanes) {
            if (bytesOf(alignment.a, lane.a) != bytesOf(alignment.b, lane.b)) {
                out.different.insert(pair.id);
            }
        }
        ++out.compared;
        ++(isSpread(pair) ? out.ofModel : out.ofLayers);
    }
    return out;
}

const std::vector<Launch> kLaunches = {
    { .name = "Whole" },
    { .name = "WholeOnTwoRanks", .replicas = 2 },
    { .name = "TwoStages", .ends = { 2, 4 } },
    { .name = "UnevenStages", .ends = { 1, 4 } },
    { .name = "FourStages", .ends = { 1, 2, 3, 4 } },
    { .name = "TwoStagesTwoReplicas", .ends = { 2, 4 }, .replicas = 2 },
    { .name = "TwoStagesUndivided", .ends = { 2, 4 }, .dividesLoss = false },
    { .name = "TwoStagesTwoReplicasUndivided", .ends = { 2, 4 }, .replicas = 2, .dividesLoss = false },
};

const std::vector<Launch> kOwnNumbers = {
    { .name = "OwnNumbers", .ends = { 2, 4 }, .ownNumbers = true },
    { .name = "OwnNumbersUneven", .ends = { 3, 4 }, .ownNumbers = true },
    { .name = "OwnNumbersTwoReplicas", .ends = { 2, 4 }, .replicas = 2, .ownNumbers = true },
};

const std::vector<Launch> kChunks = { { .name = "Chunks", .ends = { 1, 2, 3, 4 }, .chunks = true } };

class Stages : public testing::TestWithParam<std::tuple<Launch, Launch>> { };

TEST_P(Stages, AreComparedAsTheWhole)
{
    const auto& [launchA, launchB] = GetParam();
    RecordedRun a("a", launchA.ranks()), b("b", launchB.ranks());
    const auto alignment = aligned(record(a, launchA), record(b, launchB));
    const auto result = seen(alignment);
    if (launchA.ends == launchB.ends && launchA.replicas == launchB.replicas && launchA.dividesLoss != launchB.dividesLoss) {
        EXPECT_TRUE(result.different.contains("s0/forward/output/loss")) << "of the same pipeline, the loss is what it is";
        return;
    }
    EXPECT_EQ(result.different, std::set<std::string>());
    if (!(launchA.ownNumbers && launchB.ownNumbers && launchA.ends == launchB.ends)) { // else rank by rank, as they are
        EXPECT_EQ(result.ofLayers, static_cast<std::size_t>(kLayers * (1 + 3 * kMicros) + kMicros)); // weights; in, out and gradient; loss
    }
    if (launchA.isPipeline() != launchB.isPipeline() && !launchA.chunks && !launchB.chunks) {
        EXPECT_EQ(result.ofModel, static_cast<std::size_t>(3 * kMicros));
    }
    EXPECT_GT(result.ofModel + result.notCompared.size(), 0u);
}

std::string nameOfBoth(const testing::TestParamInfo<std::tuple<Launch, Launch>>& given)
{
    return std::get<0>(given.param).name + "Against" + std::get<1>(given.param).name;
}

auto each(const std::vector<Launch>& a, const std::vector<Launch>& b)
{
    return testing::Combine(testing::ValuesIn(a), testing::ValuesIn(b));
}

INSTANTIATE_TEST_SUITE_P(Launches, Stages, each(kLaunches, kLaunches), nameOfBoth);
INSTANTIATE_TEST_SUITE_P(OwnNumbers, Stages, each(kOwnNumbers, kOwnNumbers), nameOfBoth);
INSTANTIATE_TEST_SUITE_P(OwnNumbersOfA, Stages, each(kOwnNumbers, kLaunches), nameOfBoth);
INSTANTIATE_TEST_SUITE_P(OwnNumbersOfB, Stages, each(kLaunches, kOwnNumbers), nameOfBoth);
INSTANTIATE_TEST_SUITE_P(ChunksOfA, Stages, each(kChunks, kLaunches), nameOfBoth);
INSTANTIATE_TEST_SUITE_P(ChunksOfB, Stages, each(kLaunches, kChunks), nameOfBoth);

class WrongStage : public testing::TestWithParam<Launch> { };

TEST_P(WrongStage, IsFoundAtItsLayer)
{
    auto wrong = GetParam();
    wrong.scaled = 2;
    RecordedRun a("a"), b("b", wrong.ranks());
    const auto alignment = aligned(record(a, kLaunches.front()), record(b, wrong));
    const auto result = seen(alignment);
    const auto first = std::find_if(
        alignment.pairs.begin(), alignment.pairs.end(), [&](const Pair& pair) { return result.different.contains(pair.id); });
    ASSERT_NE(first, alignment.pairs.end());
    EXPECT_TRUE(test::contains(first->id, "s0/forward/output/")) << first->id;
    EXPECT_TRUE(test::contains(first->id, "layers.2"));
}

std::string nameOfOne(const testing::TestParamInfo<Launch>& given)
{
    return given.param.name;
}

INSTANTIATE_TEST_SUITE_P(Launches, WrongStage, testing::ValuesIn(kLaunches), nameOfOne);
INSTANTIATE_TEST_SUITE_P(OwnNumbers, WrongStage, testing::ValuesIn(kOwnNumbers), nameOfOne);
INSTANTIATE_TEST_SUITE_P(Chunks, WrongStage, testing::ValuesIn(kChunks), nameOfOne);

TEST(StagesText, SaysWhatWasTakenForWhat)
{
    RecordedRun a("a"), b("b", 2);
    const auto alignment
        = aligned(record(a, kLaunches.front()), record(b, { .name = "", .ends = { 2, 4 }, .dividesLoss = false, .ownNumbers = true }));
    EXPECT_TRUE(test::contains(alignment.steps.front().text, "the candidate is a pipeline of 2 stages"));
    EXPECT_TRUE(
        test::contains(alignment.steps.front().text, "the losses agree if the micro-steps of the candidate are averaged, not summed"));
    ASSERT_EQ(alignment.notes.size(), 1u);
    EXPECT_TRUE(test::contains(alignment.notes.front(), "candidate: each stage numbers the modules of layers from 0"));
}

/// Each of two ranks has these modules.
Side twoRanks(RecordedRun& run, const std::vector<std::vector<std::string>>& modules, float second = 1)
{
    for (int rank = 0; rank < 2; ++rank) {
        auto& scribe = run.rank(rank);
        scribe.module("", "Model").call("").input("", activations({ 0, 1 }, 0));
        for (const auto& module : modules[static_cast<std::size_t>(rank)]) {
            const float value = static_cast<float>(module.size()) * (rank == 0 ? 1 : second);
            scribe.module(module, "Linear", { "weight" }).call(module).start(module + ".weight", f32({ 2 }, { value, value + 1 }));
        }
        scribe.output("", activations({ 0, 1 }, 1));
    }
    return run.side();
}

TEST(StagesOfRanks, ShareNoModule)
{
    const std::map<std::string, std::pair<std::vector<std::vector<std::string>>, std::size_t>> cases = {
        { "stages", { { { "layers.0" }, { "layers.1" } }, 2 } },
        { "replicas", { { { "layers.0" }, { "layers.0" } }, 0 } },
        { "experts beside a shared layer", { { { "attention", "experts.0" }, { "attention", "experts.1" } }, 0 } },
        { "a rank without modules", { { { "layers.0" }, {} }, 0 } },
    };
    for (const auto& [name, given] : cases) {
        RecordedRun run("run", 2);
        const auto stages = stagesOf(twoRanks(run, given.first));
        EXPECT_EQ(stages.empty() ? 0 : stages.count(), given.second) << name;
    }
}

TEST(StagesOfRanks, HaveNoPartInATeacher)
{
    RecordedRun run("run", 2);
    for (int rank = 0; rank < 2; ++rank) {
        const auto layer = "layers." + std::to_string(rank);
        auto& scribe = run.rank(rank);
        for (const std::string root : { "", "teacher." }) {
            scribe.module(root.empty() ? "" : "teacher", "Model").call(root.empty() ? "" : "teacher");
            scribe.module(root + layer, "Linear", { "weight" }).call(root + layer).start(root + layer + ".weight", weights(rank));
        }
    }
    const auto stages = stagesOf(run.side());
    EXPECT_EQ(stages.roots, std::vector<std::string>());
    EXPECT_EQ(stages.ofModule.size(), 4u);
}

/// As found with all that a recording may lack.
TEST(OwnNumbers, AreFoundInWhatThereIs)
{
    const std::map<std::string, std::pair<Launch, Launch>> cases = {
        { "another first step", { { .steps = { 0, 1 } }, { .ends = { 2, 4 }, .ownNumbers = true, .steps = { 1 } } } },
        { "no weights", { { .recordsWeights = false }, { .ends = { 1, 2, 4 }, .ownNumbers = true, .recordsWeights = false } } },
        { "no weights of one side", { {}, { .ends = { 1, 3, 4 }, .ownNumbers = true, .recordsWeights = false } } },
        { "layers that begin alike", { { .copies = true }, { .ends = { 1, 2, 3, 4 }, .ownNumbers = true, .copies = true } } },
        { "replicas without weights",
            { { .recordsWeights = false }, { .ends = { 2, 4 }, .replicas = 2, .ownNumbers = true, .recordsWeights = false } } },
    };
    for (const auto& [name, launches] : cases) {
        RecordedRun a("a"), b("b", launches.second.ranks());
        const auto alignment = aligned(record(a, launches.first), record(b, launches.second));
        std::set<std::string> layers;
        for (const auto& pair : alignment.pairs) {
            if (pair.status == PairStatus::Matched && pair.key.kind == bundle::Kind::Output) {
                ASSERT_EQ(bytesOf(alignment.a, pair.lanes[0].a), bytesOf(alignment.b, pair.lanes[0].b)) << name << ": " << pair.id;
                layers.insert(pair.key.module);
            }
            EXPECT_NE(pair.status, PairStatus::Unrelated) << name << ": " << pair.id << ": " << *pair.note;
        }
        EXPECT_EQ(layers, (std::set<std::string> { "", "layers.0", "layers.1", "layers.2", "layers.3", "loss" })) << name;
    }
}

TEST(OwnNumbers, AreThoseOfTheWeightsWhereAStageIsMissing)
{
    const Launch launch { .ends = { 1, 3, 4 }, .ownNumbers = true };
    for (std::int64_t missing = 0; missing < launch.stages(); ++missing) {
        RecordedRun a("a"), b("b", launch.ranks());
        std::set<std::string> there;
        for (std::int64_t stage = 0; stage < launch.stages(); ++stage) {
            if (stage != missing) {
                recordStage(b, launch, 0, stage, 0);
            }
        }
        const auto alignment = aligned(record(a, kLaunches.front()), b.side());
        for (const auto& pair : alignment.pairs) {
            if (pair.status == PairStatus::Matched && pair.key.kind == bundle::Kind::Param) {
                EXPECT_EQ(bytesOf(alignment.a, pair.lanes[0].a), bytesOf(alignment.b, pair.lanes[0].b)) << missing << ": " << pair.id;
                there.insert(pair.key.module);
            }
        }
        EXPECT_EQ(there.size(), missing == 1 ? 2u : 3u) << missing;
    }
}

TEST(TiedOverStages, HaveNoGradientInCommonBeforeTheReduction)
{
    RecordedRun a("a"), b("b", 2);
    const auto gradient = [](float value) { return f32({ 2 }, { value, value + 1 }); };
    auto& whole = a.rank();
    whole.module("", "Model").module("embedding", "Embedding", { "weight" }).module("head", "Linear", { "weight" });
    whole.tie({ "embedding.weight", "head.weight" }).call("").call("embedding").call("head");
    whole.start("embedding.weight", weights(0)).grad("embedding.weight", gradient(3)).reduced("embedding.weight", gradient(3));
    for (int rank = 0; rank < 2; ++rank) {
        const std::string name = rank == 0 ? "embedding" : "head";
        auto& stage = b.rank(rank);
        stage.module("", "Model").module(name, rank == 0 ? "Embedding" : "Linear", { "weight" }).call("").call(name);
        stage.start(name + ".weight", weights(0))
            .grad(name + ".weight", gradient(rank == 0 ? 1 : 2))
            .reduced(name + ".weight", gradient(3));
    }
    const auto alignment = aligned(a.side(), b.side());
    const auto& local = test::pairOf(alignment, "s0/backward/grad/embedding.weight");
    EXPECT_EQ(local.status, PairStatus::NotObserved);
    EXPECT_TRUE(test::contains(*local.note, "tied to one on another stage"));
    EXPECT_EQ(test::pairOf(alignment, "s0/reduce/grad/embedding.weight").status, PairStatus::Matched);
    EXPECT_EQ(test::pairOf(alignment, "s0/start/param/embedding.weight").status, PairStatus::Matched);
}

/// Ranks that have other weights under the same names are stages only if they hand on to one another.
TEST(OwnNumbers, AreNoTensorParallelRanks)
{
    const std::vector<std::vector<std::string>> modules = { { "layers.0", "layers.1" }, { "layers.0", "layers.1" } };
    RecordedRun a("a", 2), b("b", 4);
    auto sideA = twoRanks(a, modules, 3);
    for (int rank = 0; rank < 4; ++rank) {
        auto& scribe = b.rank(rank);
        scribe.module("", "Model").call("").input("", activations({ 0, 1 }, 0));
        for (const std::string module : { "layers.0", "layers.1" }) {
            const float value = static_cast<float>(module.size()) * (rank < 2 ? 1 : 3);
            scribe.module(module, "Linear", { "weight" }).call(module).start(module + ".weight", f32({ 2 }, { value, value + 1 }));
        }
    }
    auto sideB = b.side();
    EXPECT_EQ(numberLayersAlike(sideA, sideB, 0, 0), std::vector<std::string>());
    EXPECT_TRUE(sideA.copies.empty() && sideB.copies.empty());
}

/// A batch from which a script takes the samples of several micro-steps, on as many ranks as it likes, against one that is taken whole.
/// `inEach`: the batch is recorded in every micro-step; of the second rank only in the first one.
Side recordLongerBatch(RecordedRun& run, int ranks, std::int32_t micros, bool inEach)
{
    for (int rank = 0; rank < ranks; ++rank) {
        std::vector<std::int64_t> own;
        for (std::int64_t row = rank; row < kRows; row += ranks) {
            own.push_back(row);
        }
        const auto count = std::ssize(own) / micros;
        for (std::int32_t micro = 0; micro < micros; ++micro) {
            const std::vector<std::int64_t> taken(own.begin() + micro * count, own.begin() + (micro + 1) * count);
            auto& scribe = run.rank(rank).micro(micro);
            if (micro == 0 || (inEach && rank == 0)) {
                scribe.batch(activations(own, 0), { .slot = "0" });
            }
            scribe.input("", activations(taken, 0), { .slot = "0" }).output("layer", activations(taken, 1));
        }
    }
    return run.side();
}

TEST(LongerBatch, IsItselfComparedOfRunsThatAreAlike)
{
    RecordedRun a("a", 2), b("b", 2);
    const auto alignment = aligned(recordLongerBatch(a, 2, 2, true), recordLongerBatch(b, 2, 2, true));
    std::vector<std::size_t> lanes;
    for (const auto& pair : alignment.pairs) {
        EXPECT_EQ(pair.status, PairStatus::Matched) << pair.id << ": " << *pair.note;
        if (pair.key.kind == bundle::Kind::Batch) {
            lanes.push_back(pair.lanes.size());
        }
    }
    EXPECT_EQ(lanes, (std::vector<std::size_t> { 2, 1 }));
}

TEST(LongerBatch, IsComparedAsTheModelIsGivenIt)
{
    for (const int ranksA : { 1, 2 }) {
        for (const int ranksB : { 1, 2 }) {
            for (const std::int32_t micros : { 1, 2, 4 }) {
                for (const bool inEach : { true, false }) {
                    RecordedRun a("a", ranksA), b("b", ranksB);
                    const auto alignment = aligned(recordLongerBatch(a, ranksA, 1, true), recordLongerBatch(b, ranksB, micros, inEach));
                    std::size_t compared = 0;
                    for (const auto& pair : alignment.pairs) {
                        if (pair.key.kind == bundle::Kind::Batch && pair.status == PairStatus::NotObserved) {
                            continue;
                        }
                        ASSERT_EQ(pair.status, PairStatus::Matched) << pair.id << ": " << *pair.note;
                        for (const auto& lane : pair.lanes) {
                            EXPECT_EQ(bytesOf(alignment.a, lane.a), bytesOf(alignment.b, lane.b)) << pair.id << ranksA << ranksB << micros;
                        }
                        compared += pair.key.kind == bundle::Kind::Batch ? 0 : 1;
                    }
                    EXPECT_EQ(compared, 2u);
                    EXPECT_TRUE(test::contains(alignment.steps.front().text, "rows matched"));
                }
            }
        }
    }
}

} // namespace
} // namespace forkpoint::align
