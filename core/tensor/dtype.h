// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace forkpoint {

/// Element types of FORMAT.md section 6. Little-endian; bool is one byte; complex is (real, imaginary).
enum class DType : std::uint8_t {
    Float64, Float32, Float16, BFloat16, Float8E4M3FN, Float8E5M2,
    Int64, Int32, Int16, Int8, UInt8, Bool, Complex64, Complex128,
};

std::string_view name(DType dtype);                       ///< PyTorch's name: "float32", "bfloat16", ...
std::optional<DType> dtypeFromName(std::string_view name);
std::size_t itemSize(DType dtype);                        ///< bytes per element

bool isFloating(DType dtype); ///< float8 to float64, not complex
bool isComplex(DType dtype);
bool isInteger(DType dtype);  ///< integers and bool

/// Unit roundoff u = 2^-p of the type's p-bit significand (rounding to nearest; Higham, Accuracy and Stability, 2.1): float32 2^-24,
/// float16 2^-11, bfloat16 2^-8. 0 for integers and bool. Complex types have that of their parts.
double unitRoundoff(DType dtype);

// Exact conversions of the narrow floating types to float.
float fromFloat16(std::uint16_t bits);
float fromBFloat16(std::uint16_t bits);
float fromFloat8E4M3FN(std::uint8_t bits);
float fromFloat8E5M2(std::uint8_t bits);

} // namespace forkpoint
