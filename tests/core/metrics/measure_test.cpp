// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "implementations.h"
#include "reference.h"

#include "core/metrics/backend.h"
#include "core/tensor/composed_sources.h"

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

namespace forkpoint::metrics {
namespace {

using test::TestTensor;
using test::tensorOf;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// By the backend that is chosen.
PairStatistics measuredOnce(const TestTensor& a, const TestTensor& b, const MeasureOptions& options)
{
    const auto result = measure(a, b, options);
    if (!result) {
        ADD_FAILURE() << result.error().text();
        return {};
    }
    return *result;
}

/// By the scalar backend; the others must agree.
PairStatistics measured(const TestTensor& a, const TestTensor& b, const MeasureOptions& options = {})
{
    EXPECT_TRUE(selectBackend("scalar"));
    const PairStatistics expected = measuredOnce(a, b, options);
    test::withEachImplementation([&](const test::Implementation& by) {
        const PairStatistics got = measuredOnce(a, b, options);
        EXPECT_EQ(got.backend, by.backend);
        test::expectAgrees(got, expected);
    });
    return expected;
}

void expectAsReference(const TestTensor& a, const TestTensor& b, const MeasureOptions& options = {})
{
    const PairStatistics expected = test::referenceStatistics(a, b, nullptr, options);
    test::withEachImplementation([&](const test::Implementation&) { test::expectAgrees(measuredOnce(a, b, options), expected); });
}

/// `tensor` with the lowest bits of a third of its numbers changed: what rounding elsewhere does.
TestTensor jittered(TestTensor tensor, unsigned seed)
{
    std::mt19937_64 random(seed);
    const std::size_t size = test::bytesOfPart(tensor.dtype());
    for (std::size_t i = 0; i < tensor.bytes().size(); i += size) {
        if (random() % 3 == 0)
            tensor.bytes()[i] ^= static_cast<std::byte>(1 + random() % (tensor.dtype() == DType::Bool ? 1 : 3));
    }
    return tensor;
}

/// Numbers that fill the range in which training happens, in any type.
TestTensor ordinary(DType dtype, std::int64_t elements, unsigned seed)
{
    const double scale = isInteger(dtype) ? 40 : 1.5;
    return tensorOf(dtype, test::normalNumbers(static_cast<std::size_t>(elements * test::partsOfElement(dtype)), seed, scale));
}

constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 255, 256, 257, 511, 512, 513, 1000, 4095, 4096, 4097};
constexpr std::int64_t kLargeSizes[] = {65535, 65536, 65537, 131072, 150001};

class EveryType : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Measure, EveryType, ::testing::ValuesIn(test::kAllTypes),
                         [](const auto& type) { return std::string(name(type.param)); });

TEST_P(EveryType, sizesAroundBlockEdges)
{
    unsigned seed = 1;
    for (const std::int64_t size : kSizes) {
        SCOPED_TRACE(size);
        const TestTensor a = ordinary(GetParam(), size, ++seed);
        expectAsReference(a, jittered(a, ++seed));
    }
}

TEST_P(EveryType, largeSizesInManyChunks)
{
    unsigned seed = 100;
    for (const std::int64_t size : kLargeSizes) {
        SCOPED_TRACE(size);
        TestTensor a = ordinary(GetParam(), size, ++seed);
        TestTensor b = jittered(a, ++seed);
        a.cutEvery(1000); // not a multiple of the block
        expectAsReference(a, b);
    }
}

TEST_P(EveryType, everyBitPattern)
{
    for (const std::int64_t size : {5, 300, 20000}) {
        SCOPED_TRACE(size);
        const TestTensor a = test::randomBits(GetParam(), size, 11);
        const TestTensor b = test::randomBits(GetParam(), size, 12);
        expectAsReference(a, b);
        expectAsReference(a, a);
        expectAsReference(a, jittered(a, 13));
    }
}

TEST_P(EveryType, anyAlignment)
{
    const TestTensor a = ordinary(GetParam(), 1000, 21);
    const TestTensor b = jittered(a, 22);
    test::withEachImplementation([&](const test::Implementation&) {
        const auto expected = test::bitsOf(measuredOnce(a, b, {}));
        for (std::size_t shift = 1; shift < 16; ++shift) {
            TestTensor shiftedA = a, shiftedB = b;
            shiftedA.shift(shift);
            shiftedB.shift(16 - shift);
            EXPECT_EQ(test::bitsOf(measuredOnce(shiftedA, shiftedB, {})), expected) << shift;
        }
    });
}

