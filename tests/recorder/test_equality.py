# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""A recorded training ends with the same bits as a plain one, and something was recorded of it."""
import json
import os
import unittest

import torch

from recording import RECORDER, SAMPLE, SCRIPTS, TORCH, RecorderTest, forkpoint_recorder as recorder

SEVERAL = os.path.join(SCRIPTS, "several.py")
STEPS = 3


def gpt_counts(parameters=37, calls=31, micro=1, clip=True, before=True, again=0):
    """Records of one step of several.py's GPT: 29 modules of the GPT, the Sequential around it, and the dropout behind it; AdamW has three
    tensors of state for each parameter."""
    counts = {"start/param": parameters, "data/batch": micro, "forward/input": micro * calls, "forward/output": micro * (calls + 1),
              "backward/grad_output": micro * calls, "backward/grad": micro * parameters, "reduce/grad": parameters,
              "optimizer/grad": parameters, "optimizer/optimizer_state": (6 if before else 3) * parameters, "optimizer/param": parameters}
    if not clip:
        del counts["optimizer/grad"]
    if again:
        counts.update({"backward/input": again, "backward/output": again})
    return counts


class Equality(RecorderTest):
    def results(self, name, ranks=0):
        found = []
        for suffix in ["." + str(rank) for rank in range(ranks)] or [""]:
            with open(os.path.join(self.folder, name + suffix)) as file:
                found.append(json.load(file))
        return found

    def counts(self, rank, number):
        """Of the steps of the network that was trained as the number-th."""
        return [rank.counts(step=step) for step in range(number * STEPS, (number + 1) * STEPS)]

    def test_one_process(self):
        names = ["gpt", "autocast", "checkpoint", "reentrant", "cnn"] + (["scaler"] if TORCH >= (2, 3) else [])
        environment = {"SAMPLES": os.path.dirname(SAMPLE)}
        self.run_python(SEVERAL, "plain", *names, **environment)
        self.run_python(RECORDER, "--out", "run", "--steps", "0:1000", SEVERAL, "recorded", *names, **environment)
        plain, recorded = self.results("plain"), self.results("recorded")
        self.assertEqual(sorted(plain[0]), sorted(names))
        self.assertEqual(plain, recorded)

        rank = self.read()
        for number, name, expected in (
                (0, "gpt", lambda step: gpt_counts(parameters=36, micro=2, before=step)),
                (1, "autocast", lambda step: gpt_counts(before=step)),
                (2, "checkpoint", lambda step: gpt_counts(before=step, again=24)),
                (3, "reentrant", lambda step: gpt_counts(before=step, again=24))):
            found = self.counts(rank, number)
            for step in range(STEPS):
                with self.subTest(name=name, step=step):
                    wanted = expected(step)
                    if name == "checkpoint" and "backward/output" in found[step]:
                        # Newer versions stop a recomputation once they have what they need: the outermost modules do not return.
                        self.assertIn(found[step].pop("backward/output"), range(16, 25))
                        wanted.pop("backward/output")
                    self.assertEqual(found[step], wanted)
        self.assertEqual([c["data/batch"] for c in self.counts(rank, 4)], [2, 2, 2])
        self.assertEqual(self.counts(rank, 4)[1], {
            "start/param": 7, "start/buffer": 3, "data/batch": 2, "forward/input": 9, "forward/output": 8, "backward/grad_output": 8,
            "backward/grad": 7, "reduce/grad": 7, "optimizer/optimizer_state": 14, "optimizer/param": 7, "optimizer/buffer": 3})
        # Another network is another root; of those that are built alike, each continues the one before.
        roots = [[c["module"] for c in rank.lines_of("call", step=step) if c["parent"] is None] for step in (0, 3, 6, 9, 12)]
        self.assertEqual(roots, [["", ""], ["model"], ["model"], ["model"], ["model#1", "CrossEntropyLoss"]])
        self.assertEqual([rank.record(step=step, kind="output", phase="forward", module=module + "0.layers.0.mlp.up", micro=0)["dtype"]
                          for step, module in ((0, ""), (3, "model."))], ["float32", "bfloat16"])
        self.assertEqual({s["step"] // STEPS: s["name"] for s in rank.scalars if s["name"].startswith("lr") and s["step"] < 15},
                         {0: "lr", 1: "lr/1", 2: "lr/1", 3: "lr/1", 4: "lr/2"})
        if TORCH >= (2, 3):
            skipped = [s["step"] for s in rank.scalars if s["name"] == "skipped_step"]
            self.assertEqual(skipped, [15])
            self.assertNotIn("optimizer/param", rank.counts(step=15))
            self.assertEqual(len([s for s in rank.scalars if s["name"] == "loss" and s["step"] >= 15]), STEPS)

    def test_two_ranks(self):
        names, environment = ["gpt", "cnn"], {"SAMPLES": os.path.dirname(SAMPLE)}
        self.run_ranks([SEVERAL, "plain"] + names, **environment)
        self.run_ranks([RECORDER, "--out", "run", "--steps", "0:1000", SEVERAL, "recorded"] + names, **environment)
        plain, recorded = self.results("plain", 2), self.results("recorded", 2)
        self.assertEqual(plain, recorded)

        ranks = [self.read(rank=rank) for rank in (0, 1)]
        for rank, found in enumerate(ranks):
            self.assertEqual(self.counts(found, 0), [gpt_counts(parameters=36, micro=2, before=step) for step in range(STEPS)])
            self.assertEqual((found.info["rank"], found.info["world_size"], found.info["coordinates"]), (rank, 2, {"dp": rank}))
            self.assertEqual(found.info["process_groups"], [{"backend": "gloo", "ranks": [0, 1]}])
            self.assertEqual(found.info["config"]["ddp"][0]["find_unused_parameters"], False)
            self.assertEqual({c["module"] for c in found.lines_of("call", step=0) if c["parent"] is None}, {"module"})
            replicate = [{"axis": "dp", "type": "replicate"}]
            for record in found.records(kind="grad") + found.records(kind="param") + found.records(kind="optimizer_state"):
                self.assertEqual(record.get("placement"), None if record["phase"] == "backward" else replicate)
        self.assertEqual(ranks[0].info["run_id"], ranks[1].info["run_id"])
        # The reduced gradient is the mean over ranks of the sums over micro-steps of the local ones.
        for record in ranks[0].records(step=1, phase="reduce"):
            keys = dict(step=1, kind="grad", module=record["module"], param=record["param"])
            local = [rank.value(phase="backward", micro=micro, **keys) for rank in ranks for micro in (0, 1)]
            self.assertTrue(torch.allclose(sum(local) / 2, ranks[0].read(record), rtol=1e-5, atol=1e-7))
            self.assertSame(ranks[0].read(record), ranks[1].value(phase="reduce", **keys))

    @unittest.skipIf(TORCH < (2, 1), "no torch.compile")
    def test_compiled(self):
        environment = {"SAMPLES": os.path.dirname(SAMPLE)}
        self.run_python(SEVERAL, "plain", "compiled", **environment)
        self.run_python(RECORDER, "--out", "run", SEVERAL, "recorded", "compiled", **environment)
        self.assertEqual(self.results("plain"), self.results("recorded"))
        rank = self.read()
        self.assertEqual([recorder.normalised(c["module"]) for c in rank.lines_of("call")], [""] * STEPS)        # only the border is visible
        hidden, = rank.info["coverage"]["compiled"]
        self.assertEqual((hidden["module"], hidden["calls"]), ("", STEPS))
        self.assertEqual(hidden["modules"], 28)                  # all but the GPT itself
        self.assertRegex(rank.info["coverage"]["eager_twin"], r"^TORCHDYNAMO_DISABLE=1 .*--out run-eager .*several\.py recorded compiled$")
        expected = gpt_counts(parameters=37, calls=1, clip=False, before=True)
        self.assertEqual(rank.counts(step=1), expected)

    @unittest.skipIf(TORCH < (2, 6), "no fully_shard")
    def test_sharded(self):
        script = os.path.join(SCRIPTS, "sharded.py")
        for kind, axis, seen in (("fsdp", "dp", 4), ("tensor", "tp", 4)):
            with self.subTest(kind):
                self.run_ranks([script, kind, "plain"])
                self.run_ranks([RECORDER, "--out", kind, script, kind, "recorded"])
                for rank in (0, 1):
                    with open(os.path.join(self.folder, "plain.%d" % rank)) as a, open(os.path.join(self.folder, "recorded.%d" % rank)) as b:
                        self.assertEqual(a.read(), b.read())
                    found = self.read(os.path.join(self.folder, kind), rank)
                    for keys in (dict(phase="start"), dict(phase="reduce"), dict(phase="optimizer", kind="param"), dict(slot="exp_avg")):
                        record = found.record(step=1, module="0", param="weight", **keys)
                        self.assertEqual((record["shape"], record["global_shape"], record["global_offset"]), ([8, 8], [16, 8], [8 * rank, 0]))
                        self.assertEqual(record["placement"], [{"axis": axis, "type": "shard", "dim": 0}])
                    self.assertEqual(len(found.records(step=1, phase="backward", kind="grad")), seen)
                    self.assertEqual(found.info["coverage"]["not_observed"], [])
                    self.assertEqual([c["module"] for c in found.lines_of("call", step=1)], ["", "0", "1", "2"])

    def test_the_sample_script(self):
        plain, _ = self.run_python(SAMPLE)
        recorded, _ = self.run_python(RECORDER, "--out", "run", "--steps", "0:2", SAMPLE)
        self.assertEqual(plain, recorded)
        rank = self.read()
        for line in plain.splitlines():
            _, step, _, _, _, loss = line.split()
            self.assertEqual(repr(rank.scalar("loss", int(step), 0)), loss)
        outputs = self.run_ranks([RECORDER, "--out", "two", "--steps", "0:2", SAMPLE])
        for number, output in enumerate(outputs):
            self.assertEqual([repr(self.read(os.path.join(self.folder, "two"), number).scalar("loss", step, 0)) for step in range(4)],
                             [line.split()[-1] for line in output.splitlines()])
        size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(os.path.join(self.folder, "two.forkpoint"))
                   for name in names)
        self.assertLess(size, 1000000)


if __name__ == "__main__":
    unittest.main()
