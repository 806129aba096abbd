# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Bundles that nodes without a shared disk left become one."""

import os
import shutil
import subprocess
import sys
import unittest

from command_line import HAND, ROOT, SAMPLES, CommandLineTest, edit_json, program, run_cli

DDP = f"{SAMPLES}/healthy-ddp2.forkpoint"


class MergeTest(CommandLineTest):
    def nodes(self):
        """The two ranks of a sample as two nodes left them; returns the folder that holds both."""
        folder = self.folder / "parts"
        folder.mkdir()
        for rank in (0, 1):
            node = self.copy(DDP, f"parts/node{rank}")
            shutil.rmtree(node / f"rank{1 - rank:05}")
        return folder

    def test_merged_is_what_is_read_together(self):
        parts, out = self.nodes(), self.folder / "all.forkpoint"
        result = run_cli("merge", self.folder / "all", parts / "node0.forkpoint", parts / "node1.forkpoint")
        size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
        text = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
        self.assertEqual(result, (0, f"{out}: 2 bundles joined, ranks 0-1 of 2 ({parts}/node0.forkpoint: 0; {parts}/node1.forkpoint: 1), {text}\n", ""))
        for other in (parts, DDP):
            compared = run_cli("compare", other, out)
            self.assertEqual((compared.status, compared.stdout.split()[0]), (0, "IDENTICAL"), compared)
        self.assertEqual(self.compare_json(parts, out)["pairs"], self.compare_json(parts, parts)["pairs"])
        self.assertEqual(run_cli("verify", out).status, 0)
        self.assertEqual(sorted(os.listdir(self.folder)), ["all.forkpoint", "parts"])
        self.assertEqual(sorted(os.listdir(parts)), ["node0.forkpoint", "node1.forkpoint"])

    def test_a_folder_of_parts(self):
        parts = self.nodes()
        result = run_cli("merge", parts / "all", parts)
        self.assertEqual((result.status, "2 bundles joined" in result.stdout), (0, True), result)
        self.assert_one_clear_line(run_cli("merge", parts / "all", parts), 2, "all.forkpoint: is there already", "--overwrite")
        self.assertEqual(run_cli("merge", "--overwrite", parts / "all", parts), result)

    def test_ranks_that_are_missing(self):
        parts = self.nodes()
        result = run_cli("merge", self.folder / "some", parts / "node1.forkpoint")
        missing, told = result.stdout.splitlines()
        self.assertEqual((result.status, result.stderr), (0, ""))
        self.assertTrue(missing.startswith("some.forkpoint: 1 of 2 ranks are missing: 0."), missing)
        self.assertIn(": 1 bundle joined, ranks 1 of 2 (", told)
        self.assertEqual(run_cli("info", self.folder / "some").status, 0)

    def test_what_does_not_belong_together(self):
        parts = self.nodes()
        self.assert_one_clear_line(run_cli("merge", self.folder / "all", parts, DDP), 2, f"{DDP}: has rank 0, and so has {parts}/node0.forkpoint")
        edit_json(parts / "node1.forkpoint/bundle.json", run_id="another")
        self.assert_one_clear_line(run_cli("merge", self.folder / "all", parts), 2, "node1.forkpoint: is of another launch than", "node0.forkpoint")
        self.assert_one_clear_line(run_cli("merge", self.folder / "all", self.folder / "nowhere"), 3, "nowhere does not exist")
        self.assertEqual(os.listdir(self.folder), ["parts"])

    def test_no_rank_is_lost(self):
        """Neither by a forgotten OUT nor by one that is a part."""
        parts = self.nodes()
        node0, node1 = parts / "node0.forkpoint", parts / "node1.forkpoint"
        before = sorted(file.relative_to(parts) for file in parts.rglob("*"))
        for arguments, words in (((node0, node1), "rank 0 of this launch. It would be lost"), ((node0, parts), "rank 0 of this launch"),
                                 ((node0, node0, node1), "is where the result would go")):
            with self.subTest(words):
                self.assert_one_clear_line(run_cli("merge", "--overwrite", *arguments), 2, "node0.forkpoint", words)
                self.assertEqual(sorted(file.relative_to(parts) for file in parts.rglob("*")), before)

    def test_a_disk_that_is_full(self):
        """A limit on the size of files stands for it: nothing half-written stays."""
        limited = "import resource, signal, os, sys\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" \
                  "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\nos.execv(sys.argv[1], sys.argv[1:])\n"

        def merge(bundle):
            return subprocess.run([sys.executable, "-c", limited, program(), "merge", "--overwrite", self.folder / "all", bundle], cwd=ROOT, capture_output=True,
                                  text=True, check=False)

        self.assertEqual(merge(HAND).returncode, 0, "the hand-checked bundle is small enough")
        result = merge(DDP)
        self.assertEqual((result.returncode, "cannot be written" in result.stderr), (2, True), result)
        self.assertEqual(os.listdir(self.folder), ["all.forkpoint"])
        self.assertEqual(run_cli("compare", HAND, self.folder / "all").status, 0, "what was there before is untouched")


if __name__ == "__main__":
    unittest.main()