TEST_P(EveryType, masks)
{
    std::mt19937 random(31);
    for (const std::int64_t size : {1, 255, 256, 257, 3000}) {
        const TestTensor a = test::randomBits(GetParam(), size, 32);
        const TestTensor b = jittered(a, 33);
        for (const unsigned keep : {0u, 1u, 50u, 99u, 100u}) {
            SCOPED_TRACE(std::to_string(size) + " elements, " + std::to_string(keep) + " % kept");
            std::vector<std::byte> bytes(static_cast<std::size_t>(size));
            for (std::byte& byte : bytes)
                byte = static_cast<std::byte>(random() % 100 < keep ? 1 + random() % 255 : 0);
            const TestTensor mask(keep % 2 == 0 ? DType::UInt8 : DType::Bool, {size}, bytes);
            const PairStatistics expected = test::referenceStatistics(a, b, &mask, {});
            test::withEachImplementation([&](const test::Implementation&) {
                const auto got = measureMasked(a, b, mask);
                ASSERT_TRUE(got) << got.error().text();
                test::expectAgrees(*got, expected);
            });
        }
    }
}

TEST_P(EveryType, identicalTensors)
{
    const TestTensor a = ordinary(GetParam(), 5000, 41);
    const PairStatistics same = measured(a, a);
    EXPECT_EQ(same.count, 5000 * test::partsOfElement(GetParam()));
    EXPECT_EQ(same.bitEqual, same.count);
    EXPECT_EQ(same.finite, same.count);
    EXPECT_EQ(same.allcloseViolations, 0);
    EXPECT_EQ(same.maxAbs.value, 0);
    EXPECT_EQ(same.maxAbs.index, 0);
    EXPECT_EQ(same.maxRel.index, 0);
    EXPECT_EQ(same.a, same.b);
    for (const double zero :
         {same.meanAbs, same.meanDiff, same.rmse, same.diffNorm, same.relL2, same.relLinf, same.scaleResidual, same.factorZ, same.biasZ})
        EXPECT_EQ(zero, 0);
    for (const double one : {same.cosine, same.normRatio, same.bestScale})
        EXPECT_EQ(one, 1);
}

TEST_P(EveryType, everyOtherType)
{
    for (const DType other : test::kAllTypes) {
        SCOPED_TRACE(name(other));
        const TestTensor a = ordinary(GetParam(), 3000, 51);
        const TestTensor b = ordinary(other, 3000, 51); // the same numbers, rounded to that type
        if (isComplex(GetParam()) != isComplex(other)) {
            const auto result = measure(a, b);
            ASSERT_FALSE(result);
            EXPECT_EQ(result.error().code, ErrorCode::Usage);
            continue;
        }
        expectAsReference(a, b);
        expectAsReference(test::randomBits(GetParam(), 2000, 52), test::randomBits(other, 2000, 53));
    }
}

TEST_P(EveryType, resultsDoNotDependOnThreads)
{
    TestTensor a = test::randomBits(GetParam(), 60000, 61);
    const TestTensor b = jittered(a, 62);
    a.cutEvery(777);
    const oneapi::tbb::global_control more(oneapi::tbb::global_control::max_allowed_parallelism, 8); // also where there are two cores
    test::withEachImplementation([&](const test::Implementation&) {
        const auto expected = test::bitsOf(measuredOnce(a, b, {.threads = 1}));
        for (const int threads : {0, 2, 3, 4, 7}) {
            for (int repeat = 0; repeat < 2; ++repeat)
                ASSERT_EQ(test::bitsOf(measuredOnce(a, b, {.threads = threads})), expected) << threads << " threads";
        }
    });
}

TEST(Measure, emptyTensorsGiveTheNeutralResult)
{
    for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{4, 0, 2}}) {
        for (const DType dtype : test::kAllTypes) {
            const TestTensor empty(dtype, shape, {});
            PairStatistics result = measured(empty, empty);
            EXPECT_FALSE(result.backend.empty());
            result.backend = {};
            EXPECT_EQ(result, PairStatistics{});
            test::expectNoNan(result);
        }
    }
    EXPECT_TRUE(measure(TestTensor(DType::Float32, {0}, {}), TestTensor(DType::Float32, {3, 0}, {})));
}

