// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/bundle.h"
#include "core/bundle/writer.h"
#include "core/metrics/pair_statistics.h"
#include "tests/support/run_builder.h"

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>

// Compressed tensors that are larger than what a comparison may use.
namespace forkpoint::compare {
namespace {

constexpr std::int64_t kRows = 8192, kColumns = 4099; // 134 MB a side; rows do not fill the frames of 1 MiB

/// "VmHWM", "VmRSS": kB of this process.
long memoryOf(const std::string& what)
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(what + ":"))
            return std::stol(line.substr(what.size() + 1));
    }
    return -1;
}

/// Writes a bundle of one large tensor; smooth numbers, so that they compress.
bool writeLarge(const std::filesystem::path& folder, int seed)
{
    std::vector<float> numbers(static_cast<std::size_t>(kRows * kColumns));
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<float>((i + static_cast<std::size_t>(seed)) % 500) * 0.25f; // the largest difference is one in 500
    auto writer = bundle::RankWriter::create(folder, 0).value();
    bundle::TensorRecord record;
    record.phase = bundle::Phase::Forward;
    record.kind = bundle::Kind::Output;
    record.module = "m";
    record.micro = 0;
    record.dtype = DType::Float32;
    record.shape = {kRows, kColumns};
    record.bytes.emplace();
    record.bytes->codec = bundle::Codec::Zstd;
    return writer.tensor(record, std::as_bytes(std::span(numbers)))
        && writer.info({{"rank", 0}, {"world_size", 1}, {"run", "large"}, {"attempt", 0}, {"device", "cpu"}})
        && bundle::writeBundleInfo(folder, {{"name", "large"}, {"world_size", 1}});
}

/// In a process of its own, so that this one never holds the numbers.
void writeLargeElsewhere(const std::filesystem::path& folder, int seed)
{
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(writeLarge(folder, seed) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
}

/// Notes which threads read.
class Watched final : public TensorSource {
public:
    explicit Watched(TensorSourcePtr source)
        : m_source(std::move(source))
    {
    }
    DType dtype() const override { return m_source->dtype(); }
    const Shape& shape() const override { return m_source->shape(); }
    Result<std::span<const std::byte>> read(const Box& box, ReadBuffer& buffer) const override
    {
        {
            const std::lock_guard lock(m_mutex);
            m_threads.insert(std::this_thread::get_id());
        }
        ++m_reads;
        if (m_onRead)
            m_onRead(m_reads);
        return m_source->read(box, buffer);
    }
    std::vector<Box> preferredChunks(std::size_t targetBytes) const override { return m_source->preferredChunks(targetBytes); }

    std::size_t threads() const { return m_threads.size(); }
    int reads() const { return m_reads; }
    std::function<void(int)> m_onRead;

private:
    TensorSourcePtr m_source;
    mutable std::mutex m_mutex;
    mutable std::set<std::thread::id> m_threads;
    mutable std::atomic<int> m_reads = 0;
};

class LargeTensors : public ::testing::Test {
protected:
    void SetUp() override
    {
        for (const int side : {0, 1}) {
            const auto folder = m_temp.path() / (std::to_string(side) + ".forkpoint");
            writeLargeElsewhere(folder, side);
            m_bundles.push_back(bundle::Bundle::open(folder).value());
            const bundle::RankData& rank = m_bundles.back()->ranks().front();
            ASSERT_EQ(rank.tensors.size(), 1u);
            m_sources.push_back(std::make_unique<Watched>(m_bundles.back()->source(rank, rank.tensors.front()).value()));
        }
    }

    test::TempFolder m_temp;
    std::vector<std::shared_ptr<const bundle::Bundle>> m_bundles;
    std::vector<std::unique_ptr<Watched>> m_sources;
};

TEST_F(LargeTensors, areComparedInLittleMemoryByAllThreads)
{
    const oneapi::tbb::global_control more(oneapi::tbb::global_control::max_allowed_parallelism, 2);
    std::ofstream("/proc/self/clear_refs") << "5"; // the peak begins anew
    const long before = memoryOf("VmRSS");
    metrics::MeasureOptions options;
    options.threads = 2;
    options.percentiles = true;
    const auto result = metrics::measure(*m_sources[0], *m_sources[1], options);
    const long peak = memoryOf("VmHWM");
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(result->count, kRows * kColumns);
    EXPECT_EQ(result->bitEqual, 0);
    EXPECT_EQ(result->percentiles->p50, 0.25);
    EXPECT_EQ(result->percentiles->p999, result->maxAbs.value);
    EXPECT_EQ(m_sources[0]->threads(), 2u) << "frames are decompressed by the thread that reads them";
    ASSERT_GT(before, 0);
#if !defined(__SANITIZE_ADDRESS__) // which keeps freed memory
    EXPECT_LT(peak - before, 48 * 1024) << "kB; a side has " << kRows * kColumns * 4 / 1024;
#else
    EXPECT_GT(peak, 0);
#endif
}

TEST_F(LargeTensors, areLeftAfterTheChunksInWork)
{
    std::stop_source stop;
    m_sources[1]->m_onRead = [&](int reads) {
        if (reads == 6)
            stop.request_stop();
    };
    metrics::MeasureOptions options;
    options.threads = 2;
    const auto result = metrics::measure(*m_sources[0], *m_sources[1], options, stop.get_token());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::Cancelled);
    EXPECT_LE(m_sources[1]->reads(), 7) << "of 129 chunks; one for each other thread may have begun";
}

} // namespace
} // namespace forkpoint::compare
