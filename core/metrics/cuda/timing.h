// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// The measurements of border.h.
namespace forkpoint::metrics::cuda {

int timeDeviceCopy(std::size_t bytes, int rounds, double* seconds, char* error);
int timeUpload(std::size_t bytes, int rounds, double* seconds, char* error);
int timeKernel(std::uint8_t dtype, std::size_t bytesASide, int histograms, int rounds, double* seconds, char* error);

} // namespace forkpoint::metrics::cuda
