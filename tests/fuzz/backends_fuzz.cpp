// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
//
// Any two tensors: every backend, instruction set, number of threads, cut and alignment gives the counts, extrema and histograms that the
// scalar backend gives in one chunk on one thread, bit for bit, and sums within their bound. The first bytes choose types and cuts, the rest
// are the numbers.
#include "core/metrics/backend.h"
#include "core/tensor/tensor_source.h"

#include <fmt/format.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

using namespace forkpoint;
using metrics::PairStatistics;

namespace {

/// Bytes at any address, cut as it is told.
class Numbers final : public TensorSource {
public:
    Numbers(DType dtype, std::int64_t count, const std::uint8_t* from, std::size_t shift, std::int64_t cut)
        : m_dtype(dtype)
        , m_shape{count}
        , m_cut(cut)
        , m_shift(shift)
        , m_bytes(shift + static_cast<std::size_t>(count) * itemSize(dtype))
    {
        if (count > 0)
            std::memcpy(m_bytes.data() + shift, from, m_bytes.size() - shift);
    }
    DType dtype() const override { return m_dtype; }
    const Shape& shape() const override { return m_shape; }
    Result<std::span<const std::byte>> read(const Box& box, ReadBuffer&) const override
    {
        const std::size_t size = itemSize(m_dtype);
        return std::span(m_bytes.data() + m_shift + static_cast<std::size_t>(box.start[0]) * size, static_cast<std::size_t>(box.extent[0]) * size);
    }
    std::vector<Box> preferredChunks(std::size_t) const override
    {
        std::vector<Box> out;
        for (std::int64_t at = 0; at < m_shape[0]; at += m_cut)
            out.push_back({{at}, {std::min(m_cut, m_shape[0] - at)}});
        return out;
    }

private:
    DType m_dtype;
    Shape m_shape;
    std::int64_t m_cut;
    std::size_t m_shift;
    std::vector<std::byte> m_bytes;
};

[[noreturn]] void differ(std::string_view what, std::string_view who)
{
    fmt::print(stderr, "{} of {} are not those of the scalar backend\n", what, who);
    std::abort();
}

bool sameSide(const metrics::SideStatistics& x, const metrics::SideStatistics& y)
{
    return x.nan == y.nan && x.positiveInf == y.positiveInf && x.negativeInf == y.negativeInf && x.zeros == y.zeros && x.min == y.min && x.max == y.max
        && x.lowBitsZero == y.lowBitsZero && x.narrowest == y.narrowest;
}

void check(const PairStatistics& got, const PairStatistics& expected, std::string_view who)
{
    if (got.count != expected.count || got.finite != expected.finite || got.nanBoth != expected.nanBoth || got.infBothEqual != expected.infBothEqual
        || got.bitEqual != expected.bitEqual || got.zeroMismatch != expected.zeroMismatch || got.allcloseViolations != expected.allcloseViolations
        || !sameSide(got.a, expected.a) || !sameSide(got.b, expected.b))
        differ("counts", who);
    if (!(got.maxAbs == expected.maxAbs) || !(got.maxRel == expected.maxRel))
        differ("extrema", who);
    if (!(got.absHistogram == expected.absHistogram) || !(got.relHistogram == expected.relHistogram) || !(got.ulpHistogram == expected.ulpHistogram))
        differ("histograms", who);
    const auto near = [&](double x, double y, double scale) { return std::isfinite(x) && std::abs(x - y) <= 1e-12 * scale; };
    if (!near(got.meanAbs, expected.meanAbs, expected.meanAbs) || !near(got.diffNorm, expected.diffNorm, expected.diffNorm)
        || !near(got.meanDiff, expected.meanDiff, expected.meanAbs) || !near(got.normA, expected.normA, expected.normA)
        || !near(got.normB, expected.normB, expected.normB) || !near(got.cosine, expected.cosine, 1))
        differ("sums", who);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    constexpr std::size_t kHead = 6;
    static constexpr DType kTypes[] = {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Float8E4M3FN, DType::Float8E5M2, DType::Int64,
                                       DType::Int32, DType::Int16, DType::Int8, DType::UInt8, DType::Bool, DType::Complex64, DType::Complex128};
    if (size < kHead)
        return 0;
    const DType a = kTypes[data[0] % std::size(kTypes)];
    DType b = data[1] < 128 ? a : kTypes[data[1] % std::size(kTypes)];
    if (isComplex(a) != isComplex(b))
        b = a;
    const std::int64_t count = std::min<std::int64_t>(1 << 16, static_cast<std::int64_t>((size - kHead) / (itemSize(a) + itemSize(b))));
    const std::uint8_t* const numbers = data + kHead;
    const auto cut = static_cast<std::int64_t>(1 + data[2] * 37);
    const auto pair = [&](std::size_t shift, std::int64_t every) {
        return std::pair(Numbers(a, count, numbers, shift % 16, every), Numbers(b, count, numbers + static_cast<std::size_t>(count) * itemSize(a), shift / 16, every));
    };
    metrics::MeasureOptions options;
    options.rtol = data[5] % 4 == 0 ? 0 : std::ldexp(1.0, -(data[5] % 32));
    options.threads = 1;

    hwy::SetSupportedTargetsForTest(0);
    if (!metrics::selectBackend("scalar"))
        std::abort();
    const auto [wholeA, wholeB] = pair(0, std::max<std::int64_t>(1, count));
    const auto expected = metrics::measure(wholeA, wholeB, options);
    const auto [cutA, cutB] = pair(data[3], cut);
    options.threads = 1 + data[4] % 2;
    const auto supported = hwy::SupportedTargets();
    for (const metrics::Backend* backend : metrics::backends()) {
        if (!backend->supported() || !metrics::selectBackend(backend->name()))
            continue;
        for (const auto target : {HWY_AVX3, HWY_AVX2, HWY_SSE4, HWY_SCALAR, HWY_NEON}) {
            if ((supported & target) == 0)
                continue;
            hwy::SetSupportedTargetsForTest(target);
            const auto got = metrics::measure(cutA, cutB, options);
            if (got.has_value() != expected.has_value())
                differ("errors", backend->name());
            if (got)
                check(*got, *expected, backend->name());
        }
    }
    hwy::SetSupportedTargetsForTest(0);
    (void)metrics::selectBackend("");
    return 0;
}
