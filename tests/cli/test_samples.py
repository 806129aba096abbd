# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""What the committed samples must show, and what must not be in them (resources/samples/record.sh makes them)."""

import re
import unittest

from command_line import ROOT, SAMPLES, CommandLineTest, run_cli

MOST_BYTES = 1_000_000
NAMES = ("fault", "healthy-ddp2", "healthy-single", "sumloss-ddp2", "sumloss-single")


def sample(name):
    return f"{SAMPLES}/{name}.forkpoint"


def chosen(report, **keys):
    return [pair for pair in report["pairs"] if all(pair[key] == value for key, value in keys.items())]


class SamplesTest(CommandLineTest):
    def compare(self, reference, candidate, status):
        result = run_cli("compare", sample(reference), sample(candidate))
        self.assertEqual((result.status, result.stderr), (status, ""))
        return self.compare_json(sample(reference), sample(candidate))

    def test_one_process_and_two_agree_although_half_of_all_elements_differ(self):
        report = self.compare("healthy-single", "healthy-ddp2", 0)
        self.assertEqual((report["verdict"]["severity"], report["verdict"]["fork"]), ("noise", None))
        self.assertEqual(report["unmatched"], {"reference": [], "candidate": []})
        elements = sum(pair["metrics"]["count"] for pair in report["pairs"])
        equal = sum(pair["metrics"]["count"] * pair["metrics"]["bit_equal_share"] for pair in report["pairs"])
        self.assertTrue(0.40 <= 1 - equal / elements <= 0.65, 1 - equal / elements)

    def test_a_sum_loss_forks_at_the_first_reduced_gradient(self):
        report = self.compare("sumloss-single", "sumloss-ddp2", 1)
        fork = report["verdict"]["fork"]
        reduced = chosen(report, step=0, phase="reduce", kind="grad")
        self.assertEqual((fork["pair"], fork["proven"], fork["after"]), (reduced[0]["id"], True, [reduced[0]["id"].replace("reduce", "backward")]))
        before = report["pairs"][:report["pairs"].index(reduced[0])]
        self.assertEqual({pair["severity"] for pair in before} - {"identical", "noise"}, set())
        self.assertEqual(len(chosen(report, step=0, phase="backward", kind="grad")), len(reduced))
        for pair in reduced:
            with self.subTest(pair["id"]):
                if pair["name"].endswith("attention.key.bias"):  # 0 in theory: softmax does not see it, and what is there is rounding
                    self.assertEqual(pair["severity"], "noise")
                else:
                    self.assertEqual(pair["severity"], "divergent")
                    self.assertAlmostEqual(pair["metrics"]["best_scale"], 0.5, delta=1e-6)
                    self.assertLess(pair["metrics"]["scale_residual"], 1e-6)

    def test_a_wrong_scale_forks_in_its_module(self):
        report = self.compare("healthy-single", "fault", 1)
        fork = report["verdict"]["fork"]
        self.assertEqual((fork["pair"], fork["module"], fork["proven"]), ("s0/forward/output/layers.1.attention", "layers.1.attention", True))
        line = (ROOT / "resources/samples/scripts/gpt.py").read_text(encoding="utf-8").splitlines()[int(fork["source"].split(":")[1]) - 1]
        self.assertEqual((fork["source"].split(":")[0], line.strip()), ("gpt.py", "x = x + self.attention(self.norm1(x))"))

    def test_they_are_all_there_undamaged_and_small(self):
        self.assertEqual(sorted(path.stem for path in (ROOT / SAMPLES).glob("*.forkpoint")), sorted(NAMES))
        for name in NAMES:
            with self.subTest(name):
                result = run_cli("verify", sample(name))
                self.assertEqual((result.status, result.stderr), (0, ""))
                self.assertTrue(result.stdout.endswith(": tensor bytes undamaged\n"), result.stdout)
                self.assertLess(sum(path.stat().st_size for path in (ROOT / sample(name)).rglob("*")), MOST_BYTES)

    def test_nothing_in_them_names_the_machine_that_recorded_them(self):
        place = re.compile(r"(?<![\w.])/(?!usr/bin/c\+\+)[\w.]+/|\bhostname\b|\bHOST\b|\bUSER\b|\bHOME\b|\d+\.\d+\.\d+-\w")  # paths, names, a kernel's release
        for path in (ROOT / SAMPLES).glob("*.forkpoint/**/*.json*"):
            with self.subTest(path.relative_to(ROOT)):
                self.assertEqual(place.findall(path.read_text(encoding="utf-8")), [])


if __name__ == "__main__":
    unittest.main()
