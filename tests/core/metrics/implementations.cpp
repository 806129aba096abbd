// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "implementations.h"

#include "core/metrics/backend.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace forkpoint::test {

std::vector<Implementation> implementations()
{
    std::vector<Implementation> all;
    for (const metrics::Backend* backend : metrics::backends()) {
        if (!backend->supported()) // cuda where there is no GPU; cuda_emulation_test.cpp runs its kernels
            continue;
        const std::string name(backend->name());
        if (name != "simd") {
            all.push_back({name, name});
            continue;
        }
        hwy::SetSupportedTargetsForTest(0);
        const auto supported = hwy::SupportedTargets();
        for (const auto target : {HWY_AVX3, HWY_AVX2, HWY_SSE4, HWY_SCALAR, HWY_NEON}) {
            if ((supported & target) != 0)
                all.push_back({name + " on " + hwy::TargetName(target), name, target});
        }
    }
    return all;
}

void withEachImplementation(const std::function<void(const Implementation&)>& body)
{
    static const std::vector<Implementation> all = implementations();
    for (const Implementation& implementation : all) {
        SCOPED_TRACE(implementation.name);
        hwy::SetSupportedTargetsForTest(implementation.target);
        ASSERT_TRUE(metrics::selectBackend(implementation.backend));
        body(implementation);
    }
    hwy::SetSupportedTargetsForTest(0);
    ASSERT_TRUE(metrics::selectBackend(""));
}

} // namespace forkpoint::test
