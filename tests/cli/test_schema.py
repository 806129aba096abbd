# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""compare --json against its schema, which describes every key there is."""

import copy
import json
import unittest

from command_line import HAND, ROOT, SAMPLES, CommandLineTest, edit_record

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = json.loads((ROOT / "resources/schema/forkpoint-comparison-1.schema.json").read_text(encoding="utf-8"))


def objects(schema):
    """Every schema in the schema, itself first."""
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def strict(schema):
    """The schema is open, so that readers accept later versions; to find keys that it lacks, this one is closed."""
    closed = copy.deepcopy(schema)
    for part in objects(closed):
        if "properties" in part and part.get("type") == "object":
            part["additionalProperties"] = False
    return closed


class SchemaTest(CommandLineTest):
    def test_every_key_is_described(self):
        for part in objects(SCHEMA):
            for name, key in part["properties"].items() if isinstance(part.get("properties"), dict) else ():
                self.assertIn("description", key, name)

    @unittest.skipIf(jsonschema is None, "needs python3-jsonschema")
    def test_the_schema_is_one(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    @unittest.skipIf(jsonschema is None, "needs python3-jsonschema")
    def test_real_reports_keep_to_it(self):
        unobserved, unequal, broken, infinite = (self.copy(name=name) for name in ("unobserved", "unequal", "broken", "infinite"))
        edit_record(unobserved, 6, not_observed="a reason")
        edit_record(unequal, 4, shape=[2, 1, 1, 7])
        (broken / "rank00000/tensors-0000.bin").write_bytes(b"")
        data = bytearray((infinite / "rank00000/tensors-0000.bin").read_bytes())
        data[128:136] = bytes.fromhex("0000c07f 0000807f")  # NaN, infinity in forward/output/fc
        (infinite / "rank00000/tensors-0000.bin").write_bytes(data)
        for index in (4, 5):
            edit_record(infinite, index, digest="0" * 64)
        mapping = self.folder / "map.json"
        mapping.write_text(json.dumps({"format": "forkpoint-map", "version": 1, "pairs": [{"reference": "fc", "candidate": "fc"}]}), encoding="utf-8")
        single, ddp2 = f"{SAMPLES}/healthy-single.forkpoint", f"{SAMPLES}/healthy-ddp2.forkpoint"
        validator = jsonschema.Draft202012Validator(strict(SCHEMA))
        seen = set()
        for arguments in ((single, ddp2), (f"{SAMPLES}/sumloss-single.forkpoint", f"{SAMPLES}/sumloss-ddp2.forkpoint"),
                          (single, f"{SAMPLES}/fault.forkpoint", "--noise", single), (f"{ddp2}@0", f"{ddp2}@1"), (ddp2, ddp2),
                          (single, f"{SAMPLES}/sumloss-ddp2.forkpoint"), (HAND, HAND), (HAND, single, "--step-offset", "0"), (HAND, unobserved),
                          (HAND, unequal), (HAND, broken), (HAND, infinite), (infinite, HAND),
                          (HAND, HAND, "--map", mapping)):
            with self.subTest(arguments):
                report = self.compare_json(*arguments)
                self.assertEqual([f"{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(report)], [])
                seen |= {key for pair in report["pairs"] for key in pair}
        self.assertEqual(set(SCHEMA["$defs"]["pair"]["properties"]) - seen, set(), "keys of a pair that no report here has")


if __name__ == "__main__":
    unittest.main()
