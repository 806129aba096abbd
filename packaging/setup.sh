#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
#
# From a fresh Debian 12 machine to a built, demonstrated or tested Forkpoint. Runs as root or with sudo, from any folder, as often as you
# like: what is installed and built already is not touched, and then no network is needed.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: packaging/setup.sh COMMAND [options]

commands
  build   install what is missing, configure and build: the programs are in build/bin
  test    build, then run every test
  demo    build, record two runs of a small GPT (one process; two processes with a bug), compare them and open the window on them; where
          there is no display, write its pictures

options
  --preset NAME    default (RelWithDebInfo, build/), dev (sanitizers, build-dev/), minimal (no CUDA, no LibTorch, build-minimal/)
  --torch newest   test only: run the recorder's tests, and only these, with the newest PyTorch from PyPI (a virtual environment in
                   build/torch-newest, several GB)
  --no-install     install nothing; fail where a package is missing

environment
  FORKPOINT_PYTHON  the Python that has PyTorch; by default /usr/bin/python3 with Debian's python3-torch
TEXT
}

# Every package that building, testing and the demo need, with what it is for. The one list; cmake/Dependencies.cmake says who uses it.
packages=(
    cmake               # configures the build
    ninja-build         # runs it
    g++                 # C++20 compiler
    ccache              # makes the second build quick
    pkg-config          # finds zstd
    git                 # the recorder notes the training script's commit; its tests make repositories
    libfmt-dev          # text
    nlohmann-json3-dev  # JSON documents: bundle.json, rank.json, reports
    libsimdjson-dev     # JSON lines: the indexes of a bundle
    libtbb-dev          # parallel loops
    libssl-dev          # SHA-256
    libexpected-dev     # Result<T>
    libcli11-dev        # arguments of the programs
    libhwy-dev          # vector instructions of the metrics
    libzstd-dev         # compressed frames
    libre2-dev          # patterns of mapping files, in linear time whatever the pattern
    zlib1g-dev          # compressed entries of numpy archives
    libxxhash-dev       # identities of batch rows
    libgtest-dev        # tests
    qt6-base-dev        # the window
    qt6-svg-dev         # its icons
    libgl-dev           # what Qt's own configuration asks for
    qt6-tools-dev       # its translations, made ...
    qt6-tools-dev-tools # ...
    qt6-l10n-tools      # ... by these programs
    qt6-translations-l10n # Qt's own texts in other languages
    libqcustomplot-dev  # curves
    fonts-dejavu-core   # letters for the window's pictures where no desktop is installed
    fonts-wqy-microhei  # the same for Chinese
    xvfb                # the window's tests on an X server
    xauth               # xvfb-run needs it
    libbenchmark-dev    # forkpoint-bench
    python3             # structure tests and tests of the command line
    python3-jsonschema  # tests of the JSON report against its schema
    python3-torch       # the demo's runs and the recorder's tests
)
packages_newest_torch=(
    python3-venv        # the virtual environment for PyTorch from PyPI
)

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=default
torch=debian
install=yes

say() { printf '== %s\n' "$*"; }
die() {
    local status=$1
    shift
    printf 'setup.sh: %s\n' "$*" >&2
    exit "$status"
}

