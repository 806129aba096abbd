// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a file of tensors: opened, and every tensor read. What cannot be read is an error, and nothing else happens.
#include "core/import/open_run.h"
#include "tests/fuzz/temporary_file.h"

using namespace forkpoint;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const fuzz::TemporaryFile file(data, size);
    const auto run = import::openRun(file.path());
    if (!run)
        return 0;
    ReadBuffer buffer;
    for (const auto& rank : (*run)->ranks()) {
        for (const auto& record : rank.tensors) {
            const auto source = (*run)->source(rank, record);
            if (!source)
                continue;
            const auto chunks = (*source)->preferredChunks(std::size_t{1} << 20);
            for (std::size_t i = 0; i < chunks.size() && i < 16; ++i)
                (void)(*source)->read(chunks[i], buffer);
        }
    }
    return 0;
}
