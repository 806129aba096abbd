# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""--backend and FORKPOINT_BACKEND force one, and the report names the one that ran."""

import json
import re
import unittest

from command_line import SAMPLES, CommandLineTest, run_cli

PAIR = (f"{SAMPLES}/healthy-single.forkpoint", f"{SAMPLES}/healthy-ddp2.forkpoint")
EXACT = ("count", "max_abs", "max_rel", "max_abs_at", "max_rel_at", "bit_equal_share", "allclose_violations", "zero_mismatch", "abs_histogram",
         "rel_histogram", "ulp_histogram")


class BackendTest(CommandLineTest):
    def report(self, *options, **environment):
        result = run_cli("compare", *PAIR, "--json", "-", *options, **environment)
        self.assertIn(result.status, (0, 1), result.stderr)
        return json.loads(result.stdout)

    def test_the_forced_one_is_reported(self):
        self.assertEqual(self.report()["backend"], "simd")
        for name in ("scalar", "simd"):
            self.assertEqual(self.report("--backend", name)["backend"], name)
            self.assertEqual(self.report(FORKPOINT_BACKEND=name)["backend"], name)
        self.assertEqual(self.report("--backend", "simd", FORKPOINT_BACKEND="scalar")["backend"], "simd", "the option overrides the environment")

    def test_an_unknown_one_in_the_environment_is_refused(self):
        self.assert_one_clear_line(run_cli("compare", *PAIR, FORKPOINT_BACKEND="abacus"), 2, "FORKPOINT_BACKEND", "abacus")

    def test_info_says_what_can_run_and_compare_agrees(self):
        info = run_cli("info")
        self.assertEqual(info.status, 0, info.stderr)
        self.assertRegex(info.stdout, r"(?m)^  simd .*; used unless another is asked for$")
        self.assertRegex(info.stdout, r"(?m)^  scalar ")
        missing = re.search(r"(?m)^  cuda +not here: (.*)$", info.stdout)
        if missing:
            self.assert_one_clear_line(run_cli("compare", *PAIR, "--backend", "cuda"), 2, '"cuda" cannot run here', missing[1], '"simd" can')
            self.assert_one_clear_line(run_cli("compare", *PAIR, FORKPOINT_BACKEND="cuda"), 2, "FORKPOINT_BACKEND", missing[1])
        else:
            self.assertEqual(self.report("--backend", "cuda")["backend"], "cuda")

    def test_counts_extrema_and_histograms_do_not_depend_on_it(self):
        scalar, simd = (self.report("--backend", name)["pairs"] for name in ("scalar", "simd"))
        compared = 0
        for a, b in zip(scalar, simd, strict=True):
            self.assertEqual(a["severity"], b["severity"], a["id"])
            for key in EXACT:
                if key in a.get("metrics", {}):
                    self.assertEqual(a["metrics"][key], b["metrics"][key], f"{a['id']}: {key}")
                    compared += 1
        self.assertGreater(compared, 100)

    def test_read_all_measures_equal_digests_too(self):
        def unread(report):
            return sum("abs_histogram" not in pair["metrics"] for pair in report["pairs"] if "metrics" in pair)
        self.assertGreater(unread(self.report()), 0)
        report = self.report("--read-all")
        self.assertEqual(unread(report), 0)
        self.assertEqual([pair["severity"] for pair in report["pairs"]], [pair["severity"] for pair in self.report()["pairs"]])

    def test_percentiles_are_found_on_request(self):
        for pair in self.report("--percentiles")["pairs"]:
            metrics = pair.get("metrics", {})
            if "abs_histogram" in metrics:
                p = metrics["abs_percentiles"]
                self.assertLessEqual(p["p50"], p["p90"])
                self.assertLessEqual(p["p99_9"], metrics["max_abs"])


if __name__ == "__main__":
    unittest.main()
