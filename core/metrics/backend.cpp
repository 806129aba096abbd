// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/backend.h"

#include "core/metrics/cuda_backend.h"
#include "core/metrics/scalar_backend.h"
#include "core/metrics/simd_backend.h"

#include <atomic>
#include <cstdlib>

namespace forkpoint::metrics {
namespace {

std::atomic<const Backend*> g_selected = nullptr;

const Backend& best()
{
    for (const Backend* backend : backends()) {
        if (backend->supported())
            return *backend;
    }
    return scalarBackend();
}

/// `wish` says who asked for the name.
Result<const Backend*> find(std::string_view name, std::string_view wish)
{
    std::string names;
    for (const Backend* backend : backends()) {
        if (backend->name() == name) {
            if (backend->supported())
                return backend;
            return fail(ErrorCode::Usage, std::string(wish) + ": the backend \"" + std::string(name) + "\" cannot run here: "
                            + backend->whyNot() + "; \"" + std::string(best().name()) + "\" can");
        }
        names += names.empty() ? "" : ", ";
        names += backend->name();
    }
    return fail(ErrorCode::Usage, std::string(wish) + ": there is no backend \"" + std::string(name) + "\"; there are: " + names);
}

} // namespace

std::vector<const Backend*> backends()
{
    return {&simdBackend(), &scalarBackend(), &cudaBackend()};
}

Result<const Backend*> chosenBackend()
{
    if (const Backend* selected = g_selected.load())
        return selected;
    const char* name = std::getenv("FORKPOINT_BACKEND");
    if (name == nullptr || *name == '\0')
        return &best();
    return find(name, "FORKPOINT_BACKEND");
}

const Backend& activeBackend()
{
    const Result<const Backend*> chosen = chosenBackend();
    return chosen ? **chosen : best();
}

Result<void> selectBackend(std::string_view name)
{
    if (name.empty()) {
        g_selected = nullptr;
        return {};
    }
    const Result<const Backend*> found = find(name, "backend");
    if (!found)
        return tl::unexpected<Error>(found.error());
    g_selected = *found;
    return {};
}

} // namespace forkpoint::metrics