TEST(Measure, zeroDimensionalTensorsHaveOneElement)
{
    TestTensor a = tensorOf(DType::Float64, {4}), b = tensorOf(DType::Float64, {5});
    a = TestTensor(DType::Float64, {}, {a.bytes().begin(), a.bytes().end()});
    b = TestTensor(DType::Float64, {}, {b.bytes().begin(), b.bytes().end()});
    const PairStatistics result = measured(a, b);
    EXPECT_EQ(result.count, 1);
    EXPECT_EQ(result.maxAbs.value, 1);
    EXPECT_EQ(result.maxAbs.index, 0);
    EXPECT_EQ(result.maxRel.value, 0.2);
    EXPECT_EQ(result.bestScale, 1.25);
    EXPECT_EQ(result.scaleResidual, 0);
    EXPECT_EQ(result.a.std, 0);
}

TEST(Measure, nothingFiniteIsNoNanEither)
{
    const TestTensor a = tensorOf(DType::Float32, {kNan, kInf, -kInf, kNan, 1});
    const TestTensor b = tensorOf(DType::Float32, {kNan, kInf, kInf, 1, -kInf});
    const PairStatistics result = measured(a, b);
    test::expectNoNan(result);
    EXPECT_EQ(result.finite, 0);
    EXPECT_EQ(result.nanBoth, 1);
    EXPECT_EQ(result.infBothEqual, 1);
    EXPECT_EQ(result.allcloseViolations, 4);
    EXPECT_EQ(result.maxAbs.index, -1);
    EXPECT_EQ(result.cosine, 1);
    EXPECT_EQ(result.a.norm, 1); // its own finite elements
    EXPECT_EQ(result.a.max, 1);
    EXPECT_EQ(result.normA, 0); // over finite pairs
}

TEST(Measure, nanAndInfinityHideNoOtherError)
{
    std::vector<double> a(1000, 1.0);
    std::vector<double> b = a;
    b[0] = kNan;
    b[300] = kInf;
    a[301] = -kInf;
    b[700] = 1.5;
    b[900] = 1.25;
    for (const DType dtype : {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16}) {
        const PairStatistics result = measured(tensorOf(dtype, a), tensorOf(dtype, b));
        EXPECT_EQ(result.finite, 997);
        EXPECT_EQ(result.maxAbs.value, 0.5);
        EXPECT_EQ(result.maxAbs.index, 700);
        EXPECT_EQ(result.maxRel.index, 700);
        EXPECT_EQ(result.diffNorm, std::sqrt(0.25 + 0.0625));
        EXPECT_EQ(result.allcloseViolations, 5);
        EXPECT_EQ(result.b.nan, 1);
        EXPECT_EQ(result.b.positiveInf, 1);
        EXPECT_EQ(result.a.negativeInf, 1);
        EXPECT_EQ(result.bitEqual, 995);
    }
}

TEST(Measure, equalityIsThatOfBitsWithinATypeAndOfValuesAcross)
{
    const std::vector<double> numbers = {0.0, -0.0, kNan, kInf, 1.5};
    TestTensor a = tensorOf(DType::Float32, numbers);
    TestTensor b = tensorOf(DType::Float32, {-0.0, -0.0, kNan, kInf, 1.5});
    EXPECT_EQ(measured(a, b).bitEqual, 4); // the same NaN is equal, +0 and -0 are not
    b.bytes()[8] ^= std::byte{1};          // another payload
    EXPECT_EQ(measured(a, b).bitEqual, 3);
    EXPECT_EQ(measured(a, b).nanBoth, 1);
    EXPECT_EQ(measured(a, b).zeroMismatch, 0);
    EXPECT_EQ(measured(a, tensorOf(DType::Float64, {-0.0, 0.0, kNan, kInf, 1.5})).bitEqual, 4); // NaN is no value
    EXPECT_EQ(measured(tensorOf(DType::Float16, numbers), tensorOf(DType::BFloat16, numbers)).bitEqual, 4);
    EXPECT_EQ(measured(tensorOf(DType::Int32, {1, 2, 3}), tensorOf(DType::Float32, {1, 2, 4})).bitEqual, 2);
    EXPECT_EQ(measured(tensorOf(DType::Int64, {1, 0, 3}), tensorOf(DType::Bool, {1, 0, 1})).bitEqual, 2);
}

TEST(Measure, anyByteButZeroIsTrue)
{
    const TestTensor a(DType::Bool, {3}, {std::byte{1}, std::byte{2}, std::byte{0}});
    const TestTensor b(DType::Bool, {3}, {std::byte{1}, std::byte{255}, std::byte{1}});
    const PairStatistics result = measured(a, b);
    EXPECT_EQ(result.diffNorm, 1);
    EXPECT_EQ(result.maxAbs.index, 2);
    EXPECT_EQ(result.bitEqual, 1);
    EXPECT_EQ(result.zeroMismatch, 1);
}

