// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/metrics/backend.h"

namespace forkpoint::metrics {

/// Vector instructions by Google Highway; the widest set that the processor has is chosen at run time.
const Backend& simdBackend();

} // namespace forkpoint::metrics
