#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
#
# Everything that needs a GPU, in one command and under four minutes: builds what is needed, runs the tests and the measurements, and writes a report.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: tests/cuda/check.sh [--prebuilt | --build-only] [--no-install] [--report FILE]

  --prebuilt     build nothing: run the programs in build/cuda-check, which --build-only made here or on another machine
  --build-only   build them, with the libraries they need beside them, and run nothing
  --no-install   install no packages; say which are missing
  --report FILE  where the report goes; default build/cuda-report.txt

Exit status: 0 all passed, 1 something failed, 2 it could not be built, 77 there is no GPU.
TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tree=$root/build
check=$tree/cuda-check
report=$tree/cuda-report.txt
mode=all
install=yes

# The list is packaging/setup.sh's, less what the window, the benchmarks and the recorder need.
needed_packages() {
    sed -n '/^packages=(/,/^)/p' "$root/packaging/setup.sh" | awk 'NF > 1 && $1 !~ /[(#]/ { print $1 }' |
        grep -Ev '^(qt6-|libqcustomplot|libgl-|fonts-|xvfb|xauth|libbenchmark|python3-|git$|ccache$)'
}

say() { printf '== %s\n' "$*"; }
die() {
    printf 'check.sh: %s\n' "$2" >&2
    exit "$1"
}

while [ $# -gt 0 ]; do
    case $1 in
        --prebuilt) mode=prebuilt && shift ;;
        --build-only) mode=build && shift ;;
        --no-install) install=no && shift ;;
        --report)
            [ $# -ge 2 ] || die 2 "--report needs a file"
            report=$2
            shift 2
            ;;
        -h | --help) usage && exit 0 ;;
        *) die 2 "unknown option $1; see tests/cuda/check.sh --help" ;;
    esac
done

have_packages() {
    local packages missing=() package
    mapfile -t packages < <(needed_packages)
    command -v dpkg-query >/dev/null || { say "no Debian system: the counterparts of these are needed: ${packages[*]}" && return; }
    for package in "${packages[@]}"; do
        case $(dpkg-query -W -f ' ${db:Status-Status} ' "$package" 2>/dev/null || true) in *' installed '*) ;; *) missing+=("$package") ;; esac
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    local command="apt-get install --no-install-recommends ${missing[*]}"
    [ $install = yes ] && [ "$(id -u)" -eq 0 ] ||
        die 2 "missing packages; as root: $command (or carry $check from a machine where --build-only ran, and use --prebuilt)"
    say "installing ${missing[*]}"
    { timeout 60 apt-get -q update || true; } >/dev/null
    DEBIAN_FRONTEND=noninteractive timeout 150 apt-get -q -y install --no-install-recommends "${missing[@]}" >/dev/null ||
        die 2 "these packages could not be installed: ${missing[*]}; carry $check from a machine where --build-only ran, and use --prebuilt"
}

# The programs, the module and the shared libraries they load, but for those that belong to the system and its driver.
collect() {
    local program library
    rm -rf "$check"
    mkdir -p "$check/lib"
    for program in forkpoint-cuda-test forkpoint-cuda-bench forkpoint_cuda.so; do
        cp "$tree/bin/$program" "$check/"
        strip --strip-debug "$check/$program"
    done
    for program in forkpoint-cuda-test forkpoint-cuda-bench; do
        ldd "$check/$program" | awk '$2 == "=>" { print $3 }'
    done | sort -u | while read -r library; do
        case $(basename "$library") in libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | ld-linux*) ;; *) cp -L "$library" "$check/lib/" ;; esac
    done
}

build() {
    have_packages
    [ -n "${CUDACXX:-}" ] || command -v nvcc >/dev/null || [ ! -x /usr/local/cuda/bin/nvcc ] || export CUDACXX=/usr/local/cuda/bin/nvcc
    say "building in $tree"
    mkdir -p "$tree"
    (cd "$root" && cmake --preset default) >"$tree/cuda-configure.txt" 2>&1 || {
        tail -n 5 "$tree/cuda-configure.txt" >&2
        die 2 "configuring failed; see $tree/cuda-configure.txt"
    }
    grep -q '^CMAKE_CUDA_COMPILER:[^=]*=/' "$tree/CMakeCache.txt" || die 2 "no nvcc was found: install the CUDA toolkit or set CUDACXX"
    cmake --build "$tree" --parallel "$(nproc)" --target forkpoint-cuda-test forkpoint-cuda-bench || die 2 "the build failed, see above"
    collect
}

run() {
    # $1: seconds at most; then the program. Its output goes to the report too.
    local status=0
    LD_LIBRARY_PATH="$check/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" timeout "$@" >"$report.part" 2>&1 || status=$?
    cat "$report.part" >>"$report"
    tail -n 45 "$report.part"
    rm -f "$report.part"
    return $status
}

[ "$mode" = prebuilt ] || build
[ "$mode" != build ] || { say "built: $check" && exit 0; }
[ -x "$check/forkpoint-cuda-test" ] || die 2 "$check holds no programs; run tests/cuda/check.sh --build-only first"

mkdir -p "$(dirname "$report")"
{
    echo "Forkpoint on a GPU, $(date -u +%Y-%m-%dT%H:%M:%SZ)"
    echo "processor: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) threads"
    nvidia-smi --query-gpu=name,driver_version,memory.total,pcie.link.gen.current,pcie.link.width.current --format=csv,noheader 2>/dev/null ||
        echo "nvidia-smi: not here"
    echo
} >"$report"

say "tests"
status=0
run 130 "$check/forkpoint-cuda-test" || status=$?
[ $status -ne 77 ] || { say "no GPU: nothing was tested" && exit 77; }
say "measurements"
bench=0
run 80 "$check/forkpoint-cuda-bench" || bench=$?
say "report: $report"
[ $status -eq 0 ] && [ $bench -eq 0 ] || die 1 "FAILED: tests ended with $status, measurements with $bench (124: out of time)"
say "passed"
