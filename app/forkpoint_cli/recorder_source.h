// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace forkpoint::cli {

/// resources/recorder/forkpoint_recorder.py, built into the program.
std::string_view recorderSource();

} // namespace forkpoint::cli
