// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor_source.h"

#include <atomic>
#include <functional>

namespace forkpoint::test {

/// A tensor in memory that can be cut into chunks of any length, lie at any address and fail on command.
class TestTensor final : public TensorSource {
public:
    TestTensor(DType dtype, Shape shape, std::vector<std::byte> bytes);

    /// Chunks of this many elements; 0: one chunk.
    TestTensor& cutEvery(std::int64_t elements);
    /// Lets the bytes begin `offset` bytes after an aligned address.
    TestTensor& shift(std::size_t offset);
    /// Called with the flat index of every read; what it returns, if anything, is the read's failure. Must be safe to call from any thread.
    TestTensor& onRead(std::function<std::optional<Error>(std::int64_t)> hook);

    DType dtype() const override { return m_dtype; }
    const Shape& shape() const override { return m_shape; }
    Result<std::span<const std::byte>> read(const Box& box, ReadBuffer& buffer) const override;
    std::vector<Box> preferredChunks(std::size_t targetBytes) const override;

    std::span<std::byte> bytes() { return {m_bytes.data() + m_offset, m_bytes.size() - m_offset}; }
    std::span<const std::byte> bytes() const { return {m_bytes.data() + m_offset, m_bytes.size() - m_offset}; }

private:
    DType m_dtype;
    Shape m_shape;
    std::vector<std::byte> m_bytes;
    std::size_t m_offset = 0;
    std::int64_t m_cut = 0;
    std::function<std::optional<Error>(std::int64_t)> m_hook;
};

inline constexpr DType kAllTypes[] = {
    DType::Float64, DType::Float32, DType::Float16, DType::BFloat16, DType::Float8E4M3FN, DType::Float8E5M2, DType::Int64,
    DType::Int32, DType::Int16, DType::Int8, DType::UInt8, DType::Bool, DType::Complex64, DType::Complex128,
};

std::size_t bytesOfPart(DType dtype); ///< of one real number of it
std::int64_t partsOfElement(DType dtype);

/// A real number of type `dtype`, by arithmetic on its fields. Complex types: of one part.
long double decodePart(DType dtype, const std::byte* at);
/// The reverse, cutting off digits the type does not have and clamping to its finite range.
void encodePart(DType dtype, double value, std::byte* at);

/// A one-dimensional tensor of these real numbers (complex: pairs of them); floating types keep infinities and NaN.
TestTensor tensorOf(DType dtype, const std::vector<double>& parts);
std::vector<double> normalNumbers(std::size_t n, unsigned seed, double scale = 1);
/// A tensor of random bits: every number there is, NaN and infinities and denormals included.
TestTensor randomBits(DType dtype, std::int64_t elements, unsigned seed);

} // namespace forkpoint::test
