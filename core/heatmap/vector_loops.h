// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// How the heatmap's loops are compiled: functions whose name ends in Body hold them, and are inlined into one copy per instruction set.
#define FORKPOINT_INLINE [[gnu::always_inline]] inline

#if defined(__x86_64__) && defined(__GNUC__)
#define FORKPOINT_HAVE_AVX2 1
#define FORKPOINT_AVX2 [[gnu::target("avx2")]]
#else
#define FORKPOINT_AVX2
#endif

namespace forkpoint::heatmap {

enum class Instructions : std::uint8_t { Portable, Avx2 };
bool supported(Instructions instructions); ///< by this build on this machine
Instructions bestInstructions();

/// Several numbers at once: the compiler's own vector types, for loops that are too long for it to vectorise by itself. Passed by reference only, as
/// how they are passed by value depends on the instruction set. Where instructions are lacking the compiler makes several of smaller ones.
inline constexpr int kVectorBytes = 32;
template <class T>
struct VectorOf {
    typedef T Type [[gnu::vector_size(kVectorBytes)]];
};
template <class T>
using Vector = typename VectorOf<T>::Type;
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

} // namespace forkpoint::heatmap
