// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/cuda_module.h"

#include "core/metrics/cuda/thread_scan.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

namespace forkpoint::metrics {
namespace {

/// What dlerror says, less the path in front, which the caller names.
std::string loaderError(const std::string& path)
{
    const char* text = ::dlerror();
    std::string error = text != nullptr ? text : "unknown reason";
    if (error.starts_with(path + ": "))
        error.erase(0, path.size() + 2);
    return error;
}

} // namespace

std::vector<std::filesystem::path> cudaModulePlaces()
{
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error || !program.is_absolute())
        return {};
    const std::filesystem::path folder = program.parent_path();
    return {folder / FORKPOINT_CUDA_MODULE, folder.parent_path() / "lib" / "forkpoint" / FORKPOINT_CUDA_MODULE};
}

Result<CudaModule> loadCudaModule(const std::vector<std::filesystem::path>& places)
{
    for (const std::filesystem::path& place : places) {
        std::error_code error;
        if (!std::filesystem::exists(place, error))
            continue;
        const std::string path = place.string();
        ::dlerror();
        void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (module == nullptr)
            return fail(ErrorCode::Unsupported, fmt::format("the CUDA module cannot be loaded: {}", loaderError(path)), path);
        const auto border = reinterpret_cast<ForkpointCudaBorderFunction>(::dlsym(module, FORKPOINT_CUDA_SYMBOL));
        if (border == nullptr)
            return fail(ErrorCode::Unsupported, "this is no CUDA module of Forkpoint", path);
        auto checked = checkedCudaModule(*border());
        if (!checked)
            return fail(checked.error().code, checked.error().message, path);
        return checked;
    }
    return fail(ErrorCode::Unsupported,
                fmt::format("there is no CUDA module {} beside the program; builds where nvcc is found have one", FORKPOINT_CUDA_MODULE));
}

Result<CudaModule> checkedCudaModule(const ForkpointCudaBorder& border)
{
    if (border.version != FORKPOINT_CUDA_VERSION || border.layout != cuda::kLayout)
        return fail(ErrorCode::Unsupported, fmt::format("the CUDA module belongs to another build (its version is {}.{:x}, wanted {}.{:x}); build both together",
                                                        border.version, border.layout, static_cast<int>(FORKPOINT_CUDA_VERSION), cuda::kLayout));
    std::array<char, FORKPOINT_CUDA_ERROR_SIZE> device{}, error{};
    if (border.probe(device.data(), device.size(), error.data()) != 0)
        return fail(ErrorCode::Unsupported, std::string(error.data()));
    return CudaModule{&border, device.data()};
}

} // namespace forkpoint::metrics
