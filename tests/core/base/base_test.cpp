// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/progress_steps.h"
#include "core/base/result.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace forkpoint {
namespace {

class Recorded : public Progress {
public:
    void report(std::string_view stage, double fraction) override
    {
        EXPECT_EQ(stage, "work");
        fractions.push_back(fraction); // ProgressSteps reports from one thread at a time
    }
    std::vector<double> fractions;
};

TEST(ProgressSteps, AboutAHundredReportsFromAnyNumberOfThreads)
{
    Recorded recorded;
    ProgressSteps steps(&recorded, "work", 80000);
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&steps] {
                for (int k = 0; k < 20000; ++k)
                    steps.add(1);
            });
        }
    }
    steps.finish();
    EXPECT_GE(recorded.fractions.size(), 90u);
    EXPECT_LE(recorded.fractions.size(), 103u);
    EXPECT_TRUE(std::is_sorted(recorded.fractions.begin(), recorded.fractions.end()));
    EXPECT_EQ(recorded.fractions.back(), 1.0);
}

TEST(ProgressSteps, NoListenerNoWorkAndTooMuchWork)
{
    ProgressSteps silent(nullptr, "work", 10);
    silent.add(5);
    silent.finish();
    Recorded recorded;
    ProgressSteps empty(&recorded, "work", 0);
    empty.add(0);
    empty.add(7);
    empty.finish();
    for (const double fraction : recorded.fractions)
        EXPECT_LE(fraction, 1.0);
}

TEST(Error, TextNamesTheFile)
{
    EXPECT_EQ((Error{ErrorCode::Corrupt, "is torn", "a:1"}).text(), "a:1: is torn");
    EXPECT_EQ((Error{ErrorCode::Corrupt, "is torn", {}}).text(), "is torn");
}

} // namespace
} // namespace forkpoint
