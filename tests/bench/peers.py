#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Comparing plain PyTorch files: forkpoint-cli against a script that loads both sides and forms five metrics with PyTorch.

    peers.py FORKPOINT_CLI [--mib 256] [--files 10000] [--repeat 3]

Needs PyTorch. Writes the files into a temporary folder (twice --mib, and --files files of 2 KiB a side), reads them once so that they are in
the page cache, and prints the best of --repeat runs of each. A number is printed, never judged.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import torch


def five_metrics(a, b):
    """Largest difference, mean difference, relative L2 difference, cosine, share of unequal elements."""
    d = (b - a).abs()
    return (d.max().item(), d.mean().item(), (torch.linalg.vector_norm(d) / torch.linalg.vector_norm(a)).item(),
            torch.nn.functional.cosine_similarity(a.flatten(), b.flatten(), dim=0).item(), (a != b).float().mean().item())


def compare_with_torch(a, b):
    if a.is_file():
        left, right = torch.load(a), torch.load(b)
        return [five_metrics(left[key], right[key]) for key in left]
    return [five_metrics(torch.load(file)["tensor"], torch.load(b / file.name)["tensor"]) for file in sorted(a.iterdir())]


def write_large(folder, mib):
    """A state_dict of 16 matrices, and the same with a little noise."""
    rows = mib * (1 << 20) // 16 // 4 // 4096
    for name, noise in (("a.pt", 0), ("b.pt", 1e-3)):
        torch.manual_seed(0)
        state = {f"layers.{i}.weight": torch.randn(rows, 4096) for i in range(16)}
        torch.save({key: value * (1 + noise) for key, value in state.items()}, folder / name)
    return folder / "a.pt", folder / "b.pt"


def write_small(folder, files):
    for side in ("a", "b"):
        (folder / side).mkdir()
        torch.manual_seed(0)
        for i in range(files):
            value = torch.randn(15, 16)
            torch.save({"layer": f"layers.{i}", "tensor": value * (1.001 if side == "b" else 1)}, folder / side / f"hook_layers.{i}_rank0.pt")
    return folder / "a", folder / "b"


def best_of(repeat, run):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(title, cli, a, b, repeat, per=None):
    torch_script = [sys.executable, __file__, "--torch", str(a), str(b)]
    rows = (("forkpoint-cli compare", best_of(repeat, lambda: subprocess.run([cli, "compare", a, b, "--json", os.devnull], stdout=subprocess.DEVNULL, check=False))),
            ("PyTorch, end to end", best_of(repeat, lambda: subprocess.run(torch_script, check=True))),
            ("PyTorch, already imported", best_of(repeat, lambda: compare_with_torch(a, b))))
    print(title)
    for name, seconds in rows:
        print(f"  {name:26} {seconds:8.3f} s" + (f"  {1e6 * seconds / per:8.1f} us a pair" if per else ""))


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--torch":
        compare_with_torch(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli")
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--files", type=int, default=10000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    with tempfile.TemporaryDirectory(prefix="forkpoint-bench-") as folder:
        a, b = write_large(pathlib.Path(folder), arguments.mib)
        measure(f"two files of {arguments.mib} MiB", arguments.cli, a, b, arguments.repeat)
    with tempfile.TemporaryDirectory(prefix="forkpoint-bench-") as folder:
        a, b = write_small(pathlib.Path(folder), arguments.files)
        size = next(a.iterdir()).stat().st_size
        measure(f"{arguments.files} files of {size} bytes a side", arguments.cli, a, b, arguments.repeat, arguments.files)


if __name__ == "__main__":
    main()
