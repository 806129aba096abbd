// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_tensor.h"

#include "core/metrics/pair_statistics.h"

#include <gtest/gtest.h>

#include <cmath>

// factorZ and biasZ decide whether a difference below the floor is structure. On independent errors they must be about N(0, 1), whatever
// the sizes of the elements; on a factor or a bias they must stand out.
namespace forkpoint::metrics {
namespace {

constexpr int kSeeds = 200;
constexpr std::size_t kElements = 4096;

std::vector<double> heavyTailed(unsigned seed)
{
    std::vector<double> numbers = test::normalNumbers(kElements, seed);
    for (double& number : numbers)
        number = number * number * number; // sizes over many orders of magnitude
    return numbers;
}

std::vector<double> sum(const std::vector<double>& x, const std::vector<double>& y)
{
    std::vector<double> result = x;
    for (std::size_t i = 0; i < x.size(); ++i)
        result[i] += y[i];
    return result;
}

std::vector<double> product(const std::vector<double>& x, const std::vector<double>& y)
{
    std::vector<double> result = x;
    for (std::size_t i = 0; i < x.size(); ++i)
        result[i] *= y[i];
    return result;
}

struct Rates {
    double largest = 0, factorSquares = 0, biasSquares = 0;
};

/// Over all seeds, for the pair that `make(seed)` returns.
template <class Make>
Rates ratesOf(Make make)
{
    Rates rates;
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
        const auto [a, b] = make(seed * 10 + 1);
        const auto result = measure(a, b);
        if (!result) {
            ADD_FAILURE() << result.error().text();
            break;
        }
        rates.largest = std::max({rates.largest, std::fabs(result->factorZ), std::fabs(result->biasZ)});
        rates.factorSquares += result->factorZ * result->factorZ / kSeeds;
        rates.biasSquares += result->biasZ * result->biasZ / kSeeds;
    }
    return rates;
}

void expectStandardNormal(const Rates& rates)
{
    EXPECT_LT(rates.largest, 6);
    EXPECT_NEAR(rates.factorSquares, 1, 0.5); // five standard errors of a mean of 200 squares
    EXPECT_NEAR(rates.biasSquares, 1, 0.5);
}

TEST(Significance, additiveNoiseIsUnstructured)
{
    expectStandardNormal(ratesOf([](unsigned seed) {
        const auto a = heavyTailed(seed);
        const auto noise = test::normalNumbers(kElements, seed + 1, 1e-3);
        return std::pair(test::tensorOf(DType::Float32, a), test::tensorOf(DType::Float32, sum(a, noise)));
    }));
}

TEST(Significance, noiseInProportionIsUnstructured)
{
    expectStandardNormal(ratesOf([](unsigned seed) {
        const auto a = heavyTailed(seed);
        const auto noise = product(a, test::normalNumbers(kElements, seed + 1, 1e-4));
        return std::pair(test::tensorOf(DType::Float32, a), test::tensorOf(DType::Float32, sum(a, noise)));
    }));
}

TEST(Significance, roundingOfTwoComputationsIsUnstructured)
{
    // Both sides are the same number with an error of their own, then cut to float32: the cut is the same on both sides.
    expectStandardNormal(ratesOf([](unsigned seed) {
        const auto x = heavyTailed(seed);
        const auto with = [&](unsigned noise) {
            return test::tensorOf(DType::Float32, sum(x, product(x, test::normalNumbers(kElements, noise, 3e-7))));
        };
        return std::pair(with(seed + 1), with(seed + 2));
    }));
}

TEST(Significance, aFactorOrABiasBelowTheNoiseStandsOut)
{
    for (unsigned seed = 0; seed < 20; ++seed) {
        const auto a = test::normalNumbers(kElements * 16, seed);
        const auto noise = test::normalNumbers(a.size(), seed + 1000, 1e-3);
        auto factor = sum(a, noise), bias = sum(a, noise);
        for (std::size_t i = 0; i < a.size(); ++i) {
            factor[i] += a[i] * 5e-5; // a twentieth of the noise
            bias[i] += 5e-5;
        }
        const auto base = test::tensorOf(DType::Float32, a);
        const auto scaled = measure(base, test::tensorOf(DType::Float32, factor));
        const auto shifted = measure(base, test::tensorOf(DType::Float32, bias));
        ASSERT_TRUE(scaled && shifted);
        EXPECT_GT(scaled->factorZ, 6);
        EXPECT_LT(std::fabs(scaled->biasZ), 6);
        EXPECT_NEAR(scaled->bestScale, 1 + 5e-5, 3e-5);
        EXPECT_GT(shifted->biasZ, 6);
        EXPECT_LT(std::fabs(shifted->factorZ), 6);
        EXPECT_NEAR(shifted->meanDiff, 5e-5, 3e-5);
    }
}

TEST(Significance, aPureFactorAndAPureBias)
{
    const auto a = test::normalNumbers(kElements, 5);
    auto half = a, up = a;
    for (std::size_t i = 0; i < a.size(); ++i) {
        half[i] *= -0.5;
        up[i] += 2;
    }
    const auto base = test::tensorOf(DType::Float32, a);
    const auto scaled = measure(base, test::tensorOf(DType::Float32, half));
    const auto shifted = measure(base, test::tensorOf(DType::Float32, up));
    ASSERT_TRUE(scaled && shifted);
    EXPECT_LT(scaled->factorZ, -6);
    EXPECT_NEAR(scaled->bestScale, -0.5, 1e-6);
    EXPECT_NEAR(scaled->scaleResidual, 0, 1e-6);
    EXPECT_NEAR(shifted->biasZ, std::sqrt(static_cast<double>(kElements)), 1e-3); // all of d is bias
    EXPECT_NEAR(shifted->meanDiff, 2, 1e-6);
}

} // namespace
} // namespace forkpoint::metrics
