// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/heatmap/pyramid.h"
#include "tests/support/test_tensor.h"

#include <atomic>
#include <map>
#include <vector>

namespace forkpoint::test {

using namespace heatmap;


/// A tensor of any shape over the bytes of a TestTensor.
TensorSourcePtr sourceOf(const TestTensor& tensor, Shape shape);

/// The number at a flat index of real numbers, with its bits.
struct Number {
    long double value = 0;
    std::vector<std::byte> bytes;
};
Number numberAt(const TestTensor& tensor, std::int64_t flat);

/// What a cell over these flat indexes must hold, by the definitions in heatmap_pyramid.h: one loop, no code of the pyramid.
CellContent referenceCell(const TestTensor& a, const TestTensor& b, const std::vector<std::int64_t>& elements, double rtol, double atol);

Counts referenceCounts(const TestTensor& a, const TestTensor& b, const std::vector<std::int64_t>& elements, double rtol, double atol);

/// The elements under a cell of a level, as flat indexes, by way of the slice's map from places to indexes.
std::vector<std::int64_t> elementsOf(const Pyramid& pyramid, int level, Cell cell);

/// Of a mode, from everything about the cell.
double valueIn(Mode mode, const CellContent& cell);

/// Fails where a level of the pyramid, as cells or as a region in any mode, is not the reference.
void expectAsReference(const Pyramid& pyramid, const TestTensor& a, const TestTensor& b, int level);
void expectAsReference(const Pyramid& pyramid, const TestTensor& a, const TestTensor& b); ///< every level

/// Float32 numbers that are all the same but for a few, of any size without memory for it. Counts how it is read.
class PatternSource final : public TensorSource {
public:
    PatternSource(Shape shape, float usual, std::map<std::int64_t, float> others = {});

    DType dtype() const override { return DType::Float32; }
    const Shape& shape() const override { return m_shape; }
    Result<std::span<const std::byte>> read(const Box& box, ReadBuffer& buffer) const override;

    std::int64_t reads() const { return m_reads.load(); }
    std::int64_t elementsRead() const { return m_elements.load(); }
    std::int64_t largestRead() const { return m_largest.load(); }

private:
    Shape m_shape;
    float m_usual;
    std::map<std::int64_t, float> m_others;
    std::vector<float> m_usualNumbers;
    mutable std::atomic<std::int64_t> m_reads = 0, m_elements = 0, m_largest = 0;
};

} // namespace forkpoint::test
