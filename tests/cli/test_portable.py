# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""compare -o X.forkcmp, and compare X.forkcmp where the runs are not."""

import pathlib
import shutil
import unittest

from command_line import SAMPLES, CommandLineTest, run_cli

PAIRS = {"healthy": ("healthy-single", "healthy-ddp2", 0), "sumloss": ("sumloss-single", "sumloss-ddp2", 1), "fault": ("healthy-single", "fault", 1)}


class PortableTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.file = str(self.folder / "X.forkcmp")

    def test_the_file_reports_what_the_runs_did(self):
        for name, (reference, candidate, status) in PAIRS.items():
            with self.subTest(name):
                a, b = (self.copy(f"{SAMPLES}/{run}.forkpoint", run) for run in (reference, candidate))
                written = run_cli("compare", a, b, "-o", self.file)
                live = run_cli("compare", a, b, "--json", "-")
                shutil.rmtree(a)
                shutil.rmtree(b)
                self.assertEqual((written.status, written.stderr), (status, ""))
                self.assertIn(f"\nWrote {self.file} (", written.stdout)
                again = run_cli("compare", self.file, "--json", "-")
                self.assertEqual((again.status, again.stderr, again.stdout), (live.status, "", live.stdout))
                text = run_cli("compare", self.file)
                self.assertEqual(text.status, status)
                report = written.stdout[:written.stdout.index("\nWrote ")]
                self.assertEqual(text.stdout[:len(report)], report)
                self.assertIn(f"\nPortable comparison of {a} and {b}, written by forkpoint-cli ", text.stdout)
                self.assertFalse(list(self.folder.glob("*.tmp")))

    def test_it_is_no_log(self):
        log = "tests/data/loss/loss_A.csv"
        run_cli("compare", *(f"{SAMPLES}/{run}.forkpoint" for run in PAIRS["fault"][:2]), "-o", self.file)
        for pair in ((self.file, log), (log, self.file)):
            self.assert_one_clear_line(run_cli("curves", *pair), 3, self.file, "is a portable comparison, no log")

    def test_the_exit_status_follows_the_threshold(self):
        a, b, _ = PAIRS["fault"]
        run_cli("compare", f"{SAMPLES}/{a}.forkpoint", f"{SAMPLES}/{b}.forkpoint", "-o", self.file)
        self.assertEqual(run_cli("compare", self.file).status, 1)
        self.assertEqual(run_cli("compare", self.file, "--fail-on", "invalid").status, 0)

    def test_options_that_shaped_it_are_kept(self):
        a = f"{SAMPLES}/healthy-single.forkpoint"
        run_cli("compare", a, f"{SAMPLES}/healthy-ddp2.forkpoint", "--noise", a, "--read-all", "-o", self.file)
        self.assertIn(f"with --noise {a}, --read-all\n", run_cli("compare", self.file).stdout)

    def test_the_budget_is_kept_or_refused(self):
        runs = [f"{SAMPLES}/{name}.forkpoint" for name in PAIRS["sumloss"][:2]]
        full = run_cli("compare", *runs, "-o", self.file)
        size = pathlib.Path(self.file).stat().st_size
        budget = size * 9 // 10
        less = run_cli("compare", *runs, "-o", self.file, "--budget", str(budget))
        self.assertEqual((full.status, less.status), (1, 1))
        self.assertLessEqual(pathlib.Path(self.file).stat().st_size, budget)
        self.assertRegex(less.stdout, r"; those of \d+ are left out\n$")
        none = run_cli("compare", *runs, "-o", str(self.folder / "Y.forkcmp"), "--budget", "1kB")
        self.assertEqual(none.status, 2)
        self.assertIn("--budget must be more than that", none.stderr)
        self.assertFalse((self.folder / "Y.forkcmp").exists())

    def test_info_says_what_is_in_it(self):
        a, b, _ = PAIRS["fault"]
        runs = [f"{SAMPLES}/{name}.forkpoint" for name in (a, b)]
        run_cli("compare", *runs, "-o", self.file)
        result = run_cli("info", self.file)
        self.assertEqual((result.status, result.stderr), (0, ""))
        for words in (f"Portable comparison of {runs[0]} and {runs[1]}, written by forkpoint-cli ", f"  reference  {a} (", f"  candidate  {b} (",
                      "  verdict    divergent: The runs fork at ", "  pairs      ", "  tensors    of "):
            self.assertIn(words, result.stdout)

    def test_what_needs_a_run_says_so(self):
        a, b, _ = PAIRS["fault"]
        run_cli("compare", f"{SAMPLES}/{a}.forkpoint", f"{SAMPLES}/{b}.forkpoint", "-o", self.file)
        for arguments in (("ranks", self.file), ("extract", self.file, "-o", self.folder / "out"), ("verify", self.file)):
            self.assert_one_clear_line(run_cli(*arguments), 2, self.file, "is a portable comparison, no run", f"Give {arguments[0]} the bundle of the run")

    def test_one_that_is_not_there(self):
        self.assert_one_clear_line(run_cli("compare", self.folder / "none.forkcmp"), 3, "none.forkcmp", "there is no such file")

    def test_nothing_that_is_read_is_overwritten(self):
        a, b = (f"{SAMPLES}/{name}.forkpoint" for name in PAIRS["healthy"][:2])
        run_cli("compare", a, b, "-o", self.file)
        content = pathlib.Path(self.file).read_bytes()
        mapping = self.folder / "map.json"
        mapping.write_text('{"format": "forkpoint-map", "version": 1}')
        link = self.folder / "link"
        link.symlink_to(self.file)
        for arguments in ((self.file, "--json", self.file), (self.file, "--json", link), (a, b, "--map", mapping, "--json", mapping),
                          (a, b, "--map", mapping, "-o", mapping), (a, b, "--json", a), (a, b, "--json", f"{b}/bundle.json"),
                          (a, f"{b}@0", "--json", f"{b}/new.json"), (a, b.removesuffix(".forkpoint"), "-o", f"{b}/new.forkcmp")):
            with self.subTest(arguments):
                self.assert_one_clear_line(run_cli("compare", *arguments), 2, "would overwrite what is read")
        self.assertEqual((pathlib.Path(self.file).read_bytes(), mapping.read_text()), (content, '{"format": "forkpoint-map", "version": 1}'))

    def test_names_and_sizes_that_cannot_be_meant(self):
        runs = [f"{SAMPLES}/{name}.forkpoint" for name in PAIRS["healthy"][:2]]
        for arguments, words in ((("-o", ""), "--output needs the name of a file"), (("--json", ""), "--json needs the name of a file"),
                                 (("-o", "-"), "is no text"), (("-o", self.file, "--budget", "-5"), "-5 is no size"),
                                 (("-o", self.file, "--budget", "-5MB"), "-5MB is no size"), (("-o", self.file, "--json", self.file), "name the same file")):
            with self.subTest(words):
                self.assert_one_clear_line(run_cli("compare", *runs, *arguments), 2, words)
        self.assertFalse(pathlib.Path(self.file).exists())

    def test_the_verdict_is_said_where_the_file_cannot_be_written(self):
        for name, words in (("fault", "the runs differ (exit status 1)"), ("healthy", "the runs agree (exit status 0)")):
            runs = [f"{SAMPLES}/{run}.forkpoint" for run in PAIRS[name][:2]]
            result = run_cli("compare", *runs, "-o", self.folder / "none/X.forkcmp")
            self.assertEqual((result.status, result.stdout), (2, run_cli("compare", *runs).stdout))
            self.assertIn(words, result.stderr)

    def test_what_makes_no_sense_is_said(self):
        a, b = (f"{SAMPLES}/{name}.forkpoint" for name in PAIRS["fault"][:2])
        run_cli("compare", a, b, "-o", self.file)
        for arguments, words in (((self.file, "--noise", a), "--noise needs the two runs"),
                                 ((self.file, "-o", "other.forkcmp"), "--output needs the two runs"),
                                 ((self.file, a), "give it alone"), ((a, self.file), "give it alone"), ((a,), "a second run is missing")):
            with self.subTest(words):
                result = run_cli("compare", *arguments)
                self.assertEqual((result.status, result.stdout), (2, ""))
                self.assertIn(words, result.stderr)
        notes = self.folder / "notes.txt"
        notes.write_text("mine")
        result = run_cli("compare", a, b, "-o", str(notes))
        self.assertEqual((result.status, notes.read_text()), (2, "mine"))
        content = pathlib.Path(self.file).read_bytes()
        pathlib.Path(self.file).write_bytes(content[:-10])
        result = run_cli("compare", self.file)
        self.assertEqual((result.status, result.stdout), (3, ""))
        self.assertIn("copy it again", result.stderr)


if __name__ == "__main__":
    unittest.main()
