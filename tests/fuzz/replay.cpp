// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
//
//     fuzz_NAME [--mutations N] [--numbers N] [--seed N] [--memory MIB] [--keep FILE] FILE...
//
// Runs a fuzz target on each file, on N mutations of them all and on N made of two similar halves of numbers, the same ones every time. Fails if the process ever needs more than MIB
// (default 768) of memory. Before each run the input is written to FILE, so that what crashes can be replayed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes contentsOf(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Changes a few places of `input`: bits, bytes, lengths, and pieces that are cut out, doubled or taken from `other`.
Bytes mutated(Bytes input, const Bytes& other, std::mt19937_64& random)
{
    const auto below = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
    static constexpr std::uint64_t kInteresting[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 1ull << 62, ~0ull};
    for (std::size_t changes = 1 + below(6); changes > 0; --changes) {
        const std::size_t at = below(input.size());
        const auto here = input.begin() + static_cast<std::ptrdiff_t>(at);
        const std::size_t length = std::min<std::size_t>(1 + below(64), input.size() - at);
        switch (random() % 7) {
        case 0:
            if (!input.empty())
                *here ^= static_cast<std::uint8_t>(1u << below(8));
            break;
        case 1:
            if (!input.empty())
                *here = static_cast<std::uint8_t>(random());
            break;
        case 2: { // a length in little endian
            const std::uint64_t value = kInteresting[below(std::size(kInteresting))];
            const std::size_t width = std::min<std::size_t>(std::size_t{1} << below(4), input.size() - at);
            for (std::size_t i = 0; i < width; ++i)
                input[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
            break;
        }
        case 3:
            input.erase(here, here + static_cast<std::ptrdiff_t>(length));
            break;
        case 4: {
            const Bytes piece(here, here + static_cast<std::ptrdiff_t>(length));
            input.insert(here, piece.begin(), piece.end());
            break;
        }
        case 5: {
            const std::size_t from = below(other.size());
            const std::size_t taken = std::min<std::size_t>(1 + below(256), other.size() - from);
            const auto begin = other.begin() + static_cast<std::ptrdiff_t>(from);
            input.insert(here, begin, begin + static_cast<std::ptrdiff_t>(taken));
            break;
        }
        default:
            if (random() % 8 == 0)
                input.resize(at);
        }
    }
    return input;
}

/// A few bytes at random, then twice nearly the same numbers: runs of floats, of any bits, of one byte, in pieces of any length.
Bytes numbers(std::mt19937_64& random)
{
    Bytes half(static_cast<std::size_t>(random() % 30000));
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < half.size();) {
        const std::size_t end = std::min<std::size_t>(half.size(), i + 1 + random() % 5000);
        const std::uint64_t kind = random() % 4;
        while (i < end) {
            const float value = normal(random) * (kind == 0 ? 1.0f : 1e-39f);
            const std::uint64_t any = random();
            const std::size_t width = std::min<std::size_t>(kind < 2 ? sizeof value : 1, end - i);
            std::memcpy(half.data() + i, kind < 2 ? static_cast<const void*>(&value) : &any, width);
            if (kind == 3)
                half[i] = static_cast<std::uint8_t>(end);
            i += width;
        }
    }
    Bytes out(6);
    for (auto& byte : out)
        byte = static_cast<std::uint8_t>(random());
    out.insert(out.end(), half.begin(), half.end());
    for (std::size_t changes = random() % 200; changes > 0 && !half.empty(); --changes)
        half[random() % half.size()] ^= static_cast<std::uint8_t>(1 + random() % 3);
    out.insert(out.end(), half.begin(), half.end());
    return out;
}

long peakMemoryMib()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:"))
            return std::stol(line.substr(6)) / 1024;
    }
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    std::size_t mutations = 0, pairs = 0;
    std::uint64_t seed = 1;
    long memory = 768;
    std::string keep;
    std::vector<Bytes> seeds;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
        if (word == "--mutations")
            mutations = std::stoul(value());
        else if (word == "--numbers")
            pairs = std::stoul(value());
        else if (word == "--seed")
            seed = std::stoull(value());
        else if (word == "--memory")
            memory = std::stol(value());
        else if (word == "--keep")
            keep = value();
        else
            seeds.push_back(contentsOf(word));
    }
    const auto run = [&](const Bytes& input) {
        if (!keep.empty())
            std::ofstream(keep, std::ios::binary).write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
        LLVMFuzzerTestOneInput(input.data(), input.size());
    };
    if (seeds.empty())
        seeds.emplace_back();
    for (const Bytes& input : seeds)
        run(input);
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < mutations; ++i)
        run(mutated(seeds[random() % seeds.size()], seeds[random() % seeds.size()], random));
    for (std::size_t i = 0; i < pairs; ++i)
        run(numbers(random));
    const long peak = peakMemoryMib();
    fmt::print("{} inputs, {} mutations, {} pairs of numbers; peak memory {} MiB\n", seeds.size(), mutations, pairs, peak);
    if (peak > memory) {
        fmt::print(stderr, "more than {} MiB\n", memory);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
