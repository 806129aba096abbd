# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of which only hashes were recorded, and tensors that cannot be read: what the headline, the gates and the notes say of them."""

import json
import math
import unittest

from command_line import HAND, CommandLineTest, edit_record, run_cli

ITEM = {"float32": 4}  # bytes of an element


def records(bundle):
    return [json.loads(line) for line in (bundle / "rank00000/tensors.jsonl").read_text(encoding="utf-8").splitlines()]


def index(bundle, **wanted):
    return next(i for i, record in enumerate(records(bundle)) if all(record.get(key) == value for key, value in wanted.items()))


class HashTest(CommandLineTest):
    def digests_only(self, *other):
        """The hand-checked bundle without values; records `other` have other digests."""
        copy = self.copy(name=f"digests{len(other)}")
        for i in range(len(records(copy))):
            edit_record(copy, i, detail="digest", fold=f"{0:016x}", file=None, offset=None, **({"digest": f"{i:064x}"} if i in other else {}))
        return copy

    def test_the_first_of_those_that_differ_is_named(self):
        output, grad = (index(self.copy(name="look" + phase), phase=phase, kind=kind) for phase, kind in (("forward", "output"), ("backward", "grad")))
        result = run_cli("compare", HAND, self.digests_only(output, grad))
        self.assertEqual(result.status, 1, result)
        printed = " ".join(result.stdout.split())
        self.assertIn("2 tensors differ in bits; by how much was not recorded. The first in execution order is step 0, forward/output of ", printed)
        one = self.digests_only(output)
        report = self.compare_json(HAND, one)
        gates = {gate["gate"]: gate for gate in report["verdict"]["gates"]}
        found = [gate for gate in gates.values() if gate["differing"]]
        self.assertEqual([(gate["state"], gate["differing"], gate["unmatched"]) for gate in found], [("differs", 1, 0)])
        self.assertIn("1 tensor differs in bits, step 0, forward/output of ", " ".join(run_cli("compare", HAND, one).stdout.split()))

    def test_what_only_hashes_tell_is_one_note(self):
        count = len(records(self.copy(name="count")))
        a, b = self.digests_only(), self.digests_only(*range(count))
        for options in ((), ("--read-all",)):
            printed = " ".join(run_cli("compare", a, b, *options).stdout.split())
            notes = printed[printed.index(" Notes "):]
            self.assertEqual(notes.count("not compared:"), 1, notes)
            self.assertIn(f"{count} pairs not compared: the bits differ, by how much is not known: only a digest was recorded. Record it with --write full", notes)
            self.assertNotIn("do not hold the same rows", notes)
            self.assertIn("are bit-identical in all", " ".join(run_cli("compare", a, a, *options).stdout.split()))

    def test_values_against_a_fold_say_what_to_do(self):
        copy = self.copy(name="folds")
        for i in range(len(records(copy))):
            edit_record(copy, i, detail="fold", fold=f"{i:016x}", digest=None, file=None, offset=None)
        for sides, words in (((HAND, copy), "the reference has values and no such hash of it, the candidate only a fold"),
                             ((copy, HAND), "the reference has only a fold of it, the candidate values and no such hash")):
            printed = " ".join(run_cli("compare", *sides).stdout.split())
            self.assertIn(words, printed)
            self.assertIn("Record one of the runs again with --like and the other's bundle", printed)


class UnreadableTest(CommandLineTest):
    def test_reasons_of_their_own_are_one_note(self):
        copy = self.copy()
        for i, record in enumerate(records(copy)): # bytes that are no compressed frame
            edit_record(copy, i, codec="zstd", frames=[ITEM[record["dtype"]] * math.prod(record["shape"])])
        result = run_cli("compare", HAND, copy, "--read-all", COLUMNS="1000")
        notes = result.stdout[result.stdout.index("\nNotes\n"):]
        self.assertRegex(notes, r"\n  \d+ tensors could not be read, the first is s0/")
        self.assertEqual(notes.count("tensors-0000.bin"), 1, notes)


if __name__ == "__main__":
    unittest.main()
