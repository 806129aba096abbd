// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/cuda_backend.h"

#include "core/metrics/cuda_module.h"
#include "core/metrics/cuda_pipeline.h"

namespace forkpoint::metrics {
namespace {

/// The module and what runs on it, from the first question on.
struct Loaded {
    Result<CudaModule> module = loadCudaModule(cudaModulePlaces());
    std::unique_ptr<CudaPipeline> pipeline = module ? std::make_unique<CudaPipeline>(*module->border) : nullptr;
    std::string description = module ? "NVIDIA GPU: " + module->device : std::string("NVIDIA GPU");
};

/// Never destroyed: when the process ends, the driver may be gone before it.
Loaded& loaded()
{
    static auto* const loaded = new Loaded;
    return *loaded;
}

class CudaBackend final : public Backend {
public:
    std::string_view name() const override { return "cuda"; }
    std::string_view description() const override { return loaded().description; }
    bool supported() const override { return loaded().module.has_value(); }
    std::string whyNot() const override { return supported() ? std::string() : loaded().module.error().text(); }
    std::size_t chunkBytes() const override { return std::size_t{16} << 20; } // a few slices, so that a chunk's end costs little

    Result<void> accumulate(std::span<const std::byte> a, DType dtypeA, std::span<const std::byte> b, DType dtypeB,
                            std::span<const std::byte> mask, std::int64_t firstIndex, const MeasureOptions& options, ChunkAccumulator& into,
                            HistogramAccumulator* histograms) const override
    {
        if (!supported())
            return fail(ErrorCode::Device, whyNot());
        return loaded().pipeline->accumulate({a, b, mask, dtypeA, dtypeB, firstIndex, options, into, histograms});
    }
};

} // namespace

const Backend& cudaBackend()
{
    static const CudaBackend backend;
    return backend;
}

} // namespace forkpoint::metrics
