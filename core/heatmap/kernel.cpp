// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/kernel.h"

#include "core/heatmap/decode.h"

#include <algorithm>

namespace forkpoint::heatmap {

using namespace kernel;
using namespace metrics; // the elements' types and arithmetic

Plane planeOf(Mode mode)
{
    switch (mode) {
    case Mode::A:
        return kPlaneA;
    case Mode::B:
        return kPlaneB;
    case Mode::Difference:
    case Mode::AbsDifference:
        return kPlaneDifference;
    case Mode::Relative:
        return kPlaneRelative;
    case Mode::Ulp:
        return kPlaneUlp;
    case Mode::OverTolerance:
        break;
    }
    return kPlaneClass;
}

Sides sidesOf(unsigned planes)
{
    return planes == kPlaneA ? Sides::A : planes == kPlaneB ? Sides::B : Sides::Both;
}

bool isWidePair(DType a, DType b)
{
    const Arithmetic arithmetic = arithmeticOf(a, b);
    return arithmetic == Arithmetic::Double || (arithmetic == Arithmetic::Integer && std::max(partSize(a), partSize(b)) > 2);
}

double numberOf(DType dtype, const std::byte* bytes)
{
    return dispatch(dtype, [bytes](auto stored) { return realOf<decltype(stored), double>(loadAt<decltype(stored)>(bytes, 0)); });
}

bool supported(Instructions instructions)
{
#if defined(FORKPOINT_HAVE_AVX2)
    if (instructions == Instructions::Avx2)
        return __builtin_cpu_supports("avx2") != 0;
#endif
    return instructions == Instructions::Portable;
}

Instructions bestInstructions()
{
    static const Instructions best = supported(Instructions::Avx2) ? Instructions::Avx2 : Instructions::Portable;
    return best;
}

} // namespace forkpoint::heatmap
