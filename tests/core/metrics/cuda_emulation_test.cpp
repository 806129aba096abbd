// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "mixtures.h"
#include "reference.h"

#include "core/metrics/chunk_accumulator.h"
#include "core/metrics/cuda/thread_scan.h"
#include "core/metrics/cuda_module.h"
#include "core/metrics/cuda_pipeline.h"
#include "core/metrics/scalar_backend.h"
#include "tests/support/cuda_emulation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <thread>

// What a GPU runs, run here: the text of the kernels through the pipeline, on a border without a GPU, against the scalar backend.
namespace forkpoint::metrics {
namespace {

using cuda::kTileParts;
using test::mixed;
using test::partner;
using test::TestTensor;

CudaPipeline::Limits smallSlots()
{
    return {.room = {.slotBytes = std::size_t{3} << 19, .partials = 5, .entries = 40}, .lanes = 2, .smallBytes = 1u << 14};
}

PairStatistics byScalar(const TestTensor& a, const TestTensor& b, std::span<const std::byte> mask, const MeasureOptions& options)
{
    ChunkAccumulator sums;
    HistogramAccumulator histograms;
    EXPECT_TRUE(scalarBackend().accumulate(a.bytes(), a.dtype(), b.bytes(), b.dtype(), mask, 0, options, sums, &histograms));
    return finished(sums, histograms, a.dtype(), b.dtype());
}

PairStatistics byPipeline(CudaPipeline& pipeline, const TestTensor& a, const TestTensor& b, std::span<const std::byte> mask,
                          const MeasureOptions& options)
{
    ChunkAccumulator sums;
    HistogramAccumulator histograms;
    const auto done = pipeline.accumulate({a.bytes(), b.bytes(), mask, a.dtype(), b.dtype(), 0, options, sums, &histograms});
    EXPECT_TRUE(done) << done.error().text();
    return finished(sums, histograms, a.dtype(), b.dtype());
}

void expectSame(CudaPipeline& pipeline, const TestTensor& a, const TestTensor& b, std::span<const std::byte> mask = {},
                const MeasureOptions& options = {})
{
    const PairStatistics got = byPipeline(pipeline, a, b, mask, options);
    test::expectAgrees(got, byScalar(a, b, mask, options), 1e-12);
    EXPECT_EQ(test::bitsOf(got), test::bitsOf(byPipeline(pipeline, a, b, mask, options))) << "another run gives another result";
}

std::vector<std::byte> someMask(std::int64_t elements, std::mt19937_64& random)
{
    std::vector<std::byte> mask(static_cast<std::size_t>(elements));
    for (std::byte& byte : mask)
        byte = static_cast<std::byte>(random() % 3);
    return mask;
}

class CudaEmulation : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Metrics, CudaEmulation, ::testing::ValuesIn(test::kAllTypes), [](const auto& type) { return std::string(name(type.param)); });

TEST_P(CudaEmulation, mixturesOfEverything)
{
    std::mt19937_64 random(static_cast<unsigned>(GetParam()) + 1000);
    CudaPipeline pipeline(test::emulatedCudaBorder());
    for (int round = 0; round < 8; ++round) {
        SCOPED_TRACE(round);
        const auto elements = static_cast<std::int64_t>(1 + random() % (round < 6 ? 9000 : 90000));
        const TestTensor a = mixed(GetParam(), elements, random);
        TestTensor b = partner(a, GetParam(), random);
        b.shift(round % 4);
        const double rtol = round % 4 == 0 ? 0 : std::pow(10, -static_cast<double>(random() % 7));
        std::vector<std::byte> mask;
        if (round % 2 == 1)
            mask = someMask(elements, random);
        expectSame(pipeline, a, b, mask, {.rtol = rtol, .atol = rtol * 1e-3});
    }
}

TEST_P(CudaEmulation, pairsOfTwoTypes)
{
    std::mt19937_64 random(static_cast<unsigned>(GetParam()) + 1100);
    CudaPipeline pipeline(test::emulatedCudaBorder());
    for (const DType other : test::kAllTypes) {
        if (isComplex(other) != isComplex(GetParam()) || other == GetParam())
            continue;
        SCOPED_TRACE(name(other));
        const TestTensor a = mixed(GetParam(), 3000, random);
        expectSame(pipeline, a, partner(a, other, random), random() % 2 == 0 ? std::vector<std::byte>() : someMask(3000, random), {.rtol = 1e-3});
    }
}

/// Sizes around a packet, a warp and a block, and around a tile, which is also where slices part.
TEST_P(CudaEmulation, sizesAroundEveryEdge)
{
    std::mt19937_64 random(static_cast<unsigned>(GetParam()) + 1200);
    CudaPipeline pipeline(test::emulatedCudaBorder(), smallSlots());
    const auto parts = static_cast<std::int64_t>(kTileParts) / test::partsOfElement(GetParam());
    std::vector<std::int64_t> sizes;
    for (std::int64_t elements = 1; elements <= 20; ++elements)
        sizes.push_back(elements);
    for (const std::int64_t edge : {std::int64_t{128}, std::int64_t{1024}, std::int64_t{2048}, std::int64_t{4096}, parts}) {
        for (const std::int64_t near : {-1, 0, 1})
            sizes.push_back(edge + near);
    }
    for (const std::int64_t elements : sizes) {
        SCOPED_TRACE(elements);
        const TestTensor a = mixed(GetParam(), elements, random);
        expectSame(pipeline, a, partner(a, GetParam(), random));
    }
}

/// More slices than slots, and more tiles than a lane has room for.
TEST(CudaEmulation, manySlices)
{
    std::mt19937_64 random(7);
    auto& record = test::freshEmulatedCuda();
    CudaPipeline pipeline(test::emulatedCudaBorder(), smallSlots());
    const auto elements = static_cast<std::int64_t>(kTileParts) * 13 + 77;
    for (const DType dtype : {DType::Float32, DType::BFloat16}) {
        const TestTensor a = mixed(dtype, elements, random);
        const std::vector<std::byte> mask = someMask(elements, random);
        const TestTensor b = partner(a, dtype, random);
        test::expectAgrees(byPipeline(pipeline, a, b, mask, {}), byScalar(a, b, mask, {}), 1e-12);
    }
    EXPECT_GE(record.uploads, 8);
    EXPECT_GE(record.finishes, 4);
    EXPECT_EQ(record.mostLanes, 1);
}

/// The lowest index wins, whichever thread, warp or tile it belongs to.
TEST(CudaEmulation, tiesGoToTheLowestIndex)
{
    CudaPipeline pipeline(test::emulatedCudaBorder());
    for (const DType dtype : {DType::Float32, DType::BFloat16, DType::Float64, DType::Int8}) {
        for (const std::size_t first : {0u, 3u, 4u, 127u, 1023u, 1024u, 8191u, 65535u, 65536u, 65537u, 69000u}) {
            std::vector<double> a(70000, 2.0), b(70000, 2.0);
            for (std::size_t i = first; i < a.size(); i += 7)
                b[i] = 3.0;
            const PairStatistics got = byPipeline(pipeline, test::tensorOf(dtype, a), test::tensorOf(dtype, b), {}, {});
            EXPECT_EQ(got.maxAbs.index, static_cast<std::int64_t>(first));
            EXPECT_EQ(got.maxRel.index, static_cast<std::int64_t>(first));
            EXPECT_EQ(got.maxRel.value, 1.0 / 3);
            EXPECT_EQ(got.maxAbs.b, 3);
        }
    }
}

/// B = s A: the residual is nothing but rounding, and only a second look finds it. And data around a mean far from 0.
TEST(CudaEmulation, whatCancels)
{
    CudaPipeline pipeline(test::emulatedCudaBorder());
    std::vector<double> a = test::normalNumbers(100000, 3), scaled = a, far = a, near = a;
    for (std::size_t i = 0; i < a.size(); ++i) {
        scaled[i] = 0.7 * a[i];
        far[i] = 1000 + 1e-3 * a[i];
        near[i] = std::nextafter(static_cast<float>(far[i]), 0.0f);
    }
    for (const DType dtype : {DType::Float32, DType::Float64}) {
        const TestTensor x = test::tensorOf(dtype, a), y = test::tensorOf(dtype, scaled);
        const PairStatistics got = byPipeline(pipeline, x, y, {}, {}), expected = byScalar(x, y, {}, {});
        const double drift = expected.diffNorm / expected.normB;
        EXPECT_NEAR(got.scaleResidual, expected.scaleResidual, 1e-9 * expected.scaleResidual + 2e-15 * drift); // from the sums alone: 1e-8
        expectSame(pipeline, test::tensorOf(dtype, far), test::tensorOf(dtype, near));
    }
}

TEST(CudaEmulation, thirdsHaveNoDeviation)
{
    CudaPipeline pipeline(test::emulatedCudaBorder());
    const TestTensor a = test::tensorOf(DType::Float64, std::vector<double>(100000, 1.0 / 3));
    const PairStatistics got = byPipeline(pipeline, a, a, {}, {});
    EXPECT_EQ(got.a.std, 0);
    EXPECT_EQ(got.a.mean, 1.0 / 3);
}

/// Tensors of many types that wait for the device at the same time go there together; what they get does not depend on it.
TEST(CudaEmulation, smallOnesShareALaunch)
{
    constexpr std::size_t kTensors = 30;
    std::mt19937_64 random(8);
    auto& record = test::freshEmulatedCuda();
    CudaPipeline pipeline(test::emulatedCudaBorder(), {.room = {.slotBytes = std::size_t{3} << 19, .partials = 64, .entries = 40}, .lanes = 2,
                                                       .smallBytes = 1u << 16});
    std::vector<TestTensor> a, b;
    std::vector<PairStatistics> alone, together(kTensors);
    for (std::size_t i = 0; i < kTensors; ++i) {
        a.push_back(mixed(test::kAllTypes[i % 4], static_cast<std::int64_t>(1 + random() % 1000), random));
        b.push_back(partner(a.back(), a.back().dtype(), random));
        alone.push_back(byPipeline(pipeline, a[i], b[i], {}, {}));
    }
    EXPECT_EQ(record.mostEntries, 1u);
    record.launches = 0;
    // The first launch ends once all others wait for the second.
    bool held = false;
    record.onCall = [&](const std::string& function) {
        if (function == "begin" && !held) {
            held = true;
            while (pipeline.waiting() < kTensors - 1)
                std::this_thread::yield();
        }
        return std::string();
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kTensors; ++i)
        threads.emplace_back([&, i] { together[i] = byPipeline(pipeline, a[i], b[i], {}, {}); });
    for (std::thread& thread : threads)
        thread.join();
    for (std::size_t i = 0; i < kTensors; ++i)
        EXPECT_EQ(test::bitsOf(together[i]), test::bitsOf(alone[i])) << i;
    EXPECT_EQ(record.mostEntries, kTensors - 1);
    EXPECT_LE(record.launches, 5) << "one for the first, one for each of four types";
    record.onCall = nullptr;
}

/// Whatever fails, it is said, with the driver's words, and the next request gets a new lane.
TEST(CudaEmulation, everyFailureIsAnError)
{
    std::mt19937_64 random(9);
    for (const std::int64_t elements : {std::int64_t{100}, std::int64_t{500000}}) {
        const TestTensor a = mixed(DType::Float32, elements, random), b = partner(a, DType::Float32, random);
        for (const std::string failing : {"open", "begin", "wait_slot", "upload", "run", "finish"}) {
            SCOPED_TRACE(failing);
            auto& record = test::freshEmulatedCuda();
            {
                CudaPipeline pipeline(test::emulatedCudaBorder(), smallSlots());
                record.onCall = [&](const std::string& function) { return function == failing ? "an illegal memory access" : std::string(); };
                ChunkAccumulator sums;
                const MeasureOptions options;
                const auto done = pipeline.accumulate({a.bytes(), b.bytes(), {}, a.dtype(), b.dtype(), 0, options, sums, nullptr});
                ASSERT_FALSE(done);
                EXPECT_EQ(done.error().code, ErrorCode::Device);
                EXPECT_NE(done.error().message.find("an illegal memory access"), std::string::npos) << done.error().message;
                EXPECT_EQ(record.lanes, 0);
                record.onCall = nullptr;
                test::expectAgrees(byPipeline(pipeline, a, b, {}, {}), byScalar(a, b, {}, {}), 1e-12);
            }
            EXPECT_EQ(record.lanes, 0);
        }
    }
}

TEST(CudaEmulation, lanesAreLimited)
{
    std::mt19937_64 random(10);
    auto& record = test::freshEmulatedCuda();
    CudaPipeline pipeline(test::emulatedCudaBorder(), smallSlots());
    const TestTensor a = mixed(DType::Float32, 70000, random), b = partner(a, DType::Float32, random);
    const PairStatistics expected = byPipeline(pipeline, a, b, {}, {});
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i)
        threads.emplace_back([&] { EXPECT_EQ(test::bitsOf(byPipeline(pipeline, a, b, {}, {})), test::bitsOf(expected)); });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_LE(record.mostLanes, 2);
}