TEST(Measure, tiesGoToTheLowestIndexAcrossBlocksAndChunks)
{
    std::vector<double> a(2000, 2.0), b(2000, 2.0);
    for (const std::size_t index : {300, 299, 700, 1999})
        b[index] = 3.0;
    for (const std::int64_t cut : {0, 1, 7, 256, 299, 300, 1000}) {
        for (const int threads : {1, 4}) {
            TestTensor tensor = tensorOf(DType::Float32, a);
            tensor.cutEvery(cut);
            const PairStatistics result = measured(tensor, tensorOf(DType::Float32, b), {.threads = threads});
            EXPECT_EQ(result.maxAbs.index, 299);
            EXPECT_EQ(result.maxRel.index, 299);
            EXPECT_EQ(result.maxRel.a, 2);
            EXPECT_EQ(result.maxRel.b, 3);
        }
    }
}

TEST(Measure, complexElementsCountTwiceAndAreIndexedOnce)
{
    const TestTensor a = tensorOf(DType::Complex64, {1, 2, 3, 4, 5, 6});
    const TestTensor b = tensorOf(DType::Complex64, {1, 2, 3, 5, 5, kNan});
    const PairStatistics result = measured(a, b);
    EXPECT_EQ(result.count, 6);
    EXPECT_EQ(result.finite, 5);
    EXPECT_EQ(result.maxAbs.index, 1);
    EXPECT_EQ(result.maxAbs.a, 4);
    EXPECT_EQ(result.bitEqual, 4);
}

TEST(Measure, finiteFloat32NeverGivesInfinity)
{
    const std::vector<double> a(1000, FLT_MAX), b(1000, -FLT_MAX);
    const PairStatistics result = measured(tensorOf(DType::Float32, a), tensorOf(DType::Float32, b));
    test::expectNoNan(result);
    EXPECT_EQ(result.maxAbs.value, 2.0 * FLT_MAX);
    EXPECT_EQ(result.maxRel.value, 2);
    EXPECT_EQ(result.relLinf, 2);
    EXPECT_NEAR(result.relL2, 2, 1e-15);
    EXPECT_NEAR(result.cosine, -1, 1e-15);
    EXPECT_EQ(result.bestScale, -1);
}

TEST(Measure, float64KeepsItsDigitsAtBothEndsOfTheRange)
{
    const std::vector<double> numbers = test::normalNumbers(5000, 71);
    const std::vector<double> noise = test::normalNumbers(5000, 72, 1e-9);
    for (const double scale : {1e-300, 1e-250, 1e-160, 1e-75, 1e75, 1e160, 1e250, 1e300, 1e307}) {
        SCOPED_TRACE(scale);
        std::vector<double> a, b;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            a.push_back(numbers[i] * scale);
            b.push_back((numbers[i] + noise[i]) * scale);
        }
        const PairStatistics result = measured(tensorOf(DType::Float64, a), tensorOf(DType::Float64, b));
        EXPECT_NEAR(result.relL2, 1e-9, 1e-10);
        EXPECT_NEAR(result.cosine, 1, 1e-15);
        EXPECT_NEAR(result.a.std / scale, 1, 0.1);
        EXPECT_LT(std::fabs(result.factorZ), 6);
        expectAsReference(tensorOf(DType::Float64, a), tensorOf(DType::Float64, b));
    }
}

TEST(Measure, float64OverflowIsCappedAndLeavesRatiosRight)
{
    std::vector<double> a(300, DBL_MAX), b(300, -DBL_MAX);
    a[7] = b[7] = 1;
    b[8] = 0x1p-1074;
    const PairStatistics result = measured(tensorOf(DType::Float64, a), tensorOf(DType::Float64, b));
    test::expectNoNan(result);
    EXPECT_EQ(result.maxAbs.value, DBL_MAX);
    EXPECT_EQ(result.maxRel.value, 2);
    EXPECT_EQ(result.normA, DBL_MAX);
    EXPECT_NEAR(result.relL2, 2, 0.01);
    EXPECT_NEAR(result.normRatio, 1, 0.01);
    expectAsReference(tensorOf(DType::Float64, a), tensorOf(DType::Float64, b));
}

