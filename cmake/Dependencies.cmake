# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
#
# Every library, with what it is for. Required ones come from Debian packages (packaging/setup.sh); optional ones are looked for, and the
# summary at the end of the configuration says what is off.
include(FeatureSummary)
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)            # text
find_package(nlohmann_json REQUIRED)  # JSON documents: bundle.json, rank.json, reports
find_package(simdjson REQUIRED)       # JSON lines: the indexes of a bundle
find_package(TBB REQUIRED)            # parallel loops
find_package(OpenSSL REQUIRED COMPONENTS Crypto) # SHA-256
find_package(tl-expected REQUIRED)    # Result<T>
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash) # row identities
pkg_check_modules(RE2 REQUIRED re2)    # patterns of mapping files
find_package(ZLIB REQUIRED)           # compressed entries of numpy archives
find_package(CLI11 REQUIRED)          # arguments of the programs
find_package(GTest REQUIRED)          # tests
find_package(hwy REQUIRED)            # vector instructions of the metrics
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd) # compressed frames

find_package(benchmark QUIET)         # forkpoint-bench
add_feature_info(Benchmarks benchmark_FOUND "Google Benchmark found (libbenchmark-dev): forkpoint-bench can be built")

set(FORKPOINT_HAVE_CUDA OFF)
if(FORKPOINT_CUDA)
    # Machine code for Turing, Ampere (and Ada, which runs it) and Hopper; what is newer compiles the last one's PTX when the module is opened.
    # These are what nvcc 13 still makes that is old, so that a default of CMake's own that is older does not fail.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)
    endif()
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        enable_language(CUDA)
        if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 does not know that nvcc 12 and newer speak it
            set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
        endif()
        set(FORKPOINT_HAVE_CUDA ON)
    endif()
endif()
add_feature_info(CUDA FORKPOINT_HAVE_CUDA "CUDA toolkit (nvcc) found: the module forkpoint_cuda.so, metrics on a GPU, is built")

set(FORKPOINT_HAVE_LIBTORCH OFF)
if(FORKPOINT_LIBTORCH)
    find_path(FORKPOINT_TORCH_HEADER torch/script.h PATH_SUFFIXES torch/csrc/api/include)
    if(FORKPOINT_TORCH_HEADER)
        set(FORKPOINT_HAVE_LIBTORCH ON)
    endif()
endif()
add_feature_info(LibTorch FORKPOINT_HAVE_LIBTORCH "LibTorch found: the arbiter forkpoint-replay can be built")

set(FORKPOINT_HAVE_QT OFF)
if(FORKPOINT_GUI)
    find_package(Qt6 6.4 COMPONENTS Widgets Svg PrintSupport Test LinguistTools)
    find_package(QCustomPlotQt6 CONFIG QUIET)
    if(Qt6_FOUND AND QCustomPlotQt6_FOUND)
        set(FORKPOINT_HAVE_QT ON)
    endif()
endif()
add_feature_info(Desktop FORKPOINT_HAVE_QT "Qt 6 and QCustomPlot found: the desktop program forkpoint")
