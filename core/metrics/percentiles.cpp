// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/percentiles.h"

#include "core/metrics/backend.h"
#include "core/metrics/decode.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace forkpoint::metrics {
namespace {

constexpr std::size_t kWanted = 4;
constexpr std::array<std::int64_t, kWanted> kPerMille{500, 900, 990, 999};
constexpr int kDigitBits = 16, kFirstShift = 64 - kDigitBits;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

/// The numbers whose upper bits are known, counted by the next 16.
struct Search {
    std::uint64_t prefix = 0; ///< the bits settled so far, at their place
    std::int64_t rank = 0;    ///< of the number wanted among those that have them, from 0
};

using Counts = std::vector<std::int64_t>;

class Counting final : public ChunkWorker {
public:
    Counting(DType dtypeA, DType dtypeB, int shift, const std::vector<std::uint64_t>& prefixes)
        : counts(prefixes.size(), Counts(kDigits))
        , m_dtypeA(dtypeA)
        , m_dtypeB(dtypeB)
        , m_shift(shift)
        , m_prefixes(prefixes)
    {
    }

    Result<void> take(const ChunkView& chunk) override
    {
        switch (arithmeticOf(m_dtypeA, m_dtypeB)) {
        case Arithmetic::Single:
            takeAs<float>(chunk);
            break;
        case Arithmetic::Double:
            takeAs<double>(chunk);
            break;
        case Arithmetic::Integer:
            takeAs<std::int64_t>(chunk);
            break;
        }
        return {};
    }

    std::vector<Counts> counts;  ///< one for each prefix
    std::uint64_t anyBits = 0;   ///< those that any number has

private:
    template <class Work>
    void takeAs(const ChunkView& chunk)
    {
        constexpr int kBlock = 256;
        std::array<Work, kBlock> a, b;
        const std::size_t sizeA = partSize(m_dtypeA), sizeB = partSize(m_dtypeB), total = chunk.a.size() / sizeA;
        const auto parts = static_cast<std::size_t>(partsOf(m_dtypeA));
        for (std::size_t done = 0; done < total; done += kBlock) {
            const std::size_t n = std::min<std::size_t>(kBlock, total - done);
            decode(m_dtypeA, chunk.a.data() + done * sizeA, static_cast<int>(n), a.data());
            decode(m_dtypeB, chunk.b.data() + done * sizeB, static_cast<int>(n), b.data());
            for (std::size_t i = 0; i < n; ++i) {
                if (!chunk.mask.empty() && chunk.mask[(done + i) / parts] == std::byte{0})
                    continue;
                if (!isFiniteValue(static_cast<double>(a[i])) || !isFiniteValue(static_cast<double>(b[i])))
                    continue;
                count(std::bit_cast<std::uint64_t>(absoluteError(difference(a[i], b[i]))));
            }
        }
    }

    void count(std::uint64_t bits)
    {
        const int above = m_shift + kDigitBits;
        anyBits |= bits;
        for (std::size_t i = 0; i < m_prefixes.size(); ++i) {
            if (above == 64 || (bits >> above) == (m_prefixes[i] >> above))
                ++counts[i][(bits >> m_shift) & (kDigits - 1)];
        }
    }

    DType m_dtypeA, m_dtypeB;
    int m_shift;
    const std::vector<std::uint64_t>& m_prefixes; ///< distinct
};

/// One reading: 16 more bits of every search. True if there is more to settle.
Result<bool> settle(const ChunkWalk& walk, int threads, const std::stop_token& stop, int shift, std::array<Search, kWanted>& searches)
{
    std::vector<std::uint64_t> prefixes;
    for (const Search& search : searches)
        prefixes.push_back(search.prefix);
    prefixes.erase(std::unique(prefixes.begin(), prefixes.end()), prefixes.end()); // they ascend
    auto workers = walk.run(threads, stop, [&] { return std::make_unique<Counting>(walk.a().dtype(), walk.b().dtype(), shift, prefixes); },
                            kChunkBytes);
    if (!workers)
        return tl::unexpected<Error>(workers.error());
    std::vector<Counts> counts(prefixes.size(), Counts(kDigits));
    std::uint64_t anyBits = 0;
    for (const std::unique_ptr<ChunkWorker>& worker : *workers) {
        const auto& part = static_cast<const Counting&>(*worker).counts;
        anyBits |= static_cast<const Counting&>(*worker).anyBits;
        for (std::size_t i = 0; i < counts.size(); ++i)
            std::transform(counts[i].begin(), counts[i].end(), part[i].begin(), counts[i].begin(), std::plus<>());
    }
    std::int64_t total = 0;
    for (const std::int64_t count : counts.front())
        total += count;
    if (total == 0)
        return false;
    for (std::size_t i = 0; i < kWanted; ++i) {
        Search& search = searches[i];
        if (shift == kFirstShift) // nearest rank: ceil(p n), from 1; in parts, since the product may not fit
            search.rank = std::max<std::int64_t>((total / 1000) * kPerMille[i] + (total % 1000 * kPerMille[i] + 999) / 1000 - 1, 0);
        const auto place = static_cast<std::size_t>(std::find(prefixes.begin(), prefixes.end(), search.prefix) - prefixes.begin());
        std::size_t digit = 0;
        while (search.rank >= counts[place][digit])
            search.rank -= counts[place][digit++];
        search.prefix |= static_cast<std::uint64_t>(digit) << shift;
    }
    return (anyBits & ((std::uint64_t{1} << shift) - 1)) != 0; // of types up to float32, the lowest bits are all 0
}

} // namespace

Result<Percentiles> absolutePercentiles(const ChunkWalk& walk, int threads, const std::stop_token& stop)
{
    std::array<Search, kWanted> searches{};
    for (int shift = kFirstShift; shift >= 0; shift -= kDigitBits) {
        const auto more = settle(walk, threads, stop, shift, searches);
        if (!more)
            return tl::unexpected<Error>(more.error());
        if (!*more)
            break;
    }
    const auto value = [&](std::size_t i) { return std::bit_cast<double>(searches[i].prefix); };
    return Percentiles{value(0), value(1), value(2), value(3)};
}

} // namespace forkpoint::metrics
