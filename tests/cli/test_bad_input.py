# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Bundles that are not there, damaged or lying. Each message says what is wrong, where, and what to do or what happens now; what can be read is used."""

import json
import os
import pathlib
import re
import shutil
import unittest

from command_line import HAND, ROOT, SAMPLES, CommandLineTest, edit_json, edit_record, run_cli

RECORDS = 12  # of the hand-checked bundle


def truncate(path, size):
    with open(path, "r+b") as file:
        file.truncate(size)


def drop_lines(path, count):
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-count]))


def append(path, text):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def tensors(bundle):
    return bundle / "rank00000/tensors.jsonl"


def data(bundle):
    return bundle / "rank00000/tensors-0000.bin"


def lying(index=4, **changes):
    return lambda bundle: edit_record(bundle, index, **changes)


BIG = 1 << 62

# name: (damage, tensors that are still read, how many of them have bytes, what the message says)
DAMAGED = {
    "index cut within a line": (lambda b: truncate(tensors(b), 900), 2, 2, ("tensors.jsonl:3", "torn")),
    "torn last line": (lambda b: append(tensors(b), '{"id":99,"step'), 12, 12, ("tensors.jsonl:13", "torn", "ignored")),
    "a line that is no JSON": (lambda b: append(tensors(b), "}{\n"), 12, 12, ("tensors.jsonl:13", "skipped")),
    "a line of zeros": (lambda b: append(tensors(b), "\0" * 100 + "\n"), 12, 12, ("tensors.jsonl:13", "skipped")),
    "no data file": (lambda b: data(b).unlink(), 12, 0, ("tensors-0000.bin", "missing", "Copy the file again")),
    "empty data file": (lambda b: truncate(data(b), 0), 12, 0, ("tensors-0000.bin", "0 bytes", "Copy the file again")),
    "short data file": (lambda b: truncate(data(b), 330), 12, 9, ("bytes 320 to 336", "330 bytes", "Copy the file again")),
    "a directory for a data file": (lambda b: (data(b).unlink(), data(b).mkdir()), 12, 0, ("tensors-0000.bin",)),
    "a link for a data file": (lambda b: (data(b).unlink(), data(b).symlink_to("/dev/zero")), 12, 0, ("tensors-0000.bin", "link")),
    "offset not aligned": (lying(offset=32), 12, 11, ("tensors.jsonl:5", "offset 32", "64")),
    "offset negative": (lying(offset=-64), 12, 11, ("tensors.jsonl:5", "offset -64")),
    "offset past the end": (lying(offset=BIG), 12, 11, (f"bytes {BIG} to {BIG + 8}", "past the end")),
    "shape too large for the file": (lying(shape=[1 << 20, 1 << 20]), 12, 11, ("past the end",)),
    "shape that overflows": (lying(shape=[BIG, 4]), 12, 11, ("tensors.jsonl:5", "impossible")),
    "shape negative": (lying(shape=[-1, -2]), 12, 11, ("tensors.jsonl:5", "impossible")),
    "shape of no numbers": (lying(shape=["two"]), 11, 11, ("tensors.jsonl:5", "`shape`", "skipped")),
    "frame larger than what it holds": (lying(codec="zstd", frames=[BIG]), 12, 11, ("tensors.jsonl:5", "frame 0", str(BIG))),
    "frames missing": (lying(codec="zstd"), 12, 11, ("tensors.jsonl:5", "frames")),
    "too many frames": (lying(codec="zstd", frames=[4, 4, 4]), 12, 11, ("tensors.jsonl:5", "frames")),
    "frame size 0": (lying(codec="zstd", frames=[8], frame_size=0), 12, 11, ("tensors.jsonl:5", "frame size 0")),
    "frame size above the limit": (lying(codec="zstd", frames=[8], frame_size=1 << 40), 12, 11, ("tensors.jsonl:5", "frame size 1099511627776")),
    "unknown codec": (lying(codec="lz4"), 12, 11, ("tensors.jsonl:5", "lz4")),
    "a file outside the bundle": (lying(file="../../secret"), 12, 11, ("tensors.jsonl:5", "plain file name")),
    "the same id twice": (lying(id=0), 11, 11, ("tensors.jsonl:5", "`id` 0", "skipped")),
    "id negative": (lying(id=-5), 11, 11, ("tensors.jsonl:5", "`id`", "skipped")),
    "id of no number": (lying(id="four"), 11, 11, ("tensors.jsonl:5", "`id`", "skipped")),
    "a required key missing": (lying(step=None), 11, 11, ("tensors.jsonl:5", "`step`", "skipped")),
    "unknown element type": (lying(dtype="float33"), 11, 11, ("tensors.jsonl:5", "float33", "skipped")),
    "bundle.json no JSON": (lambda b: (b / "bundle.json").write_text("{"), 12, 12, ("bundle.json", "rank")),
}

