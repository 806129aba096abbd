#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
#
# Records the sample bundles again and replaces those beside this file. Needs Python with PyTorch (FORKPOINT_PYTHON, else /usr/bin/python3).
# The committed ones come from Debian 12's PyTorch 1.13; another version or machine gives other roundings, so renew the expectations
# in tests/cli/golden as well, and read what changed: FORKPOINT_UPDATE_GOLDEN=1 ctest --preset default -L cli
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$(command -v "${FORKPOINT_PYTHON:-/usr/bin/python3}")
most_bytes=1000000 # per bundle: they are committed

# Bundles are public. A folder of its own and an empty environment keep this machine's paths and variables out of them.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/scripts/gpt.py" "$here/../recorder/forkpoint_recorder.py" "$work"
cd "$work"
run() { env -i PATH=/usr/bin:/bin HOME="$work" LANG=C.UTF-8 OMP_NUM_THREADS=1 "$python" "$@"; }

record_single() {
    local name=$1 steps=$2
    shift 2
    run forkpoint_recorder.py --out "$name" --steps "$steps" gpt.py "$@"
}

record_ddp2() {
    local name=$1 steps=$2 port
    shift 2
    port=$(run -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    # -r and -t: without a map over all local ranks, the launcher of torch 1.13 crashes under Python 3.11.
    run forkpoint_recorder.py --out "$name" --steps "$steps" -- "$python" -m torch.distributed.run --nproc_per_node 2 \
        --master_addr 127.0.0.1 --master_port "$port" -r 0:1,1:1 -t 0:1,1:1 gpt.py "$@"
}

# A large learning rate moves the weights far enough in a step that rounding is seen nearly everywhere from the second step on. The two-rank run
# leaves out step 0, where one BLAS computes each row in the same way whatever the batch, and almost no element of the forward pass differs.
healthy=(--steps 4 --batch 4 --lr 0.5)
record_single healthy-single 0:3 "${healthy[@]}"
record_ddp2 healthy-ddp2 1:3 "${healthy[@]}"
record_single fault 0:2 "${healthy[@]}" --forward-fault
record_single sumloss-single 0:2 --steps 4 --batch 4 --loss sum --lr 0.002
record_ddp2 sumloss-ddp2 0:2 --steps 4 --batch 4 --loss sum --lr 0.002

for bundle in *.forkpoint; do
    # The kernel's release names the machine, not the run.
    sed -i -E 's/("platform": "[A-Za-z]+)-[^"]*(-with-[^"]*")/\1\2/' "$bundle"/rank*/rank.json
    bytes=$(find "$bundle" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
    if [ "$bytes" -ge "$most_bytes" ]; then
        printf 'record.sh: %s has %s bytes, more than %s\n' "$bundle" "$bytes" "$most_bytes" >&2
        exit 1
    fi
    rm -rf "${here:?}/$bundle"
    cp -r "$bundle" "$here/$bundle"
    printf 'record.sh: %s, %s bytes\n' "$bundle" "$bytes"
done
