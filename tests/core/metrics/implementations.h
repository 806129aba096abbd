// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace forkpoint::test {

/// A backend, and for simd one of the instruction sets it was compiled for and this processor has.
struct Implementation {
    std::string name;    ///< "scalar", "simd on AVX2"
    std::string backend;
    long long target = 0; ///< Highway's; 0: any
};

std::vector<Implementation> implementations();

/// Runs `body` with each of them forced, and leaves the choice as it was without a choice.
void withEachImplementation(const std::function<void(const Implementation&)>& body);

} // namespace forkpoint::test
