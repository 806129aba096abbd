// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/sketch.h"
#include "core/tensor/composed_sources.h"
#include "tests/core/bundle/bundle_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <set>

// Sketches, digests and folds: FORMAT.md, section 6.1.
namespace forkpoint::bundle {

namespace {

using namespace test;

template <class T> std::uint64_t fold(const std::vector<T>& values, DType dtype, const TensorRecord& record)
{
    const auto bytes = bytesOf(values);
    const auto source = memorySource(dtype, record.shape, { bytes.begin(), bytes.end() });
    return foldOf(**source, record).value();
}

template <class T> std::uint64_t fold(const std::vector<T>& values, DType dtype)
{
    return fold(values, dtype, record(Phase::Forward, Kind::Output, "m", { std::ssize(values) }, dtype));
}

TEST(Fold, HasTheDocumentedValues)
{
    EXPECT_EQ(splitMix64(0), 0xe220a8397b1dcdafu);
    EXPECT_EQ(fold(std::vector<float> { 1, 2, 3 }, DType::Float32), 0xca58e40d0a400000u);
    EXPECT_EQ(fold(std::vector<double> { 1 }, DType::Float64), 0xdf414ba7c0700000u);
}

TEST(Fold, OfPiecesAddsUpToTheWhole)
{
    std::vector<float> whole(300 * 400);
    std::iota(whole.begin(), whole.end(), -5000.0f);
    auto all = record(Phase::Start, Kind::Param, "m", { 300, 400 });
    const auto expected = fold(whole, DType::Float32, all);
    std::uint64_t sum = 0;
    for (const std::int64_t first : { 0, 150 }) {
        auto piece = record(Phase::Start, Kind::Param, "m", { 300, first == 0 ? 150 : 250 });
        piece.globalShape = { 300, 400 };
        piece.globalOffset = { 0, first };
        std::vector<float> values;
        for (std::int64_t row = 0; row < 300; ++row) {
            for (std::int64_t column = first; column < first + piece.shape[1]; ++column) {
                values.push_back(whole[static_cast<std::size_t>(row * 400 + column)]);
            }
        }
        sum += fold(values, DType::Float32, piece);
    }
    EXPECT_EQ(sum, expected);
    whole[70000] = -whole[70000];
    EXPECT_NE(fold(whole, DType::Float32, all), expected);
}

TEST(Sketch, PositionsAreOnePerStratum)
{
    for (const std::int64_t count : { std::int64_t { 0 }, std::int64_t { 4096 }, std::int64_t { 4097 }, std::int64_t { 1 } << 20, (std::int64_t { 1 } << 33) + 7 }) {
        const auto positions = samplePositions(count);
        ASSERT_EQ(std::ssize(positions), std::min(count, kSamples));
        EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
        EXPECT_EQ(std::set(positions.begin(), positions.end()).size(), positions.size());
        EXPECT_TRUE(positions.empty() || (positions.front() >= 0 && positions.back() < count));
    }
}

TEST(Sketch, PiecesKeepTheSamplesOfTheWhole)
{
    const auto positions = samplePositions(90 * 100);
    std::vector<std::int64_t> seen;
    for (const std::int64_t first : { 0, 33 }) {
        auto piece = record(Phase::Start, Kind::Param, "m", { 90, first == 0 ? 33 : 67 });
        piece.globalShape = { 90, 100 };
        piece.globalOffset = { 0, first };
        for (const auto local : sampleIndices(piece)) {
            seen.push_back(local / piece.shape[1] * 100 + first + local % piece.shape[1]);
        }
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, positions);
}

/// A bundle with one more record, a line of JSON as the recorder writes it.
std::shared_ptr<const Bundle> withLine(const fs::path& below, const std::string& line)
{
    const fs::path folder = makeBundle(below);
    appendText(folder / "rank00000/tensors.jsonl", line + "\n");
    return Bundle::open(folder).value();
}

const std::string kStart = R"({"id":9,"step":0,"micro":0,"phase":"forward","kind":"output","module":"s","order":9,"dtype":"float32",)";

TEST(Sketch, ThatKeepsEveryElementIsReadAsTheTensor)
{
    TempFolder temp; // its three elements lie where those of fc do: 5 6 7
    const auto bundle = withLine(temp.path(),
                                 kStart + fmt::format(R"("shape":[3],"detail":"sketch","fold":"{:016x}","sketch":{{"samples":3,"zeros":0,"file":"tensors-0000.bin","offset":64}}}})",
                                                      fold(std::vector<float> { 5, 6, 7 }, DType::Float32)));
    ASSERT_EQ(problemsText(bundle->problems()), "");
    const auto& rank = bundle->ranks().front();
    const auto& sketch = rank.tensors.back();
    EXPECT_EQ(sketch.detail, Detail::Sketch);
    EXPECT_FALSE(sketch.digest);
    EXPECT_EQ(valuesOf<float>(*bundle, rank, sketch), (std::vector<float> { 5, 6, 7 }));
    const auto report = verify(*bundle).value();
    EXPECT_EQ(report.checked, 4);
    EXPECT_EQ(problemsText(report.problems), "");
}

TEST(Sketch, WithChangedElementsIsReported)
{
    TempFolder temp;
    const auto bundle = withLine(temp.path(), kStart + R"("shape":[3],"detail":"sketch","fold":"0000000000000001","sketch":{"samples":3,"file":"tensors-0000.bin","offset":64}})");
    const auto report = verify(*bundle).value();
    EXPECT_EQ(report.checked, 3);
    EXPECT_NE(problemsText(report.problems).find("do not have the fold"), std::string::npos);
}

TEST(Sketch, OfALargeTensorHasSamplesButNoBytes)
{
    TempFolder temp;
    const fs::path folder = makeBundle(temp.path());
    std::vector<float> samples(static_cast<std::size_t>(kSamples), 3.5f);
    const auto bytes = bytesOf(samples);
    appendText(folder / "rank00000/tensors-0000.bin", std::string(256 - 144, '\0') + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    appendText(folder / "rank00000/tensors.jsonl",
               kStart
                   + R"("shape":[100,100],"detail":"sketch","fold":"00000000000000ff","stats":{"min":0,"max":1,"mean":0.5,"l2":1,"nan":0,"inf":0},)"
                     R"("sketch":{"samples":4096,"zeros":2,"exponents":{"first":-3,"counts":[9998]},"file":"tensors-0000.bin","offset":256}})"
                   + "\n");
    const auto bundle = Bundle::open(folder).value();
    ASSERT_EQ(problemsText(bundle->problems()), "");
    const auto& rank = bundle->ranks().front();
    const auto& sketch = rank.tensors.back();
    EXPECT_EQ(sketch.fold, 255u);
    EXPECT_EQ((std::tuple { sketch.sketch->zeros, sketch.sketch->firstExponent, sketch.sketch->exponentCounts }), (std::tuple { 2, -3, std::vector<std::int64_t> { 9998 } }));
    const auto whole = bundle->source(rank, sketch);
    ASSERT_FALSE(whole);
    EXPECT_NE(whole.error().message.find("only a sketch was recorded"), std::string::npos);
    const auto kept = bundle->samples(rank, sketch).value();
    EXPECT_EQ(kept->shape(), Shape { kSamples });
    EXPECT_EQ(verify(*bundle).value().problems.size(), 0u);
}

TEST(Sketch, WithLiesIsReadWithoutItsSamples)
{
    const std::pair<std::string, std::string> lies[] = {
        { R"("shape":[3],"detail":"sketch","fold":"00000000000000ff","sketch":{"samples":2,"file":"tensors-0000.bin","offset":64}})", "has 2 samples" },
        { R"("shape":[3],"detail":"sketch","fold":"00000000000000ff","sketch":{"samples":3,"file":"tensors-0000.bin","offset":13}})", "not a multiple of 64" },
        { R"("shape":[3],"detail":"sketch","fold":"00000000000000ff","sketch":{"samples":3,"file":"../x","offset":0}})", "no plain file name" },
        { R"("shape":[3],"detail":"sketch","fold":"00000000000000ff","sketch":{"samples":3,"file":"tensors-0000.bin","offset":6400}})", "tensors-0000.bin" },
    };
    for (const auto& [line, said] : lies) {
        TempFolder temp;
        const auto bundle = withLine(temp.path(), kStart + line);
        EXPECT_NE(problemsText(bundle->problems()).find(said), std::string::npos) << problemsText(bundle->problems());
        ASSERT_EQ(bundle->ranks().front().tensors.size(), 4u);
        EXPECT_FALSE(bundle->ranks().front().tensors.back().bytes);
        EXPECT_FALSE(bundle->samples(bundle->ranks().front(), bundle->ranks().front().tensors.back()));
    }
    for (const std::string line : { R"("shape":[3],"detail":"sketch","fold":"xyz","sketch":{"samples":3}})", R"("shape":[3],"detail":"sketch","fold":"00000000000000ff"})",
                                    R"("shape":[3],"detail":"fold"})", R"("shape":[3],"detail":"digest","fold":"00000000000000ff"})", R"("shape":[3],"detail":"guess"})" }) {
        TempFolder temp;
        const auto bundle = withLine(temp.path(), kStart + line);
        EXPECT_EQ(bundle->ranks().front().tensors.size(), 3u) << line;
        EXPECT_EQ(bundle->problems().size(), 1u) << line;
    }
}

TEST(SameBits, ByDigestElseByFold)
{
    auto a = record(Phase::Start, Kind::Param, "m", { 2 }), b = a;
    EXPECT_EQ(sameBits(a, b), std::nullopt);
    a.fold = b.fold = 1;
    EXPECT_EQ(sameBits(a, b), true);
    b.fold = 2;
    EXPECT_EQ(sameBits(a, b), false);
    a.digest = b.digest = Digest { 1 };
    EXPECT_EQ(sameBits(a, b), true);
    b.dtype = DType::Int32;
    EXPECT_EQ(sameBits(a, b), std::nullopt);
    b = a;
    b.digest.reset();
    b.globalShape = { 4 };
    EXPECT_EQ(sameBits(a, b), std::nullopt) << "it lies elsewhere in its whole";
}

} // namespace

} // namespace forkpoint::bundle
