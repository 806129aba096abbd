// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/backend.h"

namespace forkpoint::metrics {

/// Plain C++, on every machine; the one the others are tested against.
const Backend& scalarBackend();

} // namespace forkpoint::metrics
