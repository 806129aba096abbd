# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Mappings, placements, ranks of one run and extraction from the command line."""

import json
import re
import unittest

from command_line import HAND, ROOT, SAMPLES, CommandLineTest, run_cli

SINGLE, DDP2 = f"{SAMPLES}/healthy-single.forkpoint", f"{SAMPLES}/healthy-ddp2.forkpoint"


try:
    import jsonschema
except ImportError:
    jsonschema = None


def keeps_to(name, document):
    """True if the document is valid, or nobody can tell."""
    schema = json.loads((ROOT / "resources/schema" / name).read_text(encoding="utf-8"))
    return jsonschema is None or jsonschema.Draft202012Validator(schema).is_valid(document)


class MapTest(CommandLineTest):
    def renamed(self):
        """A copy of the hand-checked bundle in which fc is called dense."""
        copy = self.copy(name="renamed")
        for name in ("graph.jsonl", "tensors.jsonl"):
            file = copy / "rank00000" / name
            file.write_text(re.sub(r'"fc(?=[".])', '"dense', file.read_text(encoding="utf-8")), encoding="utf-8")
        return copy

    def write(self, **keys):
        path = self.folder / "map.json"
        path.write_text(json.dumps({"format": "forkpoint-map", "version": 1, **keys}, indent=1), encoding="utf-8")
        return path

    def test_mapped_pairs_say_which_line_made_them(self):
        mapping = self.write(pairs=[{"reference": "fc", "candidate": "dense"}])
        report = self.compare_json(HAND, self.renamed(), "--map", mapping)
        mapped = [pair for pair in report["pairs"] if pair["rule"] == "mapped"]
        self.assertTrue(mapped)
        self.assertTrue(all(pair["mapped_by"] == f"{mapping}, line 5" for pair in mapped), mapped[0])
        self.assertEqual(report["unmatched"], {"reference": [], "candidate": []})

    def test_an_axis_that_nobody_has_is_refused(self):
        self.assert_one_clear_line(run_cli("compare", SINGLE, DDP2, "--placement", "*=replicate@pp", "--mesh", "dp=2"), 2, "names the axis pp, and the ranks have dp")

    def test_a_map_that_is_wrong_is_one_line(self):
        self.assert_one_clear_line(run_cli("compare", HAND, HAND, "--map", self.write(names=[{"candidate": "(", "reference": "x"}])), 2,
                                   "line 5: names[0]: 'candidate' is no valid regular expression")
        self.assert_one_clear_line(run_cli("compare", HAND, HAND, "--map", self.folder / "none.json"), 3, "none.json")

    def test_the_example_of_the_description_is_read(self):
        text = (ROOT / "resources/schema/forkpoint-map-1.md").read_text(encoding="utf-8")
        mapping = json.loads(re.search(r"```json\n(.*?)```", text, re.DOTALL).group(1))
        self.assertTrue(keeps_to("forkpoint-map-1.schema.json", mapping))
        self.assertFalse(jsonschema and keeps_to("forkpoint-map-1.schema.json", {**mapping, "name": []}))
        del mapping["step_offset"]
        path = self.folder / "example.json"
        path.write_text(json.dumps(mapping), encoding="utf-8")
        self.assertEqual(run_cli("compare", HAND, HAND, "--map", path).status, 0)

    def test_a_placement_that_does_not_fit_is_named(self):
        for text in ("*=shard(0)", "*=shard(-1)"):
            with self.subTest(text):
                result = run_cli("compare", SINGLE, DDP2, "--placement", text)
                self.assertEqual((result.status, result.stdout.split()[0]), (1, "INVALID"), result)
                printed = " ".join(result.stdout.split())
                self.assertIn("the placement that was given does not fit the shapes", printed)
                self.assertRegex(printed, re.escape(f"'{text}' makes [") + r"[\d, ]+\] of the candidate")

    def test_placement_and_mesh_are_checked(self):
        self.assert_one_clear_line(run_cli("compare", HAND, HAND, "--placement", "fc=halved"), 2, "has no placement 'halved'")
        self.assert_one_clear_line(run_cli("compare", SINGLE, DDP2, "--mesh", "dp=3"), 2, "has 3 ranks, the run has 2")
        report = self.compare_json(SINGLE, DDP2, "--placement", "candidate:*.weight=replicate@dp", "--mesh", "dp=2")
        given = [pair for pair in report["pairs"] if "placement given" in pair["assembly"]]
        self.assertTrue(given)
        self.assertTrue(all(not pair["guess"] for pair in given))


class UnmatchedTest(CommandLineTest):
    def test_near_misses_are_listed(self):
        copy = self.copy(name="other")
        file = copy / "rank00000" / "tensors.jsonl"
        file.write_text(file.read_text(encoding="utf-8").replace('"param":"weight"', '"param":"kernel"').replace('"param": "weight"', '"param": "kernel"'),
                        encoding="utf-8")
        report = self.compare_json(HAND, copy)
        details = report["unmatched_details"]
        self.assertEqual(sorted(d["id"] for d in details if d["side"] == "reference"), sorted(report["unmatched"]["reference"]))
        self.assertTrue(all(miss["why"] for d in details for miss in d["nearest"]))
        self.assertTrue(any("other name" in miss["why"] for d in details for miss in d["nearest"]))
        self.assertIn("Unmatched, with what came nearest on the other side", run_cli("compare", HAND, copy).stdout)


class RanksTest(CommandLineTest):
    def test_a_healthy_run_agrees(self):
        result = run_cli("ranks", DDP2)
        self.assertEqual(result.status, 0, result)
        self.assertIn("should be equal on their ranks: all are", result.stdout)

    def test_json(self):
        result = run_cli("ranks", DDP2, "--select", "*.weight", "--json", "-")
        report = json.loads(result.stdout)
        self.assertEqual((report["schema"], report["ranks"], report["differing"]), ("forkpoint-ranks/1", [0, 1], []))
        self.assertGreater(report["tensors"], 0)
        self.assertTrue(keeps_to("forkpoint-ranks-1.schema.json", report))

    def test_one_rank_or_no_tensor_is_usage(self):
        self.assert_one_clear_line(run_cli("ranks", SINGLE), 2, "one recorded rank")
        self.assert_one_clear_line(run_cli("ranks", DDP2, "--select", "zz*"), 2, "no tensor matches 'zz*'")


class ExtractTest(CommandLineTest):
    def test_written_files_are_tensors_again(self):
        out = self.folder / "out"
        result = run_cli("extract", HAND, "--select", "*weight", "-o", out)
        self.assertEqual(result.status, 0, result)
        files = sorted(out.iterdir())
        self.assertTrue(files)
        self.assertEqual(run_cli("info", files[0]).status, 0)
        self.assert_one_clear_line(run_cli("extract", HAND, "--select", "*weight", "-o", out), 2, "is there already")
        self.assertEqual(run_cli("extract", HAND, "-o", out, "--format", "safetensors").status, 0)
        self.assertEqual(run_cli("info", out / "tensors.safetensors").status, 0)

    def test_nothing_selected_is_usage(self):
        self.assert_one_clear_line(run_cli("extract", HAND, "--select", "zz*", "-o", self.folder / "out"), 2, "no tensor matches 'zz*'")


if __name__ == "__main__":
    unittest.main()
