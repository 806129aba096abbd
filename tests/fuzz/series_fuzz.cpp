// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a file of loss curves.
#include "core/import/series.h"
#include "tests/fuzz/temporary_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const forkpoint::fuzz::TemporaryFile file(data, size);
    (void)forkpoint::import::openSeries(file.path());
    return 0;
}
