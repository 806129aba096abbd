// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/backend.h"
#include "tests/support/test_tensor.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace forkpoint::metrics {
namespace {

/// Leaves the process as it was: other tests may run under FORKPOINT_BACKEND.
class BackendChoice : public ::testing::Test {
protected:
    BackendChoice()
    {
        if (const char* value = std::getenv("FORKPOINT_BACKEND"))
            m_environment = value;
        ::unsetenv("FORKPOINT_BACKEND");
        EXPECT_TRUE(selectBackend(""));
    }

    ~BackendChoice() override
    {
        EXPECT_TRUE(selectBackend(""));
        if (m_environment)
            ::setenv("FORKPOINT_BACKEND", m_environment->c_str(), 1);
        else
            ::unsetenv("FORKPOINT_BACKEND");
    }

    static Result<PairStatistics> measureSomething()
    {
        const auto tensor = test::tensorOf(DType::Float32, {1, 2, 3});
        return measure(tensor, tensor);
    }

private:
    std::optional<std::string> m_environment;
};

TEST_F(BackendChoice, scalarIsThereAndDescribesItself)
{
    bool scalar = false;
    for (const Backend* backend : backends()) {
        EXPECT_FALSE(backend->name().empty());
        EXPECT_FALSE(backend->description().empty());
        scalar = scalar || (backend->name() == "scalar" && backend->supported());
    }
    EXPECT_TRUE(scalar);
    EXPECT_TRUE(activeBackend().supported());
}

TEST_F(BackendChoice, theForcedOneRanAndSaysSo)
{
    for (const Backend* backend : backends()) {
        if (!backend->supported())
            continue;
        ASSERT_TRUE(selectBackend(backend->name()));
        EXPECT_EQ(&activeBackend(), backend);
        const auto result = measureSomething();
        ASSERT_TRUE(result);
        EXPECT_EQ(result->backend, backend->name());
    }
}

TEST_F(BackendChoice, theEnvironmentForcesOneAndACallOverridesIt)
{
    ::setenv("FORKPOINT_BACKEND", "scalar", 1);
    EXPECT_EQ(activeBackend().name(), "scalar");
    const auto result = measureSomething();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->backend, "scalar");

    ::setenv("FORKPOINT_BACKEND", "abacus", 1);
    ASSERT_TRUE(selectBackend("scalar"));
    EXPECT_TRUE(measureSomething());
}

TEST_F(BackendChoice, unknownNamesAreRefusedWithTheListOfThoseThatExist)
{
    const auto selected = selectBackend("abacus");
    ASSERT_FALSE(selected);
    EXPECT_EQ(selected.error().code, ErrorCode::Usage);
    EXPECT_NE(selected.error().message.find("\"abacus\""), std::string::npos) << selected.error().message;
    for (const Backend* backend : backends())
        EXPECT_NE(selected.error().message.find(backend->name()), std::string::npos) << selected.error().message;
    EXPECT_TRUE(measureSomething()) << "a refused choice must change nothing";
}

TEST_F(BackendChoice, aWishInTheEnvironmentIsNeverIgnored)
{
    ::setenv("FORKPOINT_BACKEND", "abacus", 1);
    const auto result = measureSomething();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::Usage);
    EXPECT_NE(result.error().message.find("FORKPOINT_BACKEND"), std::string::npos) << result.error().message;
    EXPECT_NE(result.error().message.find("scalar"), std::string::npos) << result.error().message;
    EXPECT_TRUE(activeBackend().supported());
    ::setenv("FORKPOINT_BACKEND", "", 1);
    EXPECT_TRUE(measureSomething());
}

} // namespace
} // namespace forkpoint::metrics
