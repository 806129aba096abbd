// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace forkpoint::curves {

/// True where at least one of two values is not finite and the other is not the same: NaN is only as NaN, an infinity as the one of its sign.
inline bool differInKind(double a, double b)
{
    return std::isnan(a) != std::isnan(b) || (a != b && (std::isinf(a) || std::isinf(b)));
}

} // namespace forkpoint::curves