TEST(Measure, sidesOfDifferentMagnitude)
{
    std::vector<double> tiny, huge;
    for (const double number : test::normalNumbers(3000, 73)) {
        tiny.push_back(number * 1e-290);
        huge.push_back(number * 1e290);
    }
    const TestTensor a = tensorOf(DType::Float64, tiny), b = tensorOf(DType::Float64, huge);
    EXPECT_NEAR(measured(a, b).cosine, 1, 1e-13);
    EXPECT_EQ(measured(a, b).relL2, 1);
    expectAsReference(a, b);
    expectAsReference(b, a);
    std::vector<double> mixed;
    for (std::size_t i = 0; i < tiny.size(); ++i) // whole blocks: within one, the tiny ones would add nothing
        mixed.push_back(i / 768 % 2 == 0 ? tiny[i] : huge[i]);
    expectAsReference(tensorOf(DType::Float64, mixed), b);
    expectAsReference(b, tensorOf(DType::Float64, mixed));
}

TEST(Measure, denormalsCount)
{
    const double least = 0x1p-149;
    const TestTensor a = tensorOf(DType::Float32, {0, least, 3 * least}), b = tensorOf(DType::Float32, {least, least, 2 * least});
    const PairStatistics result = measured(a, b);
    EXPECT_EQ(result.zeroMismatch, 1);
    EXPECT_EQ(result.a.zeros, 1);
    EXPECT_EQ(result.maxAbs.value, least);
    EXPECT_EQ(result.maxRel.value, 1);
    EXPECT_EQ(result.meanDiff, 0);
    EXPECT_EQ(result.bitEqual, 1);
}

TEST(Measure, int64IsExactBeyondDouble)
{
    std::vector<std::int64_t> a = {std::numeric_limits<std::int64_t>::max(), (std::int64_t{1} << 53) + 1, 5};
    std::vector<std::int64_t> b = {a[0] - 1, std::int64_t{1} << 53, 5};
    const auto tensor = [](const std::vector<std::int64_t>& values) {
        std::vector<std::byte> bytes(values.size() * 8);
        std::memcpy(bytes.data(), values.data(), bytes.size());
        return TestTensor(DType::Int64, {static_cast<std::int64_t>(values.size())}, bytes);
    };
    const PairStatistics result = measured(tensor(a), tensor(b), {.rtol = 0, .atol = 0});
    EXPECT_EQ(result.maxAbs.value, 1);
    EXPECT_EQ(result.meanDiff, -2.0 / 3);
    EXPECT_EQ(result.allcloseViolations, 2);
    EXPECT_EQ(result.bitEqual, 1);
}

TEST(Measure, onlyOneSideZero)
{
    const TestTensor zero = tensorOf(DType::Float32, {0, -0.0, 0}), some = tensorOf(DType::Float32, {3, 0, 4});
    const PairStatistics grown = measured(zero, some);
    EXPECT_EQ(grown.cosine, 0);
    EXPECT_EQ(grown.normRatio, kInf);
    EXPECT_EQ(grown.bestScale, 1);
    EXPECT_EQ(grown.relL2, 1);
    EXPECT_EQ(grown.scaleResidual, 1);
    EXPECT_EQ(grown.zeroMismatch, 2);
    const PairStatistics lost = measured(some, zero);
    EXPECT_EQ(lost.cosine, 0);
    EXPECT_EQ(lost.normRatio, 0);
    EXPECT_EQ(lost.bestScale, 0);
    EXPECT_EQ(lost.relL2, 1);
    EXPECT_EQ(lost.scaleResidual, 0);
    const PairStatistics none = measured(zero, zero);
    EXPECT_EQ(none.cosine, 1);
    EXPECT_EQ(none.normRatio, 1);
    EXPECT_EQ(none.relL2, 0);
    EXPECT_FALSE(std::signbit(none.a.min));
    EXPECT_FALSE(none.a.lowBitsZero); // no evidence
    EXPECT_FALSE(none.a.narrowest.has_value());
}

TEST(Measure, narrowTypesAreRecognisedInFloat32)
{
    const std::vector<double> numbers = test::normalNumbers(2000, 81);
    const auto through = [&](DType dtype) {
        const TestTensor narrow = tensorOf(dtype, numbers);
        std::vector<double> values;
        for (std::size_t i = 0; i < numbers.size(); ++i)
            values.push_back(static_cast<double>(test::decodePart(dtype, narrow.bytes().data() + i * test::bytesOfPart(dtype))));
        values[5] = kNan;
        values[6] = -kInf;
        return tensorOf(DType::Float32, values);
    };
    const PairStatistics result = measured(through(DType::BFloat16), through(DType::Float16));
    EXPECT_TRUE(result.a.lowBitsZero);
    EXPECT_TRUE(result.b.lowBitsZero);
    EXPECT_EQ(result.a.narrowest, DType::BFloat16);
    EXPECT_EQ(result.b.narrowest, DType::Float16);
    const PairStatistics plain = measured(through(DType::Float32), tensorOf(DType::BFloat16, numbers));
    EXPECT_FALSE(plain.a.lowBitsZero);
    EXPECT_FALSE(plain.a.narrowest.has_value());
    EXPECT_FALSE(plain.b.narrowest.has_value()); // its type says it already
    // Too large for float16, too many digits for bfloat16, and yet not a plain float32.
    const PairStatistics tf32 = measured(tensorOf(DType::Float32, {1025, 1e30}), tensorOf(DType::Float32, {1025, 131072}));
    EXPECT_FALSE(tf32.a.lowBitsZero); // 1e30 has all digits
    EXPECT_TRUE(tf32.b.lowBitsZero);
    EXPECT_FALSE(tf32.b.narrowest.has_value());
}