# name: (damage, what the message says); the bundle cannot be read at all
REFUSED = {
    "newer major version": (lambda b: edit_json(b / "bundle.json", version=[2, 0]), ("bundle.json", "2.0", "newer")),
    "newer major version of the rank": (lambda b: edit_json(b / "rank00000/rank.json", version=[2, 0]), ("rank.json", "2.0", "newer")),
    "another program's file": (lambda b: edit_json(b / "bundle.json", format="other-bundle"), ("bundle.json", "other-bundle")),
    "no rank": (lambda b: shutil.rmtree(b / "rank00000"), ("rank",)),
}


class BadInputTest(CommandLineTest):
    def test_damaged_bundles_are_read_as_far_as_they_go(self):
        for number, (name, (damage, tensors_read, with_bytes, parts)) in enumerate(DAMAGED.items()):
            with self.subTest(name):
                bundle = self.copy(name=f"damaged{number}")
                damage(bundle)
                verify, info, compare = run_cli("verify", bundle), run_cli("info", bundle), run_cli("compare", HAND, bundle)
                self.assertEqual((verify.status, info.status, verify.stderr, info.stderr), (1, 0, "", ""))
                self.assertIn(f"{tensors_read} tensors, {with_bytes} checked", verify.stdout)
                self.assertTrue(verify.stdout.endswith(": damaged\n"))
                self.assertIn(compare.status, (0, 1))
                self.assertIn("compared" if compare.status == 0 else "fork", compare.stdout)
                for text in (verify.stdout, info.stdout, compare.stdout):
                    for part in parts:
                        self.assertIn(part, " ".join(text.split()))

    def test_bundles_that_cannot_be_read(self):
        for number, (name, (damage, parts)) in enumerate(REFUSED.items()):
            bundle = self.copy(name=f"refused{number}")
            damage(bundle)
            for arguments in (("info", bundle), ("verify", bundle), ("compare", HAND, bundle), ("compare", bundle, HAND)):
                with self.subTest(f"{name}, {arguments[0]}"):
                    self.assert_one_clear_line(run_cli(*arguments), 3, *parts)

    def test_what_is_no_bundle(self):
        empty, other = self.folder / "empty", self.folder / "other"
        empty.mkdir()
        other.mkdir()
        (other / "notes.txt").write_text("nothing recorded here")
        for path, parts in ((self.folder / "none", ("does not exist", "Check the spelling")), (empty, ("empty folder", "Record one with")),
                            (other, ("not a Forkpoint bundle", "Record one with")), (ROOT / "README.md", ("is a file", "folder NAME.forkpoint")),
                            (pathlib.Path("/dev/null"), ("/dev/null",))):
            for arguments in (("info", path), ("verify", path), ("compare", HAND, path), ("compare", path, HAND), ("compare", HAND, HAND, "--noise", path)):
                with self.subTest(arguments):
                    self.assert_one_clear_line(run_cli(*arguments), 3, str(path), *parts)

    def test_ranks_that_lost_their_bundle_json(self):
        bundle = self.copy()
        (bundle / "bundle.json").unlink()
        result = run_cli("verify", bundle)
        self.assertEqual((result.status, "bundle.json" in result.stdout), (0, True), result)  # nodes without a shared file system leave such
        self.assertEqual(run_cli("compare", HAND, bundle).status, 0)

    def test_a_name_without_its_ending(self):
        self.assertEqual(run_cli("info", HAND.removesuffix(".forkpoint")), run_cli("info", HAND))

    def test_a_run_against_itself(self):
        for bundle in (HAND, f"{SAMPLES}/healthy-ddp2.forkpoint"):
            report = self.compare_json(bundle, bundle)
            self.assertEqual((report["verdict"]["severity"], {pair["severity"] for pair in report["pairs"]}), ("identical", {"identical"}))
            self.assertEqual(run_cli("compare", bundle, bundle).status, 0)

    def test_a_rank_missing(self):
        for rank in (0, 1):
            with self.subTest(rank):
                bundle = self.copy(f"{SAMPLES}/healthy-ddp2.forkpoint", f"without{rank}")
                shutil.rmtree(bundle / f"rank{rank:05}")
                message = f"1 of 2 ranks are missing: {rank}"
                verify = run_cli("verify", bundle)
                self.assertEqual((verify.status, message in verify.stdout), (0, True), verify)
                self.assertTrue(verify.stdout.endswith("tensor bytes undamaged\n"), "of the ranks that are there nothing is damaged")
                self.assertIn(message, run_cli("info", bundle).stdout)
                compared = run_cli("compare", f"{SAMPLES}/healthy-single.forkpoint", bundle)
                self.assertEqual((compared.status, compared.stdout.split()[0]), (0, "NOISE"), "what is left of a healthy run is healthy")
                for part in (message, f"252 pairs not compared: the candidate is only rank {1 - rank} of 2 ranks"):
                    self.assertIn(part, " ".join(compared.stdout.split()))
                other = run_cli("compare", f"{SAMPLES}/healthy-ddp2.forkpoint@{1 - rank}", f"{bundle}@{1 - rank}")
                self.assertEqual((other.status, other.stdout.split()[0]), (0, "IDENTICAL"))
                self.assert_one_clear_line(run_cli("compare", bundle, f"{bundle}@{rank}"), 2, f"no rank {rank}", f"recorded ranks: {1 - rank}")

    def test_numbers_that_are_not_finite(self):
        for text, value in (("0000c07f", "NaN"), ("0000807f", "infinite")):
            bundle = self.copy(name=value)
            content = bytearray(data(bundle).read_bytes())
            content[128:132] = bytes.fromhex(text)
            data(bundle).write_bytes(content)
            edit_record(bundle, 4, digest="0" * 64)
            result = run_cli("compare", HAND, bundle)
            self.assertEqual((result.status, result.stdout.split()[0]), (1, "INVALID"))
            self.assertRegex(result.stdout, r"fork at step 0, forward/output of fc")

    def test_bytes_changed_after_recording_are_found_by_verify(self):
        bundle = self.copy()
        content = bytearray(data(bundle).read_bytes())
        content[400 - 1] ^= 1
        data(bundle).write_bytes(content)
        result = run_cli("verify", bundle)
        self.assertEqual(result.status, 1)
        self.assertIn("id 11: the bytes of step 0 optimizer/param of fc.weight do not have the digest that was recorded", result.stdout)

    def test_a_name_cannot_move_the_cursor(self):
        bundle = self.copy()
        edit_json(bundle / "bundle.json", name="evil\x1b[2J\rname")
        for index in range(RECORDS):
            record = json.loads(tensors(bundle).read_text(encoding="utf-8").splitlines()[index])
            edit_record(bundle, index, module=record["module"] and "fc\x1b[31m")
        for arguments in (("info", bundle), ("verify", bundle), ("compare", bundle, bundle), ("compare", HAND, bundle), ("compare", bundle, f"{bundle}@7")):
            result = run_cli(*arguments)
            self.assertIsNone(re.search(r"[\x00-\x09\x0b-\x1f\x7f]", result.stdout + result.stderr), arguments)

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_a_bundle_that_may_not_be_read(self):
        bundle = self.copy()
        (bundle / "bundle.json").chmod(0)
        self.assertEqual(run_cli("info", bundle).status, 3)


    def test_options_that_would_let_everything_pass(self):
        logs = ("tests/data/loss/loss_A.csv", "tests/data/loss/loss_B.csv")
        for tolerance in ("nan", "inf", "-1"):
            self.assert_one_clear_line(run_cli("curves", *logs, "--tolerance", tolerance), 2, "--tolerance must be a number of at least 0")
        runs = [f"{SAMPLES}/{name}.forkpoint" for name in ("sumloss-single", "sumloss-ddp2")]
        self.assert_one_clear_line(run_cli("compare", *runs, "--noise", runs[1]), 2, "is the candidate itself")
        nothing = run_cli("compare", HAND, "tests/data/plain/checkpoint_A_single/model.pt")
        self.assertEqual((nothing.status, "Nothing could be compared" in nothing.stdout), (3, True), nothing)

    def test_logs_are_no_tensors_and_the_command_for_them_is_named(self):
        logs = ("tests/data/loss/loss_A.csv", "tests/data/loss/loss_B.csv")
        self.assert_one_clear_line(run_cli("compare", *logs), 3, f"forkpoint-cli curves {logs[0]} {logs[1]}")


if __name__ == "__main__":
    unittest.main()
