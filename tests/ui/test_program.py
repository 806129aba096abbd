# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The desktop program as it is started: pictures without a display, and the exit status."""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
LOSS = ROOT / "tests/data/loss"


def png_size(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    return struct.unpack(">II", data[16:24])


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="forkpoint program ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.picture = self.folder / "out.png"

    def run_program(self, *arguments):
        program = os.environ.get("FORKPOINT_PROGRAM") or ROOT / "build/bin/forkpoint"
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(self.folder), "LC_ALL": "C.UTF-8",
                       "LSAN_OPTIONS": os.environ.get("LSAN_OPTIONS", "")}
        return subprocess.run([str(program), *map(str, arguments), "--screenshot", str(self.picture)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", check=False, timeout=110, env=environment)

    def test_pictures_of_logs(self):
        pairs = [("loss_A.csv", "loss_B.csv"), ("tb_A", "loss_A.jsonl"), ("hf_A", "hf_B"), ("console.txt", "console.txt")]
        for a, b in pairs:
            with self.subTest(a):
                self.picture.unlink(missing_ok=True)
                result = self.run_program(LOSS / a, LOSS / b, "--size", "1100x700", "--scale", "1")
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                width, height = png_size(self.picture)
                self.assertEqual(width, 1100)
                self.assertGreater(height, 700, "with its caption")

    def test_a_picture_of_the_error(self):
        result = self.run_program(LOSS / "loss_A.csv", ROOT / "LICENSE", "--size", "1100x700", "--scale", "1.5")
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr, r"\Aforkpoint: [^\n]*LICENSE: is neither a run nor tensors [^\n]*\n\Z")
        self.assertEqual(png_size(self.picture)[0], 1650)

    def test_nothing_that_is_read_is_overwritten(self):
        log = self.folder / "a.csv"
        log.write_bytes((LOSS / "loss_A.csv").read_bytes())
        self.picture = log
        result = self.run_program(log, LOSS / "loss_B.csv")
        self.assertEqual((result.returncode, log.read_bytes()), (2, (LOSS / "loss_A.csv").read_bytes()))
        self.assertIn("would overwrite what is read", result.stderr)

    def test_usage_has_its_own_status(self):
        tensors = ROOT / "tests/data/plain/checkpoint_A_single/model.pt"
        result = self.run_program(LOSS / "loss_A.csv", tensors)
        self.assertEqual(result.returncode, 2)
        self.assertIn("is a log (CSV)", result.stderr)
        self.assertTrue(self.picture.exists())
        self.picture.unlink()
        result = self.run_program(LOSS / "loss_A.csv", LOSS / "loss_B.csv", "--step", "3")
        self.assertEqual((result.returncode, self.picture.exists()), (2, False))
        self.assertIn("logs have no recorded steps", result.stderr)


if __name__ == "__main__":
    unittest.main()