// B = sA, rounded: the textbook residual would be lost in cancellation at 1e-8 |d|.
TEST(Measure, scaleResidualSeesARoundedFactor)
{
    std::vector<double> a = test::normalNumbers(100000, 91);
    for (const double factor : {0.5, 2.0, 3.0, -1.0, 1.1, 1 + 1e-6, 1e-5, 12345.678}) {
        SCOPED_TRACE(factor);
        std::vector<double> b;
        for (const double number : a)
            b.push_back(number * factor);
        const PairStatistics result = measured(tensorOf(DType::Float64, a), tensorOf(DType::Float64, b));
        EXPECT_NEAR(result.bestScale, factor, 1e-14 * std::fabs(factor));
        EXPECT_LE(result.scaleResidual, 2e-15 * std::max(1.0, result.diffNorm / result.normB));
        const bool exact = factor == 0.5 || factor == 2 || factor == -1;
        if (exact) {
            EXPECT_EQ(result.scaleResidual, 0);
        }
    }
}

TEST(Measure, spreadOfConstantAndOfShiftedData)
{
    const TestTensor constant = tensorOf(DType::Float64, std::vector<double>(70000, 0.1));
    std::vector<double> shifted = test::normalNumbers(70000, 92, 1e-3);
    double sum = 0, squares = 0;
    for (double& number : shifted) {
        number = (number + 1e9) - 1e9; // as the shifted number will be rounded
        sum += number;
        squares += number * number;
    }
    const double deviation = std::sqrt(squares / 70000 - sum / 70000 * (sum / 70000));
    for (double& number : shifted)
        number += 1e9;
    const PairStatistics result = measured(constant, tensorOf(DType::Float64, shifted));
    EXPECT_EQ(result.a.std, 0);
    EXPECT_EQ(result.a.mean, 0.1);
    EXPECT_NEAR(result.b.std, deviation, 1e9 * 0x1p-53); // the sum of squares minus the square of the sum would be off by 100
}

TEST(Measure, toleranceIsThatOfTorchIsclose)
{
    const auto violations = [](double a, double b, double rtol, double atol) {
        return measured(tensorOf(DType::Float64, {a}), tensorOf(DType::Float64, {b}), {.rtol = rtol, .atol = atol}).allcloseViolations;
    };
    EXPECT_EQ(violations(2, 3, 0.25, 0.5), 0);
    EXPECT_EQ(violations(2, std::nextafter(3, 4), 0.25, 0.5), 1);
    EXPECT_EQ(violations(100, 101, 0.01, 0), 0);
    EXPECT_EQ(violations(99, 100, 0.01, 0), 1);
    EXPECT_EQ(violations(kInf, kInf, 0, 0), 0);
    EXPECT_EQ(violations(kInf, -kInf, 1, 1), 1);
    EXPECT_EQ(violations(kInf, 1, 1, 1), 1);
    EXPECT_EQ(violations(1, kInf, 1, 1), 1);
    EXPECT_EQ(violations(kNan, kNan, 1, 1), 1);
    EXPECT_EQ(violations(kNan, 1, 1, kInf), 1);
    EXPECT_EQ(violations(0, -0.0, 0, 0), 0);
    EXPECT_EQ(violations(1, 1e300, 0, kInf), 0);
}

