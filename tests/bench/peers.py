#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Comparing plain PyTorch files: forkpoint-cli against scripts that load both sides and form five metrics with PyTorch and with NumPy, and
against msprobe (mindstudio-probe) where it is installed.

    peers.py FORKPOINT_CLI [--mib 256] [--files 10000] [--repeat 3] [--msprobe PROGRAM]

Needs PyTorch. Writes the files into a temporary folder (twice --mib; --files files of 2 KiB a side; a dump of 275 tensors, 1 GB both sides
together), so that they are in the page cache, and prints the best of --repeat runs of each, beside a plain read of all the bytes by one thread.
A number is printed, never judged.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy
import torch


def five_metrics(a, b):
    """Largest difference, mean difference, relative L2 difference, cosine, share of unequal elements."""
    d = (b - a).abs()
    return (d.max().item(), d.mean().item(), (torch.linalg.vector_norm(d) / torch.linalg.vector_norm(a)).item(),
            torch.nn.functional.cosine_similarity(a.flatten(), b.flatten(), dim=0).item(), (a != b).float().mean().item())


def five_metrics_of_numpy(a, b):
    d = numpy.abs(b - a)
    return (d.max(), d.mean(), numpy.linalg.norm(d) / numpy.linalg.norm(a),
            numpy.dot(a.ravel(), b.ravel()) / (numpy.linalg.norm(a) * numpy.linalg.norm(b)), (a != b).mean())


def compare_in_memory(mib, repeat):
    """The metrics alone, of one float32 tensor in memory."""
    torch.manual_seed(0)
    a = torch.randn(mib << 18)
    b = a * (1 + 1e-3)
    x, y = a.numpy(), b.numpy()
    print(f"five metrics of two tensors of {mib} MiB in memory")
    report("a plain sum (the read limit), one thread", best_of(repeat, lambda: (x.view("uint64").sum(), y.view("uint64").sum())), 2 * mib << 20)
    report("PyTorch", best_of(repeat, lambda: five_metrics(a, b)), 2 * mib << 20)
    report("NumPy", best_of(repeat, lambda: five_metrics_of_numpy(x, y)), 2 * mib << 20)


def report(name, seconds, size, per=None):
    print(f"  {name:42} {seconds:9.3f} s  {size / seconds / 1e9:7.2f} GB/s" + (f"  {1e6 * seconds / per:8.1f} us a pair" if per else ""))


def compare_with_torch(a, b):
    if a.is_file():
        left, right = torch.load(a), torch.load(b)
        return [five_metrics(left[key], right[key]) for key in left]
    def load(file):
        value = torch.load(file)
        return value["tensor"] if isinstance(value, dict) else value
    return [five_metrics(load(file), load(b / file.name)) for file in sorted(a.iterdir())]


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


def write_dump(folder, tensors=275, rows=445, columns=1021):
    """As msprobe writes one: an index, and a file for each tensor. Returns the folders of files."""
    for side, factor in (("a", 1), ("b", 1.001)):
        files = folder / side / "step0" / "rank0" / "dump_tensor_data"
        files.mkdir(parents=True)
        torch.manual_seed(0)
        data = {}
        for i in range(tensors):
            value = torch.randn(rows, columns) * factor
            name = f"Module.layers.{i}.Linear.forward.0"
            torch.save(value, files / f"{name}.output.0.pt")
            data[name] = {"output": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [rows, columns], "Max": value.max().item(),
                                      "Min": value.min().item(), "Mean": value.mean().item(), "Norm": value.norm().item(), "requires_grad": False,
                                      "data_name": f"{name}.output.0.pt"}]}
        index = {"task": "tensor", "level": "L0", "framework": "pytorch", "dump_data_dir": str(files), "data": data}
        (files.parent / "dump.json").write_text(json.dumps(index))
        (files.parent / "stack.json").write_text(json.dumps({"0": [list(data), ["File train.py, line 1, in main, \n step()"]]}))
        (files.parent / "construct.json").write_text(json.dumps(dict.fromkeys(data)))
    return folder / "a", folder / "b"


def best_of(repeat, run):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def read_all(a, b):
    buffer = bytearray(1 << 20)
    for side in (a, b):
        for path in [side] if side.is_file() else side.iterdir():
            with open(path, "rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass


def measure(title, arguments, a, b, per=None, msprobe=None):
    size = sum(path.stat().st_size for side in (a, b) for path in ([side] if side.is_file() else side.iterdir()))
    torch_script = [sys.executable, __file__, "--torch", str(a), str(b)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    print(title)
    report("reading the files, one thread", best_of(arguments.repeat, lambda: read_all(a, b)), size, per)
    for threads in ("1", "2"):
        if int(threads) <= len(os.sched_getaffinity(0)):
            run = ["taskset", "-c", "0" if threads == "1" else "0,1", arguments.cli, "compare", a, b, "--json", os.devnull]
            report(f"forkpoint-cli compare, processors: {threads}", best_of(arguments.repeat, lambda: subprocess.run(run, check=False, **quiet)), size, per)
    report("PyTorch, a script from start to end", best_of(arguments.repeat, lambda: subprocess.run(torch_script, check=True)), size, per)
    report("PyTorch, already imported", best_of(arguments.repeat, lambda: compare_with_torch(a, b)), size, per)
    if msprobe:
        report("msprobe compare", best_of(1, lambda: subprocess.run(msprobe, check=True, **quiet)), size, per)


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--torch":
        compare_with_torch(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli")
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--files", type=int, default=10000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--msprobe", default=shutil.which("msprobe"), help="default: the one in PATH, if there is one")
    arguments = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, numpy {numpy.__version__}")
    compare_in_memory(arguments.mib, arguments.repeat)
    with tempfile.TemporaryDirectory(prefix="forkpoint-bench-") as folder:
        a, b = write_large(pathlib.Path(folder), arguments.mib)
        measure(f"two files of {arguments.mib} MiB", arguments, a, b)
    with tempfile.TemporaryDirectory(prefix="forkpoint-bench-") as folder:
        a, b = write_small(pathlib.Path(folder), arguments.files)
        size = next(a.iterdir()).stat().st_size
        measure(f"{arguments.files} files of {size} bytes a side", arguments, a, b, arguments.files)
    with tempfile.TemporaryDirectory(prefix="forkpoint-bench-") as folder:
        a, b = write_dump(pathlib.Path(folder))
        index, data = "step0/rank0/dump.json", "step0/rank0/dump_tensor_data"
        msprobe = arguments.msprobe and [arguments.msprobe, "compare", "--target_path", b / index, "--golden_path", a / index, "--output_path", pathlib.Path(folder) / "out"]
        measure("a dump of 275 tensors", arguments, a / data, b / data, 275, msprobe)


if __name__ == "__main__":
    main()
