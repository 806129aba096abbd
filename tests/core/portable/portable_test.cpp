// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/portable/portable.h"

#include "core/graph/union_graph.h"
#include "core/heatmap/render.h"
#include "core/portable/container.h"
#include "core/portable/kept_lanes.h"
#include "core/report/json_report.h"
#include "core/report/text_report.h"
#include "tests/support/compared.h"
#include "tests/support/toy_training.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <random>

namespace forkpoint::portable {
namespace {

using compare::KeptTensors;
using compare::Snapshot;
using test::Compared;
using test::f32;
using test::RecordedRun;
using test::TempFolder;
using test::ToyTraining;
namespace fs = std::filesystem;

align::Side sample(const std::string& name)
{
    auto side = align::openSide(std::string(FORKPOINT_SOURCE_DIR) + "/resources/samples/" + name + ".forkpoint");
    EXPECT_TRUE(side) << side.error().text();
    return side ? std::move(*side) : align::Side();
}

std::string contentOf(const fs::path& path)
{
    std::ifstream in(path, std::ios::binary);
    return { std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>() };
}

void write(const fs::path& path, const std::string& content)
{
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

std::vector<std::byte> elementsOf(const TensorSource& source)
{
    ReadBuffer buffer;
    const auto read = source.read(Box::whole(source.shape()), buffer);
    EXPECT_TRUE(read) << read.error().text();
    return read ? std::vector<std::byte>(read->begin(), read->end()) : std::vector<std::byte>();
}

class PortableTest : public testing::Test {
protected:
    fs::path path(const char* name = "X.forkcmp") const { return fs::path(m_folder.path()) / name; }

    Saved saved(const Snapshot& comparison, std::uint64_t budget = kUsualBudget)
    {
        SaveOptions options;
        options.budget = budget;
        options.provenance.producer = "forkpoint-cli 9.9";
        options.provenance.options = { "--step-offset 0" };
        options.provenance.a.path = "runs/a";
        options.provenance.b.path = "runs/b";
        auto done = save(comparison, path(), options);
        EXPECT_TRUE(done) << done.error().text();
        return done.value_or(Saved());
    }

    Snapshot loaded()
    {
        auto comparison = load(path());
        EXPECT_TRUE(comparison) << comparison.error().text();
        return comparison ? std::move(*comparison) : Snapshot();
    }

    TempFolder m_folder;
};

std::string graphText(const Snapshot& comparison)
{
    std::string text;
    for (const auto& plan : comparison.structure().alignment.steps) {
        const auto graph = graph::unionGraph(comparison.structure().alignment, { plan.step, 0, true, true, true });
        EXPECT_TRUE(graph);
        if (!graph) {
            continue;
        }
        for (const auto& node : graph->nodes) {
            text += fmt::format("{} {} {} {} {} {} {} {}\n", node.path, node.call, node.parent, node.end, node.classA, node.classB, node.source, static_cast<int>(node.sides));
        }
        for (const auto& edge : graph->edges) {
            text += fmt::format("{} -> {} {} {} {}\n", edge.from, edge.to, edge.fromSlot, edge.toSlot, static_cast<int>(edge.kind));
        }
        for (const auto& [pair, node] : graph->nodeOfPair) {
            text += fmt::format("{}:{} ", pair, node);
        }
    }
    return text;
}

struct Pairing {
    const char* a;
    const char* b;
};

class SampleTest : public PortableTest, public testing::WithParamInterface<Pairing> { };

TEST_P(SampleTest, TheFileSaysWhatTheBundlesSay)
{
    const Compared live(sample(GetParam().a), sample(GetParam().b));
    const auto done = saved(live.snapshot());
    EXPECT_LE(done.bytes, kUsualBudget);
    EXPECT_EQ(done.bytes, fs::file_size(path()));
    EXPECT_GT(done.kept, 0u);
    EXPECT_EQ(done.pictures, 0u);
    const auto file = loaded();
    EXPECT_EQ(report::jsonText(file), report::jsonText(live.snapshot()));
    EXPECT_EQ(report::textReport(file, {}), report::textReport(live.snapshot(), {}));
    EXPECT_EQ(graphText(file), graphText(live.snapshot()));
    EXPECT_EQ(diagnose::contextEntries(file.structure().alignment.a, file.structure().alignment.b)->size(),
              diagnose::contextEntries(live.alignment().a, live.alignment().b)->size());
    ASSERT_EQ(file.ready(), live.snapshot().ready());
    for (std::size_t i = 0; i < file.ready(); ++i) { // also what no report shows
        const auto &x = file.result(i), &y = live.snapshot().result(i);
        ASSERT_EQ(x.lanes.size(), y.lanes.size());
        for (std::size_t lane = 0; lane < x.lanes.size(); ++lane) {
            EXPECT_EQ(x.lanes[lane].statistics, y.lanes[lane].statistics) << file.structure().alignment.pairs[i].id;
        }
        EXPECT_EQ(x.inheritable, y.inheritable);
        EXPECT_EQ(file.severities()[i], live.snapshot().severities()[i]);
        EXPECT_EQ(file.structure().inputs.of[i], live.snapshot().structure().inputs.of[i]);
    }
}

TEST_P(SampleTest, KeptTensorsAreThoseOfTheBundles)
{
    const Compared live(sample(GetParam().a), sample(GetParam().b));
    const auto done = saved(live.snapshot());
    const auto file = loaded();
    const auto& kept = *file.structure().kept;
    EXPECT_EQ(kept.kept(), done.kept);
    EXPECT_EQ(kept.leftOut(), done.leftOut);
    const diagnose::Measurer measurer(live.alignment());
    std::size_t found = 0;
    for (std::size_t pair = 0; pair < file.pairs(); ++pair) {
        for (std::size_t lane = 0; lane < file.structure().alignment.pairs[pair].lanes.size(); ++lane) {
            if (kept.form(pair, lane) != KeptTensors::Form::Elements) {
                EXPECT_FALSE(kept.tensors(pair, lane));
                continue;
            }
            ++found;
            const auto here = kept.tensors(pair, lane);
            const auto there = measurer.tensors(live.alignment().pairs[pair], live.alignment().pairs[pair].lanes[lane]);
            ASSERT_TRUE(here && there);
            EXPECT_EQ(here->ofUpdate, there->ofUpdate);
            EXPECT_EQ(here->a->shape(), there->a->shape());
            EXPECT_EQ(here->a->dtype(), there->a->dtype());
            EXPECT_EQ(elementsOf(*here->a), elementsOf(*there->a));
            EXPECT_EQ(elementsOf(*here->b), elementsOf(*there->b));
        }
    }
    EXPECT_EQ(found, done.kept);
    if (const auto& fork = live.verdict().fork) {
        EXPECT_EQ(kept.form(fork->pair, live.snapshot().result(fork->pair).worst), KeptTensors::Form::Elements);
    }
    // What is not there says so.
    const auto& side = file.structure().alignment.a;
    const auto missing = side.bundle->source(*side.ranks.front(), side.ranks.front()->tensors.front());
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
    EXPECT_NE(missing.error().message.find("not in the portable comparison"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Samples, SampleTest,
                         testing::Values(Pairing { "healthy-single", "healthy-ddp2" }, Pairing { "sumloss-single", "sumloss-ddp2" },
                                         Pairing { "healthy-single", "fault" }),
                         [](const auto& pairing) { return std::string(pairing.param.b).substr(0, std::string(pairing.param.b).find('-')); });

TEST_F(PortableTest, ProvenanceSaysWhatWasCompared)
{
    const Compared live(sample("healthy-single"), sample("fault"));
    saved(live.snapshot());
    const auto file = loaded();
    const auto& from = file.structure().kept->provenance();
    EXPECT_EQ(from.producer, "forkpoint-cli 9.9");
    EXPECT_EQ(from.options, std::vector<std::string> { "--step-offset 0" });
    EXPECT_EQ(from.a.label, live.alignment().a.label);
    EXPECT_EQ(from.a.path, "runs/a");
    EXPECT_EQ(from.a.identity.size(), 64u);
    EXPECT_EQ(from.a.identity, identityOf(sample("healthy-single")));
    EXPECT_NE(from.a.identity, from.b.identity);
    EXPECT_EQ(from.created.size(), 20u);
}

TEST_F(PortableTest, RanksOfOneRunAndPlainFilesComeBackToo)
{
    const auto check = [this](const align::Side& a, const align::Side& b, compare::Options options = {}) {
        const Compared live(a, b, std::move(options));
        saved(live.snapshot());
        const auto file = loaded();
        EXPECT_EQ(report::jsonText(file), report::jsonText(live.snapshot()));
        EXPECT_EQ(report::textReport(file, {}), report::textReport(live.snapshot(), {}));
    };
    const auto open = [](const std::string& text) { return align::openSide(std::string(FORKPOINT_SOURCE_DIR) + "/" + text).value(); };
    const std::string ddp = "resources/samples/healthy-ddp2.forkpoint", plain = "tests/data/plain/";
    check(open(ddp + "@0"), open(ddp + "@1"));
    check(open(plain + "hook_A_single"), open(plain + "hook_B_2rank"));
    check(open(plain + "odd"), open(plain + "odd"), { .align = {}, .noise = std::nullopt, .measurer = { true, true } });
    check(sample("healthy-single"), sample("healthy-ddp2"), { .align = {}, .noise = sample("healthy-single"), .measurer = {} });
}

TEST_F(PortableTest, EveryOrderOfRowsComesBack)
{
    const std::vector<std::vector<std::int64_t>> whole { { 0, 1, 2, 3 } }, dealt { { 0, 2 }, { 1, 3 } };
    const auto rows = [](const std::vector<std::int64_t>& of, std::size_t width, float times) {
        std::vector<float> out;
        for (const auto row : of) {
            const auto values = test::gaussian(width, static_cast<unsigned>(row) + 1);
            std::transform(values.begin(), values.end(), std::back_inserter(out), [&](float x) { return x * times; });
        }
        return f32({ std::ssize(of), static_cast<std::int64_t>(width) }, out);
    };
    RecordedRun a("a"), b("b", 2);
    for (auto* run : { &a, &b }) {
        const auto& world = run == &a ? whole : dealt;
        const std::vector<std::int64_t> all = run == &a ? whole[0] : std::vector<std::int64_t> { 0, 2, 1, 3 };
        const float times = run == &a ? 1.0f : 1.001f; // so that something is kept
        for (int rank = 0; rank < std::ssize(world); ++rank) {
            const auto& own = world[static_cast<std::size_t>(rank)];
            const std::int64_t first = rank * 2;
            std::vector<std::int64_t> targets;
            std::vector<float> similarities;
            for (std::size_t i = 0; i < own.size(); ++i) {
                targets.push_back(first + static_cast<std::int64_t>(i));
                for (const auto other : all) {
                    similarities.push_back((static_cast<float>(own[i]) * 10 + static_cast<float>(other) + 1) * times);
                }
            }
            const auto n = std::ssize(own);
            run->rank(rank).batch(test::i64({ n, 1 }, own), { .slot = "0" }).input("criterion", test::i64({ n }, targets), { .slot = "1" });
            run->rank(rank).output("similarities", f32({ n, 4 }, similarities)).output("fc", rows(own, 16, times));
            run->rank(rank).output("expert", rows(rank == 0 ? std::vector { own[0] } : own, 16, times)).loss(1);
        }
    }
    a.rank().output("expert", rows({ 0, 1, 3 }, 16, 1), { .call = 1 });
    b.rank(0).output("expert", rows({ 3 }, 16, 1.001f), { .call = 1 });
    b.rank(1).output("expert", rows({ 1, 0 }, 16, 1.001f), { .call = 1 });
    const Compared live(a.side(), b.side());
    const auto assembly = [&](const char* id) { return *live.pair(id).assembly; };
    EXPECT_NE(assembly("s0/forward/input/criterion:1").find("row numbers"), std::string::npos) << "all that is tested here takes part";
    EXPECT_NE(assembly("s0/forward/output/similarities").find("entries along dim 1 reordered"), std::string::npos);
    EXPECT_NE(assembly("s0/forward/output/expert#1").find("rows reordered"), std::string::npos);
    saved(live.snapshot());
    const auto file = loaded();
    EXPECT_EQ(report::jsonText(file), report::jsonText(live.snapshot()));
    const diagnose::Measurer measurer(live.alignment());
    for (const char* id : { "s0/forward/output/similarities", "s0/forward/output/fc", "s0/forward/output/expert#1" }) {
        const auto pair = test::indexOf(live.alignment(), id);
        const auto here = file.structure().kept->tensors(pair, 0);
        const auto there = measurer.tensors(live.alignment().pairs[pair], live.alignment().pairs[pair].lanes[0]);
        ASSERT_TRUE(here && there) << id;
        EXPECT_EQ(elementsOf(*here->b), elementsOf(*there->b)) << id;
    }
    for (std::size_t pair = 0; pair < file.pairs(); ++pair) {
        const auto &was = live.alignment().pairs[pair].lanes, &is = file.structure().alignment.pairs[pair].lanes;
        ASSERT_EQ(was.size(), is.size());
        for (std::size_t lane = 0; lane < was.size(); ++lane) {
            EXPECT_EQ(*was[lane].b.order, *is[lane].b.order);
            EXPECT_EQ(*was[lane].b.secondOrder, *is[lane].b.secondOrder);
            EXPECT_EQ(was[lane].b.secondDim, is[lane].b.secondDim);
            EXPECT_EQ(was[lane].b.rowNumbers, is[lane].b.rowNumbers);
        }
    }
}

TEST_F(PortableTest, NumbersThatStagesWereGivenComeBack)
{
    RecordedRun a("whole"), b("stages", 2);
    const auto weights = [](int layer) { return f32({ 2 }, { static_cast<float>(layer) + 0.5f, 3 }); };
    for (auto* run : { &a, &b }) {
        for (int layer = 0; layer < 4; ++layer) {
            const bool second = run == &b && layer >= 2;
            const auto name = "layers." + std::to_string(second ? layer - 2 : layer);
            auto& rank = run->rank(second ? 1 : 0);
            rank.module("", "Model").module("layers", "ModuleList").module(name, "Linear", { "weight" });
            rank.call("").call(name).start(name + ".weight", weights(layer));
        }
    }
    const Compared live(a.side(), b.side());
    ASSERT_EQ(live.alignment().b.copies.size(), 1u) << "all that is tested here takes part";
    saved(live.snapshot());
    const auto file = loaded();
    EXPECT_EQ(report::jsonText(file), report::jsonText(live.snapshot()));
    std::vector<std::string> modules;
    for (const auto& call : file.structure().alignment.b.ranks.back()->calls) {
        modules.push_back(call.module);
    }
    EXPECT_EQ(modules, (std::vector<std::string> { "", "layers.2", "", "layers.3" }));
}

TEST_F(PortableTest, NotFiniteNumbersComeBack)
{
    RecordedRun a("single"), b("nan");
    test::writeToy(a, {});
    test::writeToy(b, { .defect = ToyTraining::Defect::NaNOutput });
    const Compared live(a.side(), b.side());
    saved(live.snapshot());
    EXPECT_EQ(report::jsonText(loaded()), report::jsonText(live.snapshot()));
}

// --- budget ---

/// Two runs with one small and two large outputs that differ; they are on the disk as long as this lives.
class LargeRuns {
public:
    LargeRuns()
    {
        constexpr std::int64_t kSide = 512;
        const auto large = test::gaussian(kSide * kSide, 3);
        for (auto* run : { &m_a, &m_b }) {
            const bool isB = run == &m_b;
            run->rank(0)
                .step(0)
                .output("small", f32({ 8 }, std::vector<float>(8, isB ? 1.5f : 1.0f)))
                .output("first", f32({ kSide, kSide }, isB ? test::perturbed(large, 0.5, 4) : large))
                .output("second", f32({ kSide, kSide }, isB ? test::perturbed(large, 0.1, 5) : large));
        }
        m_compared.emplace(m_a.side(), m_b.side());
    }
    const Snapshot& snapshot() const { return m_compared->snapshot(); }
    const align::Alignment& alignment() const { return m_compared->alignment(); }

private:
    RecordedRun m_a { "a" }, m_b { "b" };
    std::optional<Compared> m_compared;
};

TEST_F(PortableTest, ALargeTensorIsKeptAsItsPictureWhereItsElementsDoNotFit)
{
    const LargeRuns live;
    constexpr std::uint64_t kBudget = 1'200'000;
    const auto done = saved(live.snapshot(), kBudget);
    EXPECT_LE(fs::file_size(path()), kBudget);
    EXPECT_GE(done.pictures, 1u);
    EXPECT_EQ(done.kept + done.leftOut, 3u);
    const auto file = loaded();
    const auto& kept = *file.structure().kept;
    std::size_t pictures = 0;
    for (std::size_t pair = 0; pair < file.pairs(); ++pair) {
        if (kept.form(pair, 0) != KeptTensors::Form::Picture) {
            continue;
        }
        ++pictures;
        const auto picture = kept.picture(pair, 0);
        ASSERT_TRUE(picture) << picture.error().text();
        const auto tensors = diagnose::Measurer(live.alignment()).tensors(live.alignment().pairs[pair], live.alignment().pairs[pair].lanes[0]);
        const auto whole = heatmap::Pyramid::build(tensors->a, tensors->b, heatmap::overviewAxes(tensors->a->shape()));
        ASSERT_TRUE(whole);
        const auto& pyramid = *picture->pyramid;
        EXPECT_FALSE(pyramid.readable());
        EXPECT_EQ(pyramid.counts(), (*whole)->counts());
        const int first = pyramid.firstStoredLevel();
        EXPECT_GT(first, 0);
        for (int level = first; level < pyramid.levels(); ++level) {
            const auto here = pyramid.cells(level, pyramid.level(level).whole()), there = (*whole)->cells(level, pyramid.level(level).whole());
            ASSERT_TRUE(here && there);
            EXPECT_EQ(*here, *there) << level;
        }
        for (const auto mode : heatmap::kModes) {
            EXPECT_EQ(*picture->histograms.at(mode), *heatmap::histogramOf(**whole, mode));
        }
        // It can be drawn at any zoom, and what is below the kept levels is refused in words.
        std::vector<heatmap::Rgba> pixels(64 * 64);
        for (const double zoom : { 16.0, 1.0, 0.1 }) {
            const auto drawn = heatmap::renderRegion(pyramid, { 100, 100, zoom, zoom, 64, 64 }, {}, pixels, 64);
            ASSERT_TRUE(drawn) << drawn.error().text();
            EXPECT_TRUE(drawn->complete);
            EXPECT_GE(drawn->level, first);
        }
        const auto element = pyramid.element({ 0, 0 });
        ASSERT_FALSE(element);
        EXPECT_EQ(element.error().code, ErrorCode::NotFound);
    }
    EXPECT_EQ(pictures, done.pictures);
}

TEST_F(PortableTest, EveryBudgetIsKeptOrRefused)
{
    const LargeRuns live;
    const auto size = saved(live.snapshot()).bytes;
    std::size_t written = 0;
    for (const std::uint64_t budget : { 1'000u, 10'000u, 20'000u, 100'000u, 500'000u, 1'000'000u, 3'000'000u }) {
        fs::remove(path());
        const auto done = save(live.snapshot(), path(), { budget, {} });
        if (done) {
            ++written;
            EXPECT_LE(fs::file_size(path()), budget);
            EXPECT_EQ(done->kept + done->leftOut, 3u);
            EXPECT_EQ(report::jsonText(loaded()), report::jsonText(live.snapshot()));
        } else {
            EXPECT_EQ(done.error().code, ErrorCode::Usage);
            EXPECT_NE(done.error().message.find("--budget"), std::string::npos);
            EXPECT_FALSE(fs::exists(path()));
        }
        EXPECT_FALSE(fs::exists(path().string() + ".tmp"));
    }
    EXPECT_GE(written, 4u);
    EXPECT_GT(size, 1'000'000u);
}

TEST_F(PortableTest, TheForkAndTheWorstPairsComeFirst)
{
    const Compared live(sample("sumloss-single"), sample("sumloss-ddp2"));
    const auto order = candidates(live.snapshot());
    ASSERT_FALSE(order.empty());
    EXPECT_EQ(order.front(), live.verdict().fork->pair);
    for (const auto pair : order) {
        EXPECT_NE(live.snapshot().result(pair).severity, diagnose::Severity::Identical);
    }
}

// --- what else may be at the path, and damage ---

TEST_F(PortableTest, OnlyAnEarlierOneIsReplaced)
{
    const Compared live(sample("healthy-single"), sample("fault"));
    write(path(), "somebody's notes");
    const auto refused = save(live.snapshot(), path(), {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Exists);
    EXPECT_EQ(contentOf(path()), "somebody's notes");
    fs::remove(path());
    saved(live.snapshot());
    saved(live.snapshot());
    const auto again = save(loaded(), path("Y.forkcmp"), {});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::Usage);
    const auto nowhere = save(live.snapshot(), path("no/such/folder.forkcmp"), {});
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, ErrorCode::WriteFailed);
}

TEST_F(PortableTest, OtherFilesAreRefusedByName)
{
    EXPECT_EQ(load(path("none")).error().code, ErrorCode::NotFound);
    write(path(), "");
    EXPECT_EQ(load(path()).error().code, ErrorCode::NotABundle);
    write(path(), "PK\x03\x04 something else that is long enough");
    EXPECT_EQ(load(path()).error().code, ErrorCode::NotABundle);
    EXPECT_FALSE(isPortable(path()));
    EXPECT_FALSE(load(m_folder.path()));
}

TEST_F(PortableTest, ANewerMajorVersionIsRefused)
{
    const Compared live(sample("healthy-single"), sample("fault"));
    saved(live.snapshot());
    std::string content = contentOf(path());
    content[8] = 2;
    write(path(), content);
    const auto newer = load(path());
    ASSERT_FALSE(newer);
    EXPECT_EQ(newer.error().code, ErrorCode::Unsupported);
    EXPECT_NE(newer.error().message.find("version 2."), std::string::npos) << newer.error().message;
}

/// Loads it and reads everything that it holds. True: all of it went well.
bool readsAll(const fs::path& path)
{
    const auto comparison = load(path);
    if (!comparison) {
        EXPECT_FALSE(comparison.error().message.empty());
        return false;
    }
    bool good = true;
    const auto& kept = *comparison->structure().kept;
    for (std::size_t pair = 0; pair < comparison->pairs(); ++pair) {
        for (std::size_t lane = 0; lane < comparison->structure().alignment.pairs[pair].lanes.size(); ++lane) {
            good = good && (kept.form(pair, lane) != KeptTensors::Form::Elements || kept.tensors(pair, lane));
            good = good && (kept.form(pair, lane) != KeptTensors::Form::Picture || kept.picture(pair, lane));
        }
    }
    return good;
}

class DamageTest : public PortableTest {
protected:
    DamageTest()
    {
        test::writeToy(m_a, { .steps = 1 });
        test::writeToy(m_b, { .world = 2, .steps = 1, .defect = ToyTraining::Defect::GradientTimesTwo });
        saved(Compared(m_a.side(), m_b.side()).snapshot());
        m_content = contentOf(path());
    }
    RecordedRun m_a { "single" }, m_b { "ddp2", 2 };
    std::string m_content;
};

TEST_F(DamageTest, CutAnywhereItIsRefused)
{
    const std::string& content = m_content;
    ASSERT_TRUE(readsAll(path()));
    const std::size_t stride = std::max<std::size_t>(content.size() / 300, 1);
    for (std::size_t size = 0; size < content.size(); size += size < 64 || size + 64 > content.size() ? 1 : stride) {
        write(path(), content.substr(0, size));
        const auto cut = load(path());
        ASSERT_FALSE(cut) << size;
        EXPECT_TRUE(cut.error().code == ErrorCode::Truncated || cut.error().code == ErrorCode::NotABundle || cut.error().code == ErrorCode::Corrupt) << cut.error().text();
    }
    write(path(), content + "x");
    EXPECT_FALSE(load(path()));
}

TEST_F(DamageTest, AFlippedBitIsNoticed)
{
    const std::string& content = m_content;
    std::mt19937 random(1);
    for (int i = 0; i < 400; ++i) {
        std::string damaged = content;
        damaged[random() % damaged.size()] ^= static_cast<char>(1u << random() % 8);
        write(path(), damaged);
        EXPECT_FALSE(readsAll(path()));
    }
}

/// The same file with other sections: checksums and directory are right, as a stranger who means it would make them.
void rewritten(const fs::path& from, const fs::path& to, const std::function<void(std::size_t section, bool last, std::vector<std::byte>&)>& change)
{
    const auto file = Container::open(from);
    ASSERT_TRUE(file);
    auto out = ContainerWriter::create(to);
    ASSERT_TRUE(out);
    for (std::size_t i = 0; i < (*file)->sections(); ++i) {
        auto raw = (*file)->read(i, std::uint64_t(1) << 30);
        ASSERT_TRUE(raw);
        change(i, i + 1 == (*file)->sections(), *raw);
        ASSERT_TRUE(out->add(*raw));
    }
    ASSERT_TRUE(out->finish());
}

TEST_F(PortableTest, WhatAStrangerWritesIsRefusedOrHarmless)
{
    const LargeRuns live;
    saved(live.snapshot(), 600'000);
    std::mt19937 random(2);
    std::size_t opened = 0;
    for (int i = 0; i < 600; ++i) {
        const bool table = i % 3 == 0;
        rewritten(path(), path("hostile"), [&](std::size_t section, bool last, std::vector<std::byte>& raw) {
            if (table ? last : section == 0) {
                for (auto n = 1 + random() % 3; n > 0; --n) {
                    raw[random() % raw.size()] = static_cast<std::byte>(random());
                }
            }
        });
        const auto comparison = load(path("hostile"));
        if (!comparison) {
            continue;
        }
        ++opened;
        readsAll(path("hostile"));
        report::jsonText(*comparison);
        report::textReport(*comparison, {});
        for (const auto& plan : comparison->structure().alignment.steps) {
            (void)graph::unionGraph(comparison->structure().alignment, { plan.step, 0, true, true, true });
        }
    }
    EXPECT_GT(opened, 10u);
}

TEST_F(PortableTest, WhatAPictureOfAStrangerHoldsIsChecked)
{
    const LargeRuns live;
    saved(live.snapshot(), 600'000);
    rewritten(path(), path("hostile"), [&](std::size_t section, bool last, std::vector<std::byte>& raw) {
        if (section > 0 && !last && raw.size() > 10'000) {
            std::fill(raw.begin(), raw.end(), std::byte { 0xff }); // NaN everywhere
        }
    });
    const auto comparison = load(path("hostile"));
    ASSERT_TRUE(comparison);
    const auto& kept = *comparison->structure().kept;
    std::size_t pictures = 0;
    for (std::size_t pair = 0; pair < comparison->pairs(); ++pair) {
        if (kept.form(pair, 0) == KeptTensors::Form::Picture) {
            ++pictures;
            const auto picture = kept.picture(pair, 0);
            ASSERT_FALSE(picture);
            EXPECT_EQ(picture.error().code, ErrorCode::Corrupt);
        }
    }
    EXPECT_GT(pictures, 0u);
}

} // namespace
} // namespace forkpoint::portable
