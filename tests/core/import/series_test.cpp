// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/series.h"
#include "core/curves/series_overlay.h"
#include "core/import/binary_kind.h"
#include "tests/core/bundle/bundle_files.h"
#include "tests/core/import/made_files.h"
#include "tests/support/run_builder.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

// tests/data/loss: the same two short runs as CSV, JSON lines and TensorBoard events; a Hugging Face Trainer's state; text of a terminal.
namespace forkpoint::import {
namespace {

namespace fs = std::filesystem;
using bundle::test::readText;
using bundle::test::TempFolder;
using bundle::test::writeText;

const fs::path kLoss = fs::path(FORKPOINT_TEST_DATA) / "loss";

SeriesFile opened(const fs::path& path)
{
    auto file = openSeries(path);
    EXPECT_TRUE(file) << file.error().text();
    return file ? *file : SeriesFile {};
}

TEST(Series, TheSameRunInThreeFormats)
{
    const auto csv = opened(kLoss / "loss_A.csv"), lines = opened(kLoss / "loss_A.jsonl"), events = opened(kLoss / "tb_A");
    EXPECT_EQ(csv.format, "CSV");
    EXPECT_EQ(lines.format, "JSON lines");
    EXPECT_EQ(events.format, "TensorBoard events");
    const auto& expected = csv.series.at("loss").values;
    EXPECT_EQ(expected.size(), 40u);
    EXPECT_DOUBLE_EQ(expected.at(0), 2.438519239425659);
    EXPECT_EQ(lines.series.at("loss").values.size(), 40u);
    for (const auto& [step, value] : expected) {
        const double line = lines.series.at("loss").values.at(step);
        EXPECT_TRUE(line == value || (std::isnan(line) && std::isnan(value))) << step;
    }
    const auto found = std::find_if(events.series.begin(), events.series.end(),
        [](const auto& e) { return e.first.find("loss") != std::string::npos && e.second.values.size() == 40; });
    ASSERT_NE(found, events.series.end());
    for (const auto& [step, value] : found->second.values) {
        const double text = expected.at(step);
        EXPECT_TRUE(static_cast<float>(text) == static_cast<float>(value) || (std::isnan(text) && std::isnan(value))) << step;
    }
    EXPECT_TRUE(std::any_of(events.series.begin(), events.series.end(), [](const auto& e) { return e.first.starts_with("both_loss/"); }));
}

TEST(Series, TrainerState)
{
    const auto file = opened(kLoss / "hf_A");
    EXPECT_EQ(file.format, "trainer_state.json");
    EXPECT_DOUBLE_EQ(file.series.at("loss").values.at(1), 3.0359907150268555);
    EXPECT_DOUBLE_EQ(file.series.at("grad_norm").values.at(2), 0.8196847438812256);
}

TEST(Series, BareNanAndInfinityInJsonLines)
{
    SeriesFile file;
    readJsonLines("{\"step\": 1, \"loss\": NaN, \"a\": {\"b\": -Infinity}, \"text\": \"NaN \\\" NaN\"}\n{\"step\":2,\"loss\":1e400}\nnonsense\n{\"step\": 3, \"loss\": 2.5", file);
    EXPECT_TRUE(std::isnan(file.series.at("loss").values.at(1)));
    EXPECT_EQ(file.series.at("a/b").values.at(1), -INFINITY);
    EXPECT_FALSE(file.series.contains("text"));
    ASSERT_EQ(file.notes.size(), 1u);
    EXPECT_EQ(file.notes[0], "3 lines are no JSON objects: left out");
}

TEST(Series, CsvOfManyHands)
{
    SeriesFile file;
    readCsv("\xef\xbb\xbf\"Step\";\"train/loss\";\"note\"\r\n1;2.5;\"a;b\"\r\n2;nan;\r\n\r\n3;inf\r\n", file);
    const auto& loss = file.series.at("train/loss").values;
    ASSERT_EQ(loss.size(), 3u);
    EXPECT_EQ(loss.at(1), 2.5);
    EXPECT_TRUE(std::isnan(loss.at(2)));
    EXPECT_TRUE(std::isinf(loss.at(3)));
    EXPECT_FALSE(file.series.contains("note"));
    ASSERT_EQ(file.notes.size(), 1u);
    EXPECT_NE(file.notes[0].find("fewer fields"), std::string::npos);
}

TEST(Series, CsvWithoutAHeader)
{
    SeriesFile file;
    readCsv("\n0,2.5\n1,2.25\n", file);
    EXPECT_EQ(file.series.at("column 1").values, (std::map<std::int32_t, double> { { 0, 0.0 }, { 1, 1.0 } }));
    EXPECT_EQ(file.series.at("column 2").values, (std::map<std::int32_t, double> { { 0, 2.5 }, { 1, 2.25 } }));
    EXPECT_EQ(file.notes, (std::vector<std::string> { "the first line has numbers only and names no column: columns are numbered",
                              "2 records have no step: they are counted from 0" }));
}

TEST(Series, TheStepOfTheWholeRunIsBelieved)
{
    SeriesFile file;
    readCsv("step,global_step,loss\n1,1,5\n2,2,4\n1,3,3\n", file);
    EXPECT_EQ(file.series.at("loss").values, (std::map<std::int32_t, double> { { 1, 5.0 }, { 2, 4.0 }, { 3, 3.0 } }));
    EXPECT_TRUE(file.notes.empty());
    SeriesFile again; // nothing tells an epoch from a run that was resumed: the last value counts, and that is said
    readCsv("epoch,step,loss\n0,1,5\n0,2,4\n1,1,3\n", again);
    EXPECT_EQ(again.series.at("loss").values, (std::map<std::int32_t, double> { { 1, 3.0 }, { 2, 4.0 } }));
    EXPECT_EQ(again.notes, (std::vector<std::string> { "2 values are of a step that was there before: the last one counts" }));
}

TEST(Series, AnIndexWithoutANameIsAColumn)
{
    SeriesFile file;
    readCsv(",step,loss\n0,1,5\n", file);
    EXPECT_TRUE(file.series.contains("column 1"));
    EXPECT_FALSE(file.series.contains(""));
}

TEST(Series, StepsBeyondAllBoundsAreLeftOut)
{
    SeriesFile file;
    readJsonLines("{\"step\": 2147483647, \"loss\": 1}\n{\"step\": 9e14, \"loss\": 2}\n{\"step\": -5, \"loss\": 3}\n", file);
    EXPECT_EQ(file.series.at("loss").values, (std::map<std::int32_t, double> { { 2147483647, 1.0 } }));
    EXPECT_EQ(file.notes, (std::vector<std::string> { "2 values are left out: a step outside 0 .. 2^31 - 1, or more than 10000 names" }));
}

TEST(Series, RecordsWithoutAStepReplaceNothing)
{
    SeriesFile file;
    readJsonLines("{\"step\": 0, \"loss\": 9}\n{\"step\": \"x\", \"loss\": 7}\n{\"eval_loss\": 3}\n{\"step\": 6.5, \"loss\": 1}\n", file);
    EXPECT_EQ(file.series.at("loss").values, (std::map<std::int32_t, double> { { 0, 9.0 }, { 6, 1.0 } }));
    EXPECT_EQ(file.series.at("eval_loss").values, (std::map<std::int32_t, double> { { 1, 3.0 } }));
    EXPECT_EQ(file.notes, (std::vector<std::string> { "2 records have no step: they are counted from 0",
                              "1 values of records without a step are left out: a value with that step is there",
                              "1 steps are no whole numbers: what is behind the point is left out" }));
}

TEST(Series, TextOfATerminal)
{
    SeriesFile file;
    readConsole("\x1b[32mstep 5/40 | loss 2.2442 | grad_norm 0.482 | lr 1.00e-02\x1b[0m\n"
                "step 10/40 | loss nan | grad_norm 0.441 | lr 1.00e-02 | took 3 s at 10:32:07\n",
                file);
    EXPECT_EQ(file.series.at("loss").values.at(5), 2.2442);
    EXPECT_TRUE(std::isnan(file.series.at("loss").values.at(10)));
    EXPECT_EQ(file.series.at("lr").values.at(5), 0.01);
    EXPECT_FALSE(file.series.contains("took"));
    EXPECT_FALSE(file.series.contains("at"));
    EXPECT_NEAR(file.series.at("loss").resolution, 1e-4, 1e-12);
}

TEST(Series, ProgressBarsAndDictsOfATrainer)
{
    SeriesFile file;
    readConsole("\r  0%|          | 0/12 [00:00<?, ?it/s]\r     \r{'loss': '3.036', 'grad_norm': '0.8911', 'epoch': '0.125'}\n\r  8%|#  | 1/12 [00:00<00:00, 149.78it/s]"
                "\x1b[A\r    \r{'loss': '3.027', 'grad_norm': '0.8197', 'epoch': '0.25'}\n",
                file);
    const auto& loss = file.series.at("loss").values;
    ASSERT_EQ(loss.size(), 2u);
    EXPECT_EQ(loss.at(0), 3.036);
    EXPECT_EQ(loss.at(1), 3.027);
    EXPECT_EQ(file.notes.front(), "2 records have no step: they are counted from 0");

    SeriesFile bar;
    readConsole("\rtrain: 10%|# | 7/70 [00:01<00:09, 6.5it/s, loss=2.5]\rtrain: 20%|# | 14/70 [00:02<00:08, 6.5it/s, loss=2.25, v=tensor(3.0)]\n",
        bar);
    EXPECT_EQ(bar.series.at("loss").values, (std::map<std::int32_t, double> { { 7, 2.5 }, { 14, 2.25 } }));
}

TEST(Series, PrefixesOfRanks)
{
    SeriesFile file;
    readConsole("[rank1]: step 1 loss 5.0\n[rank0]: step 1 loss 4.0\n[rank1]: step 2 loss 3.0\n[rank0]: step 2 loss 2.0\nstep: 3, loss: 1.0\n", file);
    EXPECT_EQ(file.series.at("loss").values, (std::map<std::int32_t, double> { { 1, 4.0 }, { 2, 2.0 }, { 3, 1.0 } }));
    EXPECT_EQ(file.notes.back(), "of several ranks' lines those of rank 0 count");
}

TEST(Series, EventFilesCutOrDamagedAtEveryByte)
{
    TempFolder folder;
    fs::path source;
    for (const auto& entry : fs::directory_iterator(kLoss / "tb_A/both_loss")) {
        source = entry.path();
    }
    const std::string whole = readText(source);
    ASSERT_FALSE(whole.empty());
    SeriesFile intact;
    ASSERT_TRUE(readEvents(source, {}, intact));
    ASSERT_EQ(intact.series.size(), 1u);
    const std::size_t all = intact.series.begin()->second.values.size();
    const fs::path path = folder.path() / "events.out.tfevents.1";
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (const bool cut : { true, false }) {
            std::string damaged = cut ? whole.substr(0, at) : whole;
            if (!cut) {
                damaged[at] = static_cast<char>(~damaged[at]);
            }
            writeText(path, damaged);
            SeriesFile file;
            ASSERT_TRUE(readEvents(path, {}, file));
            const std::size_t left = file.series.empty() ? 0 : file.series.begin()->second.values.size();
            EXPECT_LE(left, all);
            EXPECT_TRUE(left == all || !file.notes.empty() || (cut && left < all)) << at;
            EXPECT_TRUE(cut || !file.notes.empty()) << "damage at byte " << at << " goes unnoticed";
        }
    }
}

TEST(Series, AnyBytesAreSurvived)
{
    std::uint32_t state = 1;
    for (int round = 0; round < 300; ++round) {
        std::string text;
        for (int i = 0; i < 400; ++i) {
            state = state * 1664525u + 1013904223u;
            constexpr std::string_view kPieces = "loss step=:,'\"{}[]\x1b\r\n 0123456789.e+-nainfN/|%\xff";
            text += kPieces[(state >> 16) % kPieces.size()];
        }
        SeriesFile file;
        readConsole(text, file);
        readCsv(text, file);
        readJsonLines(text, file);
        const auto state1 = readTrainerState(text, file);
        EXPECT_FALSE(state1);
        for (const auto& [name, series] : file.series) {
            EXPECT_FALSE(name.empty() && series.values.empty());
        }
    }
}

TEST(Series, ErrorsListWhatIsRead)
{
    TempFolder folder;
    writeText(folder.path() / "prose.txt", "Nothing happened today.\n");
    const auto prose = openSeries(folder.path() / "prose.txt");
    ASSERT_FALSE(prose);
    EXPECT_EQ(prose.error().code, ErrorCode::NotABundle);
    EXPECT_NE(prose.error().message.find("trainer_state.json"), std::string::npos);
    const auto empty = openSeries(folder.path());
    ASSERT_FALSE(empty);
    const auto missing = openSeries(folder.path() / "none");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
}

TEST(Series, BinaryIsRefusedByName)
{
    using namespace std::string_literals;
    const fs::path plain = fs::path(FORKPOINT_TEST_DATA) / "plain", hand = fs::path(FORKPOINT_TEST_DATA) / "hand.forkpoint";
    std::string noise;
    for (std::uint32_t state = 1, i = 0; i < 5000; ++i) {
        state = state * 1664525u + 1013904223u;
        noise += static_cast<char>(state >> 24);
    }
    // A log that goes on behind: the beginning decides, and nothing of it is read as text.
    const std::string log = "step 1 loss 2.5\nstep 2 loss 2.25\n";
    const std::vector<std::pair<std::string, std::string>> files {
        { std::string(kPortableMagic) + log, "a portable comparison" },
        { readText(plain / "checkpoint_A_single/model.pt"), "a ZIP archive or a file of torch.save" },
        { readText(plain / "checkpoint_A_single/legacy_model.pt"), "a file of tensors" },
        { readText(plain / "dcp_hf/shard-00001-model-00001-of-00001.safetensors"), "a file of tensors" },
        { test::zipOf({ { "log.txt", log } }), "a ZIP archive or a file of torch.save" },
        { "\x80\x04\x95" + log, "a pickle" },
        { "\x1f\x8b\x08" + log, "a gzip file" },
        { "\x28\xb5\x2f\xfd" + log, "a zstd file" },
        { "BZh9" + log, "a bzip2 file" },
        { "\xfd" "7zXZ\0"s + log, "an xz file" },
        { "\x89PNG\r\n\x1a\n" + log, "a PNG picture" },
        { "\xff\xd8\xff\xe0" + log, "a JPEG picture" },
        { "%PDF-1.7\n" + log, "a PDF document" },
        { "SQLite format 3\0"s + log, "an SQLite database" },
        { "\x7f" "ELF" + log, "a program or library" },
        { "\x89HDF\r\n" + log, "an HDF5 file" },
        { "PAR1" + log, "a Parquet file" },
        { "\xff\xfes\0t\0e\0p\0"s, "UTF-16 text" },
        { readText(hand / "rank00000/tensors-0000.bin"), "binary data" },
        { noise, "binary data" },
        { log + '\0' + log, "binary data" },
        { "\x01\x02\x03 loss 2.5\n", "binary data" },
    };
    TempFolder folder;
    for (const auto& [content, name] : files) {
        writeText(folder.path() / "file.csv", content);
        const auto refused = openSeries(folder.path() / "file.csv");
        ASSERT_FALSE(refused) << name;
        EXPECT_EQ(refused.error().code, ErrorCode::NotABundle) << name;
        EXPECT_TRUE(refused.error().message.starts_with("is " + name + ", no log. Read are CSV")) << name << ": " << refused.error().message;
    }
    // What a terminal or another language writes is text.
    for (const std::string& text : { "\x1b[1m\x1b[32mstep 1\x1b[0m loss 2.5\n"s, "\r\a\bstep 1 loss 2.5\f\n"s, "Schritt \xfc step 1 loss 2.5\n"s,
                                     "\xe6\xad\xa5 step 1 loss 2.5\n"s, "\xef\xbb\xbfstep,loss\n1,2.5\n"s }) {
        writeText(folder.path() / "log.txt", text);
        EXPECT_EQ(opened(folder.path() / "log.txt").series.at("loss").values.at(1), 2.5);
    }
}

TEST(Series, RanksOfARunAreAveraged)
{
    forkpoint::test::RecordedRun run("run", 2);
    run.rank(0).lossScalar(1).step(1).lossScalar(5);
    run.rank(1).lossScalar(3);
    (void)run.side(); // finishes it
    const auto folder = run.path();
    const auto whole = openSeries(folder);
    ASSERT_TRUE(whole) << whole.error().text();
    EXPECT_EQ(whole->series.at("loss").values, (std::map<std::int32_t, double> { { 0, 2 }, { 1, 5 } }));
    ASSERT_EQ(whole->notes.size(), 1u);
    EXPECT_TRUE(whole->notes.front().starts_with("numbers are the mean over 2 of 2 ranks")) << whole->notes.front();
    const auto one = openSeries(folder.string() + "@1");
    ASSERT_TRUE(one) << one.error().text();
    EXPECT_EQ(one->series.at("loss").values, (std::map<std::int32_t, double> { { 0, 3 } }));
    EXPECT_TRUE(one->notes.empty());
}

TEST(Series, AnArchiveOfARunIsARun)
{
    const auto archive = openSeries(fs::path(FORKPOINT_TEST_DATA) / "archives/hand.forkpoint.zip");
    const auto folder = openSeries(fs::path(FORKPOINT_TEST_DATA) / "hand.forkpoint");
    ASSERT_TRUE(archive) << archive.error().text();
    ASSERT_TRUE(folder) << folder.error().text();
    EXPECT_EQ(archive->format, "recorded run");
    ASSERT_EQ(archive->series.size(), folder->series.size());
    for (const auto& [name, series] : folder->series) {
        EXPECT_EQ(archive->series.at(name).values, series.values) << name;
    }
}

TEST(SeriesOverlay, FindsWhereCurvesPart)
{
    const auto overlays = curves::overlay(opened(kLoss / "loss_A.csv"), opened(kLoss / "loss_B.csv"));
    ASSERT_FALSE(overlays.empty());
    EXPECT_EQ(overlays.front().curve.name, "loss");
    EXPECT_EQ(overlays.front().common, 40u);
    const auto itself = curves::overlay(opened(kLoss / "loss_A.csv"), opened(kLoss / "loss_A.jsonl"));
    for (const auto& it : itself) {
        EXPECT_FALSE(it.curve.onset) << it.curve.name;
        EXPECT_EQ(it.largest, 0) << it.curve.name;
    }
}

TEST(SeriesOverlay, ValuesThatAreNotFiniteAgreeWithTheirOwnKindOnly)
{
    const double nan = std::nan(""), inf = INFINITY;
    const auto parts = [](double a, double b) {
        SeriesFile left, right;
        left.series["loss"].values = { { 0, 1.0 }, { 1, a } };
        right.series["loss"].values = { { 0, 1.0 }, { 1, b } };
        return curves::overlay(left, right, 1e-3).front().curve.onset.has_value();
    };
    for (const double value : { nan, inf, -inf, 2.0 }) {
        EXPECT_FALSE(parts(value, value)) << value;
        for (const double other : { nan, inf, -inf, 2.0 }) {
            const bool same = value == other || (std::isnan(value) && std::isnan(other));
            EXPECT_EQ(parts(value, other), !same) << value << " " << other;
        }
    }
}

TEST(SeriesOverlay, WholeNumbersHaveNoDigitToSpare)
{
    SeriesFile left, right;
    readCsv("step,loss\n0,2\n1,2\n", left);
    readCsv("step,loss\n0,3\n1,3\n", right);
    EXPECT_EQ(curves::overlay(left, right, 1e-3).front().curve.onset, 0);
}

TEST(SeriesOverlay, WrittenDigitsAreNoDifference)
{
    SeriesFile a, b;
    a.series["x"] = { { { 0, 0.482 }, { 1, 0.4 } }, 0.001 };
    b.series["x"] = { { { 0, 0.483 }, { 1, 0.4 } }, 0.001 };
    EXPECT_FALSE(curves::overlay(a, b).front().curve.onset);
    b.series["x"].values[0] = 0.484;
    EXPECT_EQ(curves::overlay(a, b).front().curve.onset, 0);
    b.series["x"].values = { { 0, 0.482 }, { 1, NAN } };
    EXPECT_EQ(curves::overlay(a, b).front().curve.onset, 1);
    a.series["x"].values[1] = NAN; // both: no difference
    EXPECT_FALSE(curves::overlay(a, b).front().curve.onset);
}

} // namespace
} // namespace forkpoint::import