TEST(CudaModule, isRefusedWithTheReason)
{
    const auto expectRefused = [](const Result<CudaModule>& got, const std::string& reason) {
        ASSERT_FALSE(got);
        EXPECT_EQ(got.error().code, ErrorCode::Unsupported);
        EXPECT_NE(got.error().message.find(reason), std::string::npos) << got.error().message;
    };
    const std::filesystem::path folder = ::testing::TempDir();
    expectRefused(loadCudaModule({folder / "nothing.so"}), "there is no CUDA module");
    const auto text = folder / "forkpoint_text.so";
    std::ofstream(text) << "not a library";
    expectRefused(loadCudaModule({folder / "nothing.so", text}), "cannot be loaded");
    std::filesystem::remove(text);

    ForkpointCudaBorder border = test::emulatedCudaBorder();
    border.version = 77;
    expectRefused(checkedCudaModule(border), "another build");
    border = test::emulatedCudaBorder();
    border.layout += 1;
    expectRefused(checkedCudaModule(border), "another build");
    auto& record = test::freshEmulatedCuda();
    record.onCall = [](const std::string&) { return std::string("no NVIDIA driver is installed"); };
    expectRefused(checkedCudaModule(test::emulatedCudaBorder()), "no NVIDIA driver");
    record.onCall = nullptr;
    const auto got = checkedCudaModule(test::emulatedCudaBorder());
    ASSERT_TRUE(got);
    EXPECT_EQ(got->device, "a GPU made of loops");
    for (const std::filesystem::path& place : cudaModulePlaces())
        EXPECT_EQ(place.filename(), FORKPOINT_CUDA_MODULE);
    EXPECT_EQ(cudaModulePlaces().size(), 2u);
}

} // namespace
} // namespace forkpoint::metrics
