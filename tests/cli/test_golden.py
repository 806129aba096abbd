# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""What the command line prints, word for word. golden/NAME.txt holds command, exit status and both streams.

FORKPOINT_UPDATE_GOLDEN=1 writes the expectations anew; look at their difference before you commit it. A mismatch leaves NAME.actual beside.
"""

import json
import os
import unittest

from command_line import HAND, ROOT, SAMPLES, CommandLineTest, pathlib, run_cli

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
UPDATE = os.environ.get("FORKPOINT_UPDATE_GOLDEN") == "1"

PLAIN = "tests/data/plain"
LOSS = "tests/data/loss"
ARCHIVES = "tests/data/archives"  # packed from tests/data/hand.forkpoint; climbing: with the entry hand.forkpoint/../../escaped.txt as well
HEALTHY = (f"{SAMPLES}/healthy-single.forkpoint", f"{SAMPLES}/healthy-ddp2.forkpoint")
SUM_LOSS = (f"{SAMPLES}/sumloss-single.forkpoint", f"{SAMPLES}/sumloss-ddp2.forkpoint")
FAULT = (HEALTHY[0], f"{SAMPLES}/fault.forkpoint")

CASES = {
    # what the three samples say
    "compare-healthy": ("compare", *HEALTHY),
    "compare-sumloss": ("compare", *SUM_LOSS),
    "compare-fault": ("compare", *FAULT),
    # sides and options
    "compare-itself": ("compare", HAND, HAND),
    "ranks-ddp2": ("ranks", f"{SAMPLES}/sumloss-ddp2.forkpoint"),
    "compare-ranks": ("compare", f"{SAMPLES}/healthy-ddp2.forkpoint@0", f"{SAMPLES}/healthy-ddp2.forkpoint@1"),
    "compare-one-rank-of-two": ("compare", HEALTHY[0], f"{HEALTHY[1]}@1"),
    "compare-swapped": ("compare", *SUM_LOSS[::-1]),
    "compare-noise": ("compare", *FAULT, "--noise", HEALTHY[0]),
    "compare-fail-on": ("compare", *FAULT, "--fail-on", "invalid"),
    "compare-colour": ("compare", *FAULT, "--color", "always"),
    "compare-hand-json": ("compare", HAND, HAND, "--json", "-"),
    # plain files
    "compare-files-hooks": ("compare", f"{PLAIN}/hook_A_single", f"{PLAIN}/hook_B_2rank"),
    "compare-files-pattern": ("compare", f"{PLAIN}/hook_A_single", f"{PLAIN}/hook_B_2rank", "--pattern", "grad_{layer}_rank{rank}.pt"),
    "compare-files-state": ("compare", f"{PLAIN}/checkpoint_A_single/model.pt", f"{PLAIN}/checkpoint_B_2rank/ddp_model.pt"),
    "compare-files-formats": ("compare", f"{PLAIN}/checkpoint_A_single/legacy_model.pt", f"{PLAIN}/checkpoint_A_single/whole_module.pt"),
    "compare-files-odd": ("compare", f"{PLAIN}/odd", f"{PLAIN}/odd"),
    "info-files": ("info", f"{PLAIN}/hook_B_2rank"),
    "curves-csv": ("curves", f"{LOSS}/loss_A.csv", f"{LOSS}/loss_B.csv"),
    "curves-formats": ("curves", f"{LOSS}/loss_A.jsonl", f"{LOSS}/tb_A"),
    "curves-trainer": ("curves", f"{LOSS}/hf_A", f"{LOSS}/hf_B"),
    "curves-terminal": ("curves", f"{LOSS}/console.txt", f"{LOSS}/console.txt"),
    "curves-tolerance": ("curves", f"{LOSS}/loss_A.csv", f"{LOSS}/loss_B.csv", "--tolerance", "0.1"),
    # one bundle
    "info-hand": ("info", HAND),
    "info-ddp2": ("info", f"{SAMPLES}/sumloss-ddp2.forkpoint"),
    "verify-hand": ("verify", HAND),
    "verify-ddp2": ("verify", f"{SAMPLES}/healthy-ddp2.forkpoint"),
    # a bundle in a ZIP archive
    "info-archive": ("info", f"{ARCHIVES}/hand.forkpoint.zip"),
    "info-archive-by-name": ("info", f"{ARCHIVES}/hand"),
    "verify-archive": ("verify", f"{ARCHIVES}/hand.forkpoint.zip"),
    "compare-archive": ("compare", HAND, f"{ARCHIVES}/hand.forkpoint.zip"),
    # parts of a launch
    "merge-twice": ("merge", "unused", f"{SAMPLES}/healthy-ddp2.forkpoint", f"{SAMPLES}/healthy-ddp2.forkpoint"),
    "merge-launches": ("merge", "unused", HEALTHY[0], SUM_LOSS[0]),
    "merge-one-rank": ("merge", "unused", f"{HAND}/rank00000"),
    "merge-archive": ("merge", "unused.forkpoint.zip", HAND),
    # help
    "help": ("--help",),
    "help-compare": ("compare", "--help"),
    "help-curves": ("curves", "--help"),
    "help-ranks": ("ranks", "--help"),
    "help-extract": ("extract", "--help"),
    "help-record": ("record", "--help"),
    "help-info": ("info", "--help"),
    "help-verify": ("verify", "--help"),
    "help-merge": ("merge", "--help"),
    "help-recorder": ("recorder", "--help"),
    "version": ("--version",),
    # usage errors
    "usage-nothing": (),
    "usage-unknown-command": ("campare", HAND, HAND),
    "usage-unknown-option": ("--quiet",),
    "usage-missing-argument": ("compare", HAND),
    "usage-merge-nothing": ("merge", "unused"),
    "usage-too-many-arguments": ("compare", HAND, HAND, HAND),
    "usage-unknown-option-of-command": ("compare", HAND, HAND, "--tolerance", "1"),
    "usage-unknown-severity": ("compare", HAND, HAND, "--fail-on", "noise"),
    "usage-no-number": ("compare", HAND, HAND, "--step-offset", "one"),
    "usage-unknown-backend": ("compare", HAND, HAND, "--backend", "abacus"),
    "usage-no-such-rank": ("compare", HAND, f"{HAND}@9"),
    "usage-no-rank-number": ("compare", HAND, f"{HAND}@first"),
    "usage-no-common-step": ("compare", HAND, HAND, "--step-offset", "100"),
    "usage-record-nothing": ("record", "-o", "unused"),
    "usage-record-without-out": ("record", "--", "true"),
    "usage-record-unknown-option": ("record", "-o", "unused", "--step", "0:2", "--", "true"),
    "usage-pattern": ("compare", f"{PLAIN}/hook_A_single", f"{PLAIN}/hook_B_2rank", "--pattern", "{phase}.pt"),
    "usage-pattern-without-match": ("compare", f"{PLAIN}/hook_A_single", f"{PLAIN}/hook_B_2rank", "--pattern", "dump_{layer}.pt"),
    "usage-no-common-curve": ("curves", f"{LOSS}/loss_A.csv", f"{LOSS}/tb_A/both_loss"),
    # input that cannot be read
    "unreadable-cut-file": ("compare", f"{PLAIN}/odd/truncated.pt", HAND),
    "unreadable-refused-file": ("compare", HAND, f"{PLAIN}/odd/dtype_uint16.pt"),
    "unreadable-no-curve": ("curves", "LICENSE", f"{LOSS}/loss_A.csv"),
    "unreadable-missing": ("compare", HAND, "no/such/run"),
    "unreadable-no-bundle": ("info", "tests/data"),
    "unreadable-archive": ("verify", f"{ARCHIVES}/climbing.forkpoint.zip"),
    "unreadable-file": ("verify", "README.md"),
}


def transcript(arguments, result):
    """Command, status and streams as one text."""
    text = f"$ forkpoint-cli {' '.join(arguments)}\n[exit status {result.status}]\n"
    for name in ("stdout", "stderr"):
        stream = getattr(result, name)
        if stream:
            text += f"[{name}]\n{stream}"
    return text


class GoldenTest(CommandLineTest):
    def check(self, name, actual):
        expected, beside = GOLDEN / f"{name}.txt", GOLDEN / f"{name}.actual"
        beside.unlink(missing_ok=True)
        if UPDATE:
            expected.write_text(actual, encoding="utf-8")
            return
        if not expected.exists() or expected.read_text(encoding="utf-8") != actual:
            beside.write_text(actual, encoding="utf-8")
            self.assertTrue(expected.exists(), f"no expectation for {name}: FORKPOINT_UPDATE_GOLDEN=1 writes it")
            self.assertEqual(expected.read_text(encoding="utf-8"), actual, f"see {beside}")

    def test_what_is_printed(self):
        for name, arguments in CASES.items():
            with self.subTest(name):
                self.check(name, transcript(arguments, run_cli(*arguments)))

    def test_no_expectation_is_left_over(self):
        for path in GOLDEN.glob("*.txt"):
            if path.stem not in (*CASES, "json-keys", "json-fork"):
                self.assertTrue(UPDATE, f"no test writes {path}")
                path.unlink()

    def test_keys_of_the_json_report(self):
        """Every key with its JSON type: keys may be added, never renamed or retyped."""
        seen = {}

        def walk(value, path):
            kind = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}[type(value)]
            seen.setdefault(path, set()).add(kind)
            for key, child in value.items() if isinstance(value, dict) else ():
                walk(child, f"{path}.{key}" if path else key)
            for child in value if isinstance(value, list) else ():
                walk(child, path + "[]")

        for arguments in (HEALTHY, SUM_LOSS, FAULT, (*FAULT, "--noise", HEALTHY[0])):
            walk(self.compare_json(*arguments), "")
        self.check("json-keys", "".join(f"{path or '.'}: {', '.join(sorted(kinds))}\n" for path, kinds in sorted(seen.items())))

    def test_the_fork_in_the_json_report(self):
        """Values that scripts read: verdict, fork and its pair."""
        text = ""
        for name, arguments in (("healthy", HEALTHY), ("sumloss", SUM_LOSS), ("fault", FAULT)):
            report = self.compare_json(*arguments, "--backend", "scalar")  # the last digits of sums depend on simd's instruction set
            fork = report["verdict"]["fork"]
            pair = next((pair for pair in report["pairs"] if fork and pair["id"] == fork["pair"]), None)
            chosen = {"verdict": report["verdict"], "pair": pair, "curves": report["curves"], "notes": report["notes"]}
            text += f"{name}\n{json.dumps(chosen, indent=1)}\n"
        self.check("json-fork", text)

    def test_json_beside_the_text(self):
        path = self.folder / "report.json"
        result = run_cli("compare", *SUM_LOSS, "--json", path)
        self.assertEqual(result, run_cli("compare", *SUM_LOSS))
        self.assertEqual(path.read_text(encoding="utf-8"), run_cli("compare", *SUM_LOSS, "--json", "-").stdout)

    def test_json_that_cannot_be_written(self):
        result = run_cli("compare", HAND, HAND, "--json", "no/such/folder/report.json")
        self.assertEqual((result.status, result.stderr), (2, "forkpoint-cli: no/such/folder/report.json: cannot be written: No such file or directory. "
                                                             "The comparison itself is done: the runs agree (exit status 0)\n"))
        self.assertTrue(result.stdout.startswith("IDENTICAL"), "the text is there all the same")

    def test_widths(self):
        for width in (50, 80, 100, 200):
            with self.subTest(width):
                text = run_cli("compare", *SUM_LOSS, COLUMNS=str(width)).stdout
                self.assertLessEqual(max(map(len, text.splitlines())), max(width, 80), "numbers of the fork need up to 80 columns, all else fits")

    def test_the_recorder_is_the_file_in_the_repository(self):
        source = (ROOT / "resources/recorder/forkpoint_recorder.py").read_text(encoding="utf-8")
        self.assertEqual(run_cli("recorder"), (0, source, ""))
        self.assertEqual(run_cli("recorder", "--write", self.folder), (0, f"wrote {self.folder}/forkpoint_recorder.py\n", ""))
        self.assertEqual((self.folder / "forkpoint_recorder.py").read_text(encoding="utf-8"), source)
        self.assert_one_clear_line(run_cli("recorder", "--write", self.folder / "none"), 2, "cannot be written")


if __name__ == "__main__":
    unittest.main()