TEST(Measure, shapesMayDifferByAReshape)
{
    const TestTensor flat = ordinary(DType::Float32, 60, 95);
    const TestTensor other = jittered(flat, 96);
    const auto bytesOf = [](const TestTensor& tensor) { return std::vector<std::byte>(tensor.bytes().begin(), tensor.bytes().end()); };
    const TestTensor cube(DType::Float32, {3, 4, 5}, bytesOf(other));
    const TestTensor square(DType::Float32, {6, 10}, bytesOf(flat));
    const auto expected = test::bitsOf(measured(flat, other));
    EXPECT_EQ(test::bitsOf(measured(flat, cube)), expected);
    EXPECT_EQ(test::bitsOf(measured(square, cube)), expected);
    EXPECT_EQ(test::bitsOf(measured(square, other)), expected);
    TestTensor cut = flat;
    cut.cutEvery(7);
    test::expectAgrees(measured(cut, cube), test::referenceStatistics(flat, other, nullptr, {}));
}

TEST(Measure, requestsThatMakeNoSenseAreRefused)
{
    const TestTensor three = tensorOf(DType::Float32, {1, 2, 3}), four = tensorOf(DType::Float32, {1, 2, 3, 4});
    const auto message = [](const Result<PairStatistics>& result) {
        if (result) {
            ADD_FAILURE() << "accepted";
            return std::string();
        }
        EXPECT_EQ(result.error().code, ErrorCode::Usage);
        return result.error().message;
    };
    EXPECT_EQ(message(measure(three, four)), "cannot compare shape [3] with shape [4]: they differ in the number of elements");
    EXPECT_NE(message(measure(TestTensor(DType::Float32, {-1}, {}), three)), "");
    EXPECT_EQ(message(measure(three, TestTensor(DType::Complex64, {3}, std::vector<std::byte>(24)))),
              "cannot compare float32 with complex64: only one of them is complex");
    const TestTensor longMask(DType::Bool, {4}, std::vector<std::byte>(4));
    EXPECT_EQ(message(measureMasked(three, three, longMask)), "the mask has shape [4] and the tensor [3]");
    EXPECT_EQ(message(measureMasked(three, three, three)), "a mask must be bool or uint8, not float32");
    EXPECT_NE(message(measure(three, three, {.rtol = -1})), "");
    EXPECT_NE(message(measure(three, three, {.atol = kNan})), "");
}

TEST(Measure, theFirstChunksFailureIsReportedWhateverTheThreads)
{
    TestTensor a = ordinary(DType::Float32, 1000, 97);
    a.cutEvery(10);
    TestTensor b = a;
    b.onRead([](std::int64_t first) -> std::optional<Error> {
        if (first == 500 || first == 510 || first >= 900)
            return Error{ErrorCode::Truncated, "frame " + std::to_string(first), "tensors-0000.bin"};
        return std::nullopt;
    });
    for (int repeat = 0; repeat < 20; ++repeat) {
        for (const int threads : {0, 1, 2, 4}) {
            const auto result = measure(a, b, {.threads = threads});
            ASSERT_FALSE(result);
            EXPECT_EQ(result.error().code, ErrorCode::Truncated);
            EXPECT_EQ(result.error().message, "frame 500");
            EXPECT_EQ(result.error().where, "tensors-0000.bin");
        }
    }
}

TEST(Measure, sourcesThatContradictThemselvesAreCorrupt)
{
    const TestTensor good = tensorOf(DType::Float32, {1, 2, 3});
    const TestTensor shorter(DType::Float32, {4}, std::vector<std::byte>(16));
    class Short final : public TensorSource {
    public:
        DType dtype() const override { return DType::Float32; }
        const Shape& shape() const override { return m_shape; }
        Result<std::span<const std::byte>> read(const Box&, ReadBuffer&) const override { return std::span<const std::byte>(m_bytes); }
        std::vector<Box> preferredChunks(std::size_t) const override { return {{{0}, {m_chunk}}}; }
        std::int64_t m_chunk = 3;

    private:
        Shape m_shape{3};
        std::vector<std::byte> m_bytes = std::vector<std::byte>(8);
    } bad;
    const auto shortRead = measure(good, bad);
    ASSERT_FALSE(shortRead);
    EXPECT_EQ(shortRead.error().code, ErrorCode::Corrupt);
    bad.m_chunk = 2;
    const auto shortChunks = measure(bad, good);
    ASSERT_FALSE(shortChunks);
    EXPECT_EQ(shortChunks.error().code, ErrorCode::Corrupt);
}

TEST(Measure, cancellation)
{
    TestTensor a = ordinary(DType::Float32, 1000, 98);
    a.cutEvery(10);
    std::stop_source before;
    before.request_stop();
    const auto never = measure(a, a, {}, before.get_token());
    ASSERT_FALSE(never);
    EXPECT_EQ(never.error().code, ErrorCode::Cancelled);

    for (const int threads : {1, 2}) {
        std::stop_source during;
        std::atomic<int> reads = 0;
        TestTensor b = a;
        b.onRead([&](std::int64_t) -> std::optional<Error> {
            if (++reads == 5)
                during.request_stop();
            return std::nullopt;
        });
        const auto stopped = measure(a, b, {.threads = threads}, during.get_token());
        ASSERT_FALSE(stopped);
        EXPECT_EQ(stopped.error().code, ErrorCode::Cancelled);
        EXPECT_LT(reads, 5 + threads);
    }
}

