// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/test_tensor.h"

#include <random>

namespace forkpoint::test {

/// Stretches of ordinary numbers, zeros, subnormals, huge ones, NaN and infinities, constants and random bits, in one dimension.
TestTensor mixed(DType dtype, std::int64_t elements, std::mt19937_64& random);

/// B made of A: stretches equal, off in the last place, negated, or something else. Of another type: something else.
TestTensor partner(const TestTensor& a, DType dtype, std::mt19937_64& random);

} // namespace forkpoint::test
