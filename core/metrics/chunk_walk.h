// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor_source.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

// Both sides of a pair, read chunk by chunk, by several threads, without ever holding more than a chunk per thread.
namespace forkpoint::metrics {

/// One chunk of both sides; spans are valid during the call.
struct ChunkView {
    std::size_t index; ///< of the chunk, in row-major order
    std::int64_t first; ///< flat index of its first element
    std::span<const std::byte> a, b, mask; ///< mask: empty if there is none
};

/// What works on chunks, one at a time, and remembers. There is one for each chunk that is in work at a time, not one per thread: a thread
/// that waits inside a source's read (for frames that oneTBB decodes) may be given another chunk meanwhile.
class ChunkWorker {
public:
    virtual ~ChunkWorker() = default;
    virtual Result<void> take(const ChunkView& chunk) = 0;
};

/// The sides of a pair, fit for each other. Holds references to them.
class ChunkWalk {
public:
    /// Fails with Usage if the sides differ in their number of elements, one is complex and the other not, or the mask is none for them.
    /// Shapes may differ by a reshape: then B is read as A's shape. `mask` may be null.
    static Result<ChunkWalk> over(const TensorSource& a, const TensorSource& b, const TensorSource* mask);

    const TensorSource& a() const { return *m_a; }
    const TensorSource& b() const { return m_reshaped ? *m_reshaped : *m_b; }

    /// Takes every chunk, of about `chunkBytes` of A, once, begun in order but for runs of a few. Returns the workers, at least one. Fails with the error of the
    /// first chunk that cannot be read or that its worker fails at, whatever the threads, with Corrupt if a source contradicts itself, or with
    /// Cancelled after the chunks that are in work.
    Result<std::vector<std::unique_ptr<ChunkWorker>>> run(int threads, const std::stop_token& stop,
                                                          const std::function<std::unique_ptr<ChunkWorker>()>& makeWorker,
                                                          std::size_t chunkBytes) const;

private:
    const TensorSource* m_a = nullptr;
    const TensorSource* m_b = nullptr;
    const TensorSource* m_mask = nullptr;
    TensorSourcePtr m_reshaped; ///< B in A's shape, where they differ
    std::int64_t m_count = 0;
};

} // namespace forkpoint::metrics
