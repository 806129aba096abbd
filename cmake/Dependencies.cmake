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
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        set(FORKPOINT_HAVE_CUDA ON)
    endif()
endif()
add_feature_info(CUDA FORKPOINT_HAVE_CUDA "CUDA toolkit found: metrics on the GPU can be built")

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
