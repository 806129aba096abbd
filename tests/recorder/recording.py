# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""What the recorder's tests share: recording in this process or in others, and reading the bundle back."""
import collections
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
RECORDER = os.path.join(REPOSITORY, "resources", "recorder", "forkpoint_recorder.py")
SCRIPTS = os.path.join(HERE, "scripts")
SAMPLE = os.path.join(REPOSITORY, "resources", "samples", "scripts", "gpt.py")

sys.path.insert(0, os.path.dirname(RECORDER))
sys.dont_write_bytecode = True
import forkpoint_recorder                                         # noqa: E402
from format_check import check                                    # noqa: E402

TORCH = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


class Rank:
    """One rank's folder, read into lists of dictionaries."""

    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "rank.json"), encoding="utf-8") as file:
            self.info = json.load(file)
        self.tensors, self.graph, self.scalars = (self.lines(name) for name in ("tensors", "graph", "scalars"))
        with open(os.path.join(folder, "tensors-0000.bin"), "rb") as file:
            self.data = file.read()

    def lines(self, name):
        with open(os.path.join(self.folder, name + ".jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file.read().split("\n")[:-1]]

    @staticmethod
    def matching(lines, keys):
        return [line for line in lines if all(line.get(key, {"call": 0, "slot": ""}.get(key)) == value for key, value in keys.items())]

    def records(self, **keys):
        return self.matching(self.tensors, keys)

    def record(self, **keys):
        """The one record with these keys."""
        found = self.records(**keys)
        if len(found) != 1:
            raise AssertionError("%d records of %r, not 1" % (len(found), keys))
        return found[0]

    def value(self, **keys):
        return self.read(self.record(**keys))

    def read(self, record):
        dtype = getattr(torch, record["dtype"])
        count = 1
        for size in record["shape"]:
            count *= size
        if "file" not in record:
            return torch.empty(record["shape"], dtype=dtype)
        size = torch.empty((), dtype=dtype).element_size()
        data = bytearray(self.data[record["offset"]:record["offset"] + count * size])
        return torch.frombuffer(data, dtype=dtype, count=count).reshape(record["shape"])

    def counts(self, **keys):
        """{"phase/kind": how many records}"""
        return dict(collections.Counter("%s/%s" % (r["phase"], r["kind"]) for r in self.records(**keys)))

    def lines_of(self, kind, **keys):
        return self.matching([line for line in self.graph if line["type"] == kind], keys)

    def edges(self, step=0, micro=0):
        """{"producer -> consumer"}, with ! for a direct one; call and slot only where they are not 0 and "". """
        def name(end):
            return (end["module"] or "root") + ("#%d" % end["call"] if end["call"] else "") + (":" + end["slot"] if end["slot"] else "")
        return {"%s %s %s" % (name(e["from"]), "!>" if e["direct"] else "->", name(e["to"]))
                for e in self.lines_of("edge", step=step, micro=micro)}

    def scalar(self, name, step=0, micro=None):
        found = [s["value"] for s in self.scalars if s["name"] == name and s["step"] == step and s.get("micro") == micro]
        if len(found) != 1:
            raise AssertionError("%d scalars %s of step %d, not 1" % (len(found), name, step))
        return found[0]


class RecorderTest(unittest.TestCase):
    """Every bundle that a test makes is checked against FORMAT.md, and the recorder must not have met an error of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="forkpoint-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = os.path.join(self.folder, "run")
        torch.manual_seed(0)

    def read(self, out=None, rank=0, faults=False):
        bundle = (out or self.out) + ".forkpoint"
        self.assertEqual(check(bundle), [])
        result = Rank(os.path.join(bundle, "rank%05d" % rank))
        if not faults:
            self.assertEqual([m for m in result.info["coverage"]["not_observed"] if "error in the recorder" in m["why"]], [])
        return result

    def record(self, train, steps="0:100", faults=False, **options):
        """Record train(recorder) in this process."""
        stderr, sys.stderr = sys.stderr, open(os.devnull, "w")
        try:
            with forkpoint_recorder.Recorder(self.out, steps=steps, **options) as recorder:
                train(recorder)
        finally:
            sys.stderr.close()
            sys.stderr = stderr
        return self.read(faults=faults)

    def assertSame(self, a, b):
        self.assertEqual(a.dtype, b.dtype)
        self.assertEqual(list(a.shape), list(b.shape))
        self.assertTrue(torch.equal(a, b), "%s\n%s" % (a, b))

    # -- other processes

    def environment(self, **values):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FORKPOINT")}
        environment.update(OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1", TORCHINDUCTOR_CACHE_DIR=os.path.join(self.folder, "inductor"))
        environment.update(values)
        return {name: value for name, value in environment.items() if value is not None}

    def run_python(self, *arguments, status=0, **environment):
        """Run this Python with `arguments`; returns (stdout, stderr)."""
        done = subprocess.run([sys.executable] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                              env=self.environment(**environment), timeout=300)
        out, err = done.stdout.decode(), done.stderr.decode()
        if status is not None:
            self.assertEqual(done.returncode, status, out + err)
        return out, err

    def run_ranks(self, arguments, world=2, **environment):
        """Start `world` processes as torchrun does; returns their standard outputs."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        processes = []
        for rank in range(world):
            values = dict(environment, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
            processes.append(subprocess.Popen([sys.executable] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                                              env=self.environment(**values)))
        outputs = [process.communicate(timeout=300) for process in processes]
        for process, (out, err) in zip(processes, outputs):
            self.assertEqual(process.returncode, 0, out.decode() + err.decode())
        return [out.decode() for out, _ in outputs]

    def script(self, text, name="train.py"):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited %d s in vain" % seconds)
        time.sleep(0.02)
