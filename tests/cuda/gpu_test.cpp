// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "mixtures.h"
#include "reference.h"

#include "core/metrics/backend.h"
#include "core/metrics/chunk_accumulator.h"
#include "core/metrics/cuda_module.h"
#include "core/metrics/cuda_pipeline.h"
#include "core/metrics/scalar_backend.h"
#include "tests/support/cuda_emulation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>

// The GPU itself: against the scalar backend, and bit for bit against the same kernels run on the host.
namespace forkpoint::metrics {
namespace {

using test::mixed;
using test::partner;
using test::TestTensor;

const ForkpointCudaBorder* g_border = nullptr;

struct Accumulated {
    ChunkAccumulator sums;
    HistogramAccumulator histograms;

    PairStatistics statistics(const TestTensor& a, const TestTensor& b) const { return finished(sums, histograms, a.dtype(), b.dtype()); }
};

Accumulated by(CudaPipeline& pipeline, const TestTensor& a, const TestTensor& b, std::span<const std::byte> mask, const MeasureOptions& options)
{
    Accumulated result;
    const auto done = pipeline.accumulate({a.bytes(), b.bytes(), mask, a.dtype(), b.dtype(), 0, options, result.sums, &result.histograms});
    EXPECT_TRUE(done) << done.error().text();
    return result;
}

class Gpu : public ::testing::Test {
protected:
    CudaPipeline gpu{*g_border}, host{test::emulatedCudaBorder()};