// What metrics are for: sides that are read through other sources, into buffers.
TEST(Measure, composedSourcesAreMeasuredAsTheTensorTheyStandFor)
{
    const TestTensor flat = ordinary(DType::BFloat16, 40 * 300, 110);
    const TestTensor other = jittered(flat, 111);
    const auto part = [](const TestTensor& tensor, std::size_t first, std::size_t rows) {
        const auto bytes = tensor.bytes().subspan(first * 600, rows * 600);
        return *memorySource(DType::BFloat16, {static_cast<std::int64_t>(rows), 300}, {bytes.begin(), bytes.end()});
    };
    const auto whole = part(flat, 0, 40);
    const auto split = *concatSource({part(other, 0, 13), part(other, 13, 1), part(other, 14, 26)}, 0);
    const auto result = measure(*whole, *split);
    ASSERT_TRUE(result) << result.error().text();
    test::expectAgrees(*result, test::referenceStatistics(flat, other, nullptr, {}));

    std::vector<std::int64_t> order(40);
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = static_cast<std::int64_t>(i * 7 % 40);
    const auto shuffled = *rowMapSource(split, order, 1);
    const auto moved = measure(*rowMapSource(whole, order, 1).value(), *shuffled);
    ASSERT_TRUE(moved) << moved.error().text();
    EXPECT_EQ(moved->bitEqual, result->bitEqual);
    EXPECT_EQ(moved->maxAbs.value, result->maxAbs.value);
    EXPECT_NEAR(moved->relL2, result->relL2, 1e-13 * result->relL2);
}

// A source may use oneTBB itself. A thread that waits in there can be handed another chunk, which must not overwrite what it has read.
TEST(Measure, sourcesMayReadInParallel)
{
    class Parallel final : public TensorSource {
    public:
        explicit Parallel(std::int64_t shift)
            : m_shift(shift)
        {
        }
        DType dtype() const override { return DType::Int32; }
        const Shape& shape() const override { return m_shape; }
        Result<std::span<const std::byte>> read(const Box& box, ReadBuffer& buffer) const override
        {
            const std::span<std::byte> bytes = buffer.take(static_cast<std::size_t>(box.extent[0]) * 4);
            oneapi::tbb::parallel_for(std::int64_t{0}, box.extent[0], [&](std::int64_t i) {
                const auto value = static_cast<std::int32_t>(box.start[0] + i + m_shift);
                std::memcpy(bytes.data() + i * 4, &value, 4);
            });
            return std::span<const std::byte>(bytes);
        }
        std::vector<Box> preferredChunks(std::size_t) const override
        {
            std::vector<Box> boxes;
            for (std::int64_t first = 0; first < m_shape[0]; first += 500)
                boxes.push_back({{first}, {500}});
            return boxes;
        }

    private:
        std::int64_t m_shift;
        Shape m_shape{100000};
    };
    const oneapi::tbb::global_control more(oneapi::tbb::global_control::max_allowed_parallelism, 4);
    const Parallel a(0), b(3);
    for (const int threads : {0, 2, 4}) {
        const auto result = measure(a, b, {.threads = threads});
        ASSERT_TRUE(result);
        EXPECT_EQ(result->meanDiff, 3);
        EXPECT_EQ(result->maxAbs.value, 3);
        EXPECT_EQ(result->a.max, 99999);
        EXPECT_EQ(result->bitEqual, 0);
    }
}

TEST(Measure, threadsBoundsTheParallelism)
{
    TestTensor a = ordinary(DType::Float32, 2000, 99);
    a.cutEvery(10);
    std::atomic<int> inside = 0, most = 0;
    TestTensor b = a;
    b.onRead([&](std::int64_t) -> std::optional<Error> {
        const int now = ++inside;
        int seen = most;
        while (seen < now && !most.compare_exchange_weak(seen, now)) { }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        --inside;
        return std::nullopt;
    });
    for (const int threads : {1, 2}) {
        most = 0;
        EXPECT_TRUE(measure(a, b, {.threads = threads}));
        EXPECT_LE(most, threads);
    }
}

} // namespace
} // namespace forkpoint::metrics