build_folder() {
    if [ "$preset" = default ]; then echo "$root/build"; else echo "$root/build-$preset"; fi
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

install_packages() {
    local missing=() package state
    command -v dpkg-query >/dev/null ||
        die 2 "this is no Debian system. Install the counterparts of these packages, then use --preset and cmake directly: $*"
    for package in "$@"; do
        # Not by exit status: a removed package that left its configuration is known to dpkg too. One word per architecture.
        state=$(dpkg-query -W -f ' ${db:Status-Status} ' "$package" 2>/dev/null || true)
        case $state in *' installed '*) ;; *) missing+=("$package") ;; esac
    done
    if [ ${#missing[@]} -eq 0 ]; then
        say "packages: all $# installed"
        return
    fi
    local command="apt-get install --no-install-recommends ${missing[*]}"
    [ "$install" = yes ] || die 2 "missing packages; as root: $command"
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null || die 2 "needs root or sudo to run: $command"
    say "packages: installing ${missing[*]}"
    # One unreachable third-party source makes update fail although Debian's own answered; the installation decides.
    as_root apt-get -q -o DPkg::Lock::Timeout=300 update || say "packages: update failed, trying with the lists that are there"
    as_root apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "${missing[@]}"
}

# Arguments go to cmake --build.
build() {
    install_packages "${packages[@]}"
    say "build: preset $preset in $(build_folder)"
    cd "$root" # presets belong to the folder they are started in
    cmake --preset "$preset"
    cmake --build --preset "$preset" --parallel "$(nproc)" "$@"
    say "build: programs are in $(build_folder)/bin"
}

# The interpreter that imports torch: `python3` on the path may be another one (pyenv, conda) without it.
torch_python() {
    local python
    for python in ${FORKPOINT_PYTHON:+"$FORKPOINT_PYTHON"} /usr/bin/python3 python3; do
        if command -v "$python" >/dev/null && "$python" -c 'import torch' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    die 2 "no Python with PyTorch found; install python3-torch or set FORKPOINT_PYTHON"
}

run_tests() {
    build
    cd "$root"
    local status=0
    ctest --preset "$preset" --parallel "$(nproc)" || status=$?
    if [ $status -ne 0 ]; then
        say "test: FAILED (preset $preset); details in $(build_folder)/Testing/Temporary/LastTest.log"
        exit $status
    fi
    say "test: passed (preset $preset)"
}

run_tests_newest_torch() {
    packages+=("${packages_newest_torch[@]}")
    build
    local venv="$root/build/torch-newest" status=0 version
    if [ ! -x "$venv/bin/python" ]; then
        say "torch: making $venv"
        /usr/bin/python3 -m venv "$venv"
    fi
    say "torch: newest from PyPI (several GB at first)"
    if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade torch; then
        "$venv/bin/python" -c 'import torch' 2>/dev/null || die 1 "PyTorch could not be installed from PyPI, see pip's message above"
        say "torch: PyPI did not answer, using the version that is there"
    fi
    version=$("$venv/bin/python" -c 'import torch; print(torch.__version__)')
    say "torch: the recorder's tests with torch $version"
    cd "$root"
    PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" -m unittest discover -s tests/recorder || status=$?
    if [ $status -ne 0 ]; then
        say "test: FAILED (recorder, torch $version)"
        exit $status
    fi
    say "test: passed (recorder, torch $version)"
}

free_port() {
    "$1" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

demo_record() {
    local cli=$1 python=$2 runs=$3 script=$root/resources/samples/scripts/gpt.py
    # The script is plain PyTorch and knows nothing of Forkpoint. Its bug: the loss is a sum over the batch, and DDP takes the mean over ranks.
    export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" # what the launcher gives each process of several, with a page of warning
    say "demo: recording one process"
    "$cli" record -o "$runs/single" --steps 0:3 --overwrite -- "$python" "$script" --loss sum --lr 0.002
    say "demo: recording two processes (DDP)"
    # -r and -t: without a map over all local ranks, the launcher of torch 1.13 crashes under Python 3.11.
    "$cli" record -o "$runs/ddp2" --steps 0:3 --overwrite -- "$python" -m torch.distributed.run --nproc_per_node 2 \
        --master_port "$(free_port "$python")" -r 0:1,1:1 -t 0:1,1:1 "$script" --loss sum --lr 0.002
}

# Exit status 1 means "they differ", which is what the demo shows; 0 would mean that the bug was not seen.
demo_compare() {
    local cli=$1 runs=$2 status=0
    say "demo: comparing"
    "$cli" compare "$runs/single.forkpoint" "$runs/ddp2.forkpoint" || status=$?
    case $status in
        1) ;;
        0) die 1 "the two runs should differ, and compare says that they agree" ;;
        *) die "$status" "compare failed with exit status $status" ;;
    esac
}

# The window on the two runs; without a display its pictures.
demo_show() {
    local window=$1 runs=$2 picture
    local pair=("$runs/single.forkpoint" "$runs/ddp2.forkpoint")
    if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
        say "demo: opening the window; the demo ends when it is closed"
        "$window" "${pair[@]}"
        return
    fi
    say "demo: no display, writing pictures of the window"
    for picture in all graph heatmap curves; do
        "$window" "${pair[@]}" --screenshot "$runs/$picture.png" --view "$picture"
        say "demo: $runs/$picture.png"
    done
}

demo() {
    build --target forkpoint-cli --target forkpoint
    local cli python runs
    cli=$(build_folder)/bin/forkpoint-cli
    runs=$(build_folder)/demo
    python=$(torch_python)
    mkdir -p "$runs"
    demo_record "$cli" "$python" "$runs"
    demo_compare "$cli" "$runs"
    say "demo: the runs lie in $runs/single.forkpoint and $runs/ddp2.forkpoint"
    demo_show "$(build_folder)/bin/forkpoint" "$runs"
    say "demo: done"
}

command=${1:-}
[ $# -eq 0 ] || shift
while [ $# -gt 0 ]; do
    case $1 in
        --preset | --torch)
            [ $# -ge 2 ] || die 2 "$1 needs a value; see packaging/setup.sh --help"
            if [ "$1" = --preset ]; then preset=$2; else torch=$2; fi
            shift 2
            ;;
        --no-install) install=no && shift ;;
        -h | --help) command=--help && shift ;;
        *) die 2 "unknown option $1; see packaging/setup.sh --help" ;;
    esac
done
case $preset in default | dev | minimal) ;; *) die 2 "unknown preset $preset: default, dev or minimal" ;; esac
case $torch in debian | newest) ;; *) die 2 "unknown --torch $torch: only newest" ;; esac
[ "$torch" = debian ] || [ "$command" = test ] || die 2 "--torch belongs to the command test"

case $command in
    build) build ;;
    demo) demo ;;
    test) if [ "$torch" = newest ]; then run_tests_newest_torch; else run_tests; fi ;;
    -h | --help | help) usage ;;
    '') usage >&2 && exit 2 ;;
    *) die 2 "unknown command $command: build, demo or test" ;;
esac