    void expectSame(const TestTensor& a, const TestTensor& b, std::span<const std::byte> mask = {}, const MeasureOptions& options = {})
    {
        const PairStatistics got = by(gpu, a, b, mask, options).statistics(a, b);
        Accumulated scalar;
        ASSERT_TRUE(scalarBackend().accumulate(a.bytes(), a.dtype(), b.bytes(), b.dtype(), mask, 0, options, scalar.sums, &scalar.histograms));
        test::expectAgrees(got, scalar.statistics(a, b), 1e-12);
        EXPECT_EQ(test::bitsOf(got), test::bitsOf(by(host, a, b, mask, options).statistics(a, b))) << "the same kernels on the host differ";
        EXPECT_EQ(test::bitsOf(got), test::bitsOf(by(gpu, a, b, mask, options).statistics(a, b))) << "another run gives another result";
    }
};

std::vector<std::byte> someMask(std::int64_t elements, std::mt19937_64& random)
{
    std::vector<std::byte> mask(static_cast<std::size_t>(elements));
    for (std::byte& byte : mask)
        byte = static_cast<std::byte>(random() % 3);
    return mask;
}

class GpuTypes : public Gpu, public ::testing::WithParamInterface<DType> {};
INSTANTIATE_TEST_SUITE_P(Cuda, GpuTypes, ::testing::ValuesIn(test::kAllTypes), [](const auto& type) { return std::string(name(type.param)); });

TEST_P(GpuTypes, mixturesOfEverything)
{
    std::mt19937_64 random(static_cast<unsigned>(GetParam()) + 2000);
    for (int round = 0; round < 12; ++round) {
        SCOPED_TRACE(round);
        const auto elements = static_cast<std::int64_t>(1 + random() % (round < 8 ? 20000 : 300000));
        const TestTensor a = mixed(GetParam(), elements, random);
        TestTensor b = partner(a, GetParam(), random);
        b.shift(static_cast<std::size_t>(round % 4));
        const double rtol = round % 4 == 0 ? 0 : std::pow(10, -static_cast<double>(random() % 7));
        expectSame(a, b, round % 2 == 1 ? someMask(elements, random) : std::vector<std::byte>(), {.rtol = rtol, .atol = rtol * 1e-3});
    }
}

TEST_P(GpuTypes, pairsOfTwoTypes)
{
    std::mt19937_64 random(static_cast<unsigned>(GetParam()) + 2100);
    for (const DType other : test::kAllTypes) {
        if (isComplex(other) != isComplex(GetParam()) || other == GetParam())
            continue;
        SCOPED_TRACE(name(other));
        const TestTensor a = mixed(GetParam(), 9000, random);
        expectSame(a, partner(a, other, random), {}, {.rtol = 1e-3});
    }
}

TEST_P(GpuTypes, sizesAroundEveryEdge)
{
    std::mt19937_64 random(static_cast<unsigned>(GetParam()) + 2200);
    for (const std::int64_t edge : {1, 4, 8, 32, 128, 256, 1024, 2048, 32768, 65536, 131072}) {
        for (const std::int64_t near : {-1, 0, 1}) {
            if (edge + near == 0)
                continue;
            const TestTensor a = mixed(GetParam(), edge + near, random);
            expectSame(a, partner(a, GetParam(), random));
        }
    }
}

/// Many slices, lanes and threads at once; whatever goes on beside, a result repeats.
TEST_F(Gpu, repeatsUnderLoad)
{
    std::mt19937_64 random(5);
    std::vector<TestTensor> a, b;
    std::vector<PairStatistics> expected;
    for (const std::int64_t elements : {std::int64_t{12'000'000}, std::int64_t{100'000}, std::int64_t{900}}) {
        a.push_back(mixed(DType::Float32, elements, random));
        b.push_back(partner(a.back(), DType::Float32, random));
        expectSame(a.back(), b.back());
        expected.push_back(by(gpu, a.back(), b.back(), {}, {}).statistics(a.back(), b.back()));
    }
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < 12; ++thread) {
        threads.emplace_back([&, thread] {
            for (std::size_t i = 0; i < 60; ++i) {
                const std::size_t which = i % 20 == 0 ? 0 : 1 + (thread + i) % 2;
                EXPECT_EQ(test::bitsOf(by(gpu, a[which], b[which], {}, {}).statistics(a[which], b[which])), test::bitsOf(expected[which]));
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
}

TEST_F(Gpu, memoryThatIsNotThereIsAnError)
{
    CudaPipeline greedy(*g_border, {.room = {.slotBytes = std::size_t{1} << 50}});
    std::mt19937_64 random(6);
    const TestTensor a = mixed(DType::Float32, 1000, random), b = partner(a, DType::Float32, random);
    Accumulated result;
    const MeasureOptions options;
    const auto done = greedy.accumulate({a.bytes(), b.bytes(), {}, a.dtype(), b.dtype(), 0, options, result.sums, nullptr});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::Device);
    EXPECT_NE(done.error().message.find("memory"), std::string::npos) << done.error().message;
    expectSame(a, b);
}

class GpuBackend : public ::testing::Test {
protected:
    GpuBackend() { EXPECT_TRUE(selectBackend("cuda")); }
    ~GpuBackend() override { EXPECT_TRUE(selectBackend("")); }
};

TEST_F(GpuBackend, isForcedReportedAndNeverChosenByItself)
{
    std::mt19937_64 random(7);
    TestTensor a = mixed(DType::BFloat16, 3'000'000, random);
    const TestTensor b = partner(a, DType::BFloat16, random);
    a.cutEvery(1'000'000);
    const auto got = measure(a, b);
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(got->backend, "cuda");
    ASSERT_TRUE(selectBackend(""));
    const auto simd = measure(a, b);
    ASSERT_TRUE(simd);
    EXPECT_EQ(simd->backend, "simd");
    test::expectAgrees(*got, *simd, 1e-12);
}

TEST_F(GpuBackend, isCancelledBetweenChunks)
{
    TestTensor a = test::tensorOf(DType::Float32, std::vector<double>(1'000'000, 1.0));
    a.cutEvery(100'000);
    std::stop_source stop;
    a.onRead([&](std::int64_t first) -> std::optional<Error> {
        if (first >= 300'000)
            stop.request_stop();
        return std::nullopt;
    });
    const auto got = measure(a, a, {.threads = 1}, stop.get_token());
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::Cancelled);
}

} // namespace
} // namespace forkpoint::metrics

int main(int argc, char** argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    const auto module = forkpoint::metrics::loadCudaModule(forkpoint::metrics::cudaModulePlaces());
    if (!module) {
        std::printf("skipped: %s\n", module.error().text().c_str());
        return 77;
    }
    std::printf("on %s\n", module->device.c_str());
    forkpoint::metrics::g_border = module->border;
    return RUN_ALL_TESTS();
}
