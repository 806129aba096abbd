# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: running it, damaging copies of bundles, reading its JSON."""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = "resources/samples"
HAND = "tests/data/hand.forkpoint"

Result = collections.namedtuple("Result", "status stdout stderr")


def program():
    path = os.environ.get("FORKPOINT_CLI") or ROOT / "build/bin/forkpoint-cli"
    return str(pathlib.Path(path).resolve())


def run_cli(*arguments, cwd=ROOT, **environment):
    """forkpoint-cli with these arguments, from the repository's root unless told otherwise, in a terminal 100 columns wide without colour."""
    result = subprocess.run(
        [program(), *map(str, arguments)], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        timeout=300, env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C.UTF-8",
                          "COLUMNS": "100", **environment})
    return Result(result.returncode, result.stdout, result.stderr)


class CommandLineTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="forkpoint cli ")  # a space in the path, on purpose
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def copy(self, bundle=HAND, name="damaged"):
        """A copy of a bundle to be damaged."""
        target = self.folder / f"{name}.forkpoint"
        shutil.copytree(ROOT / bundle, target)
        return target

    def compare_json(self, *arguments):
        result = run_cli("compare", *arguments, "--json", "-")
        self.assertIn(result.status, (0, 1), result.stderr)
        return json.loads(result.stdout)

    def assert_one_clear_line(self, result, status, *parts):
        """A usage error: nothing on standard output, one line on standard error with the program's name and what it is about."""
        self.assertEqual((result.status, result.stdout), (status, ""), result)
        self.assertRegex(result.stderr, r"\Aforkpoint-cli: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, result.stderr)


def edit_json(path, **changes):
    document = json.loads(path.read_text(encoding="utf-8"))
    document.update(changes)
    path.write_text(json.dumps(document), encoding="utf-8")


def edit_record(bundle, index, rank=0, **changes):
    """Changes keys of one record of tensors.jsonl."""
    path = bundle / f"rank{rank:05}" / "tensors.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[index] = json.dumps({**json.loads(lines[index]), **changes})
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
