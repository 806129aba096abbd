# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""The ways in which training is launched and sharded: recorded bit-equal to plain, and with the right shapes, placements and counts."""
import importlib.util
import os
import shutil
import socket
import unittest

import torch

from recording import RECORDER, SCRIPTS, TORCH, RecorderTest, forkpoint_recorder as recorder

KINDS = os.path.join(SCRIPTS, "kinds.py")


class Kinds(RecorderTest):
    def train(self, kind, world=2, *options):
        """Run plain and recorded; returns the ranks."""
        arguments = [RECORDER, "--out", "run", *options, KINDS, kind]
        if world > 1:
            self.run_ranks([KINDS, kind, "plain"], world)
            self.run_ranks(arguments + ["recorded"], world)
        else:
            self.run_python(KINDS, kind, "plain")
            self.run_python(*arguments, "recorded")
        for suffix in [".%d" % rank for rank in range(world)] if world > 1 else [""]:
            with open(os.path.join(self.folder, "plain" + suffix)) as a, open(os.path.join(self.folder, "recorded" + suffix)) as b:
                self.assertEqual(a.read(), b.read())
        return [self.read(rank=rank) for rank in range(world)]

    def missed(self, rank):
        return sorted({m["what"] for m in rank.info["coverage"]["not_observed"]})

    def test_accumulation_without_reduction(self):
        ranks = self.train("no_sync")
        for keys in (dict(module="module.0.up", param="weight"), dict(module="module.2", param="bias")):
            local = [rank.value(step=1, micro=micro, phase="backward", kind="grad", **keys) for rank in ranks for micro in (0, 1)]
            reduced = [rank.value(step=1, phase="reduce", kind="grad", **keys) for rank in ranks]
            self.assertSame(*reduced)
            self.assertTrue(torch.allclose(sum(local) / 2, reduced[0], rtol=1e-5, atol=1e-7))

    @unittest.skipIf(TORCH < (2, 3), "GradScaler needs CUDA before")
    def test_steps_that_a_loss_scaler_skips(self):
        for kind in ("scaled", "scaled_clipped"):
            with self.subTest(kind):
                rank, = self.train(kind, 1, "--steps", "0:100")
                scales = [rank.scalar("loss_scale", step) for step in range(9)]
                skipped = [s["step"] for s in rank.scalars if s["name"] == "skipped_step"]
                self.assertEqual(skipped, [step for step in range(8) if scales[step + 1] == scales[step] / 8] + [8])
                self.assertEqual(skipped[:2], [0, 1])                 # several in a row, at once, and again after some that fitted
                self.assertIn(4, skipped)
                self.assertFalse({2, 3, 6, 7} & set(skipped))
                for step in range(9):
                    counts = rank.counts(step=step)
                    self.assertEqual((counts["backward/grad"], counts["reduce/grad"]), (14, 14))
                    self.assertEqual(counts.get("optimizer/param", 0), 0 if step in skipped else 14)
                    self.assertEqual(counts.get("optimizer/grad", 0), 14 if step not in skipped and kind == "scaled_clipped" else 0)
                    reduced = [rank.read(r) for r in rank.records(step=step, phase="reduce", kind="grad")]
                    self.assertEqual(all(gradient.isfinite().all() for gradient in reduced), step not in skipped)
                    if step in skipped and step < 8:                  # the next step starts with the parameters of this one
                        for keys in (dict(module="0.up", param="weight"), dict(module="2", param="bias")):
                            self.assertSame(rank.value(step=step, phase="start", **keys), rank.value(step=step + 1, phase="start", **keys))
                    if kind == "scaled_clipped":
                        norm = rank.scalar("grad_norm", step)
                        self.assertEqual(isinstance(norm, str), step in skipped, norm)       # "NaN" or "Infinity"
                # The scale is a power of two: it is taken off again without a trace.
                local = rank.value(step=2, phase="backward", kind="grad", module="2", param="bias")
                self.assertSame(local / scales[2], rank.value(step=2, phase="reduce", kind="grad", module="2", param="bias"))
                shutil.rmtree(self.out + ".forkpoint")

    @unittest.skipIf(TORCH < (2, 3), "no compile() of a module")
    def test_compiled_in_place_and_per_block(self):
        """The borders of the regions are recorded as if nothing was compiled; what is inside is counted, and how to see it is said."""
        blocks = [{"module": "0", "calls": 3, "modules": 3}, {"module": "1", "calls": 3, "modules": 3}]
        cases = [("compiled", [{"module": "", "calls": 3, "modules": 9}], [""]), ("compiled_in_place", blocks, ["", "0", "1", "2"]),
                 ("compiled_in_pieces", [{"module": "", "calls": 3, "modules": 6}], ["", "0", "1", "2"])]
        if shutil.which("g++"):                                       # the default compiler writes C++
            cases.append(("compiled_blocks", blocks, ["", "0", "1", "2"]))
        for kind, regions, calls in cases:
            with self.subTest(kind):
                rank, = self.train(kind, 1)
                self.assertEqual(rank.info["coverage"]["compiled"], regions)
                self.assertRegex(rank.info["coverage"]["eager_twin"], r"^TORCHDYNAMO_DISABLE=1 .*--out run-eager .*kinds\.py %s recorded$" % kind)
                self.assertEqual(self.missed(rank), [])
                for step in range(3):
                    self.assertEqual([recorder.normalised(c["module"]) for c in rank.lines_of("call", step=step)], calls)
                    counts = rank.counts(step=step)
                    for what in ("start/param", "backward/grad", "reduce/grad", "optimizer/param"):
                        self.assertEqual(counts[what], 14, what)
                    self.assertEqual((counts["forward/input"], counts["backward/grad_output"]), (len(calls), len(calls)))
                # The twin has everything, and under the same names, up to rounding, what was seen at the borders.
                self.run_python(RECORDER, "--out", "eager", KINDS, kind, "eager", TORCHDYNAMO_DISABLE="1")
                eager = self.read(os.path.join(self.folder, "eager"))
                self.assertNotIn("compiled", eager.info["coverage"])
                self.assertEqual(len(eager.lines_of("call", step=1)), 10)
                values = [{recorder.normalised(r["module"]): side.read(r) for r in side.records(step=0, phase="forward", kind="output")}
                          for side in (rank, eager)]
                self.assertEqual(set(values[0]), {*calls, "loss"})
                for module, value in values[0].items():
                    self.assertTrue(torch.allclose(value, values[1][module], rtol=1e-5, atol=1e-6), module)
                for bundle in (self.out, os.path.join(self.folder, "eager")):
                    shutil.rmtree(bundle + ".forkpoint")

    @unittest.skipIf(TORCH < (2, 3), "no torch.compile of an optimizer's step")
    def test_compiled_function(self):
        """Of a function that calls the model, the model is not seen: what there is to see is recorded, and what is not is said."""
        rank, = self.train("compiled_function", 1)
        self.assertEqual([(m["what"], m["count"]) for m in rank.info["coverage"]["not_observed"]],
                         [("modules called by a compiled function, and local gradients", 3)])
        for step in range(3):                                         # forward/output: the loss
            self.assertEqual(rank.counts(step=step), {"forward/output": 1, "reduce/grad": 14, "optimizer/param": 14,
                                                      "optimizer/optimizer_state": 84 if step else 42})

    def test_two_networks_that_take_turns(self):
        """What follows an update is the next step: the critic's turn is one and the generator's another."""
        rank, = self.train("adversaries", 1, "--steps", "0:6")
        for step in range(6):
            counts = rank.counts(step=step)
            self.assertEqual((counts["optimizer/param"], counts["reduce/grad"]), (4, 4))
        updated = [{r["module"].split(".")[0] for r in rank.records(step=step, phase="optimizer", kind="param")} for step in range(6)]
        self.assertEqual(updated, 3 * updated[:2])
        self.assertNotEqual(*updated[:2])
        self.assertEqual([s["step"] for s in rank.scalars if s["name"] == "loss"], list(range(6)))

    def test_modules_of_every_kind(self):
        rank, = self.train("odd", 1)
        calls = [(c["module"], c["call"]) for c in rank.lines_of("call", step=1)]
        self.assertEqual([call for call in calls if call[0] == "twice"], [("twice", 0), ("twice", 1)])
        self.assertIn(("late.1", 0), calls)
        self.assertEqual(rank.lines_of("tie")[0]["names"], ["first.weight", "last.weight"])
        self.assertEqual({r["module"] for r in rank.records(step=1, phase="backward", kind="grad")},
                         {"twice.norm", "twice.up", "twice.down", "first", "late.1"})
        self.assertEqual(rank.record(step=1, phase="start", module="frozen", param="weight")["shape"], [8, 8])

    @unittest.skipIf(TORCH < (2, 0), "FSDP on the CPU with gloo needs PyTorch 2")
    def test_fsdp1(self):
        """A parameter is recorded in its own shape by the rank that has all of it; where two have a piece each, both say that it was not seen."""
        ranks = self.train("fsdp1")
        whole = {"0.norm.weight": [8], "0.norm.bias": [8], "0.up.weight": [16, 8], "0.up.bias": [16], "0.down.weight": [8, 16], "0.down.bias": [8],
                 "2.weight": [4, 8], "2.bias": [4]}
        whole.update({name.replace("0", "1", 1): shape for name, shape in list(whole.items())[:6]})
        found = {}                                                    # (phase, name, slot) -> records of all ranks
        for rank in ranks:
            self.assertIn("local gradients under FullyShardedDataParallel", self.missed(rank))
            self.assertTrue(rank.records(step=1, phase="forward", kind="output", module="_fsdp_wrapped_module.0.up"))
            for record in rank.records(step=1):
                if record["kind"] in ("param", "grad") or record["kind"] == "optimizer_state" and not record["slot"].startswith("step"):
                    name = recorder.normalised(record["module"]).replace("_fsdp_wrapped_module.", "") + "." + record["param"]
                    self.assertEqual(record["shape"], whole[name])
                    found.setdefault((record["phase"] + "/" + record["kind"], name, record.get("slot")), []).append((rank, record))
        values = {key: [rank.read(record) for rank, record in records if "not_observed" not in record] for key, records in found.items()}
        for key, records in found.items():
            self.assertEqual(len(values[key]), 1 if len(records) == 1 else 0, key)
        self.assertEqual({(kind, slot) for kind, _, slot in found}, {("start/param", None), ("reduce/grad", None), ("optimizer/param", None)} | {
            ("optimizer/optimizer_state", slot) for slot in ("exp_avg", "exp_avg_sq", "exp_avg@before", "exp_avg_sq@before")})
        split = {name for (_, name, _), records in found.items() if len(records) > 1}
        self.assertEqual(len(split), 1)                               # the border between two ranks
        self.assertEqual({len(records) for (_, name, _), records in found.items() if name in split}, {2})
        self.assertEqual({name for _, name, _ in found}, set(whole))
        # The values lie in the right places: those of FSDP2 are the same but for rounding.
        self.run_ranks([RECORDER, "--out", "fsdp2", KINDS, "fsdp2", "other"])
        others = [self.read(os.path.join(self.folder, "fsdp2"), rank) for rank in (0, 1)]
        for name in sorted(set(whole) - split):
            module, param = name.rsplit(".", 1)
            for step, key in ((0, ("start/param", name, None)), (1, ("optimizer/optimizer_state", name, "exp_avg"))):
                phase, kind = key[0].split("/")
                slot = key[2] or ""
                parts = torch.cat([other.value(step=step, phase=phase, kind=kind, module=module, param=param, slot=slot) for other in others])
                own, = [rank.read(r) for rank in ranks for r in rank.records(step=step, phase=phase, kind=kind, param=param, slot=slot)
                        if r["module"].replace("_fsdp_wrapped_module.", "").replace("_fsdp_wrapped_module", "") == module]
                self.assertTrue(torch.allclose(own, parts, rtol=1e-4, atol=1e-7), key)

    @unittest.skipIf(TORCH < (2, 6), "no fully_shard")
    def test_shards_of_shards(self):
        """What ranks have of a parameter that FSDP2 and tensor parallelism cut, joined at the recorded offsets, is what PyTorch joins."""
        ranks = self.train("sharded_twice", 4)
        whole = torch.load(os.path.join(self.folder, "recorded.whole"))
        for (name, what), expected in whole.items():
            module, param = name.rsplit(".", 1)
            keys = {"param": dict(phase="optimizer", kind="param"), "grad": dict(phase="reduce", kind="grad"),
                    "exp_avg": dict(phase="optimizer", kind="optimizer_state", slot="exp_avg")}[what]
            records = [rank.record(step=2, module=module, param=param, **keys) for rank in ranks]
            joined, there = torch.full_like(expected, float("nan")), torch.zeros_like(expected)
            for rank, record in zip(ranks, records):
                self.assertEqual(record["global_shape"], list(expected.shape))
                place = tuple(slice(begin, begin + size) for begin, size in zip(record["global_offset"], record["shape"]))
                joined[place] = rank.read(record)
                there[place] += 1
            self.assertSame(joined, expected)
            cut = {p["axis"] for p in records[0]["placement"] if p["type"] == "shard"}
            self.assertEqual(there.unique().tolist(), [4 / 2 ** len(cut)], (name, what))
            if what == "grad":                                        # the local ones: each pair of tp ranks has those of its batch
                local = [rank.record(step=2, phase="backward", kind="grad", module=module, param=param) for rank in ranks]
                self.assertFalse([record for record in local if "global_shape" in record])
                values = [rank.read(record) for rank, record in zip(ranks, local)]
                dims = [p["dim"] for p in local[0].get("placement", ()) if p["type"] == "shard"]
                sums = [torch.cat(values[k:k + 2], dims[0]) if dims else values[k] for k in (0, 2)]
                self.assertTrue(torch.allclose(sum(sums) / 2, expected, rtol=1e-5, atol=1e-7), name)
        shards = {name: {p["axis"]: p["dim"] for p in ranks[0].record(step=0, phase="start", module="net." + name, param="weight")["placement"]}
                  for name in "0134"}
        self.assertEqual(shards, {"0": {"dp": 0, "tp": 0}, "1": {"dp": 0, "tp": 1}, "3": {"dp": 0, "tp": 0}, "4": {"dp": 1, "tp": 1}})
        for rank in ranks:
            self.assertEqual(self.missed(rank), ["param of the root"])
            for param, why in (("apart", "no block of the whole"), ("torn", r"shape \[3\] where .* leave \[4\]")):
                for phase in ("start", "optimizer"):
                    record = rank.record(step=1, phase=phase, kind="param", module="", param=param)
                    self.assertRegex(record["not_observed"], why)
                    self.assertNotIn("placement", record)
            output = rank.record(step=1, phase="forward", kind="output", module="net.0")
            self.assertEqual((output["placement"], output.get("global_shape")), ([{"axis": "tp", "type": "shard", "dim": 2}], None))

    def test_optimizer_state_that_is_divided_among_ranks(self):
        ranks = self.train("zero")
        names = {(r["module"], r["param"]) for r in ranks[0].records(step=1, phase="reduce")}
        self.assertEqual(len(names), 14)
        owned = [{(r["module"], r["param"]) for r in rank.records(step=1, kind="optimizer_state")} for rank in ranks]
        self.assertEqual((owned[0] | owned[1], owned[0] & owned[1]), (names, set()))
        for rank, own in zip(ranks, owned):
            self.assertTrue(own)
            self.assertEqual([(m["what"], m["count"]) for m in rank.info["coverage"]["not_observed"]],
                             [("optimizer state of parameters that other ranks update", 14 - len(own))])
            self.assertEqual(rank.records(step=0, kind="optimizer_state", slot="exp_avg@before"), [])
            for module, param in own:
                def value(step, **keys):
                    return rank.value(step=step, module=module, param=param, **keys)
                before, after = value(1, kind="optimizer_state", slot="exp_avg@before"), value(1, kind="optimizer_state", slot="exp_avg")
                self.assertSame(before, value(0, kind="optimizer_state", slot="exp_avg"))
                self.assertTrue(torch.allclose(after, 0.9 * before + 0.1 * value(1, phase="reduce", kind="grad"), rtol=1e-5, atol=1e-8))
                self.assertEqual(value(1, kind="optimizer_state", slot="step").item(), 2)

    @unittest.skipIf(TORCH < (2, 6), "no fully_shard")
    def test_fsdp2(self):
        ranks = self.train("fsdp2")
        for number, rank in enumerate(ranks):
            self.assertEqual(self.missed(rank), [])
            self.assertEqual(len(rank.records(step=1, phase="backward", kind="grad")), 14)
            record = rank.record(step=1, phase="reduce", kind="grad", module="0.up", param="weight")
            self.assertEqual((record["shape"], record["global_shape"], record["global_offset"]), ([8, 8], [16, 8], [8 * number, 0]))
            self.assertEqual(record["placement"], [{"axis": "dp", "type": "shard", "dim": 0}])
        for module, param in (("0.up", "weight"), ("1.norm", "bias"), ("2", "weight")):      # the mean of the local gradients is the reduced one
            local = [rank.value(step=1, phase="backward", kind="grad", module=module, param=param) for rank in ranks]
            reduced = torch.cat([rank.value(step=1, phase="reduce", kind="grad", module=module, param=param) for rank in ranks])
            self.assertTrue(torch.allclose(sum(local) / 2, reduced, rtol=1e-5, atol=1e-7))

    @unittest.skipIf(TORCH < (2, 6), "no fully_shard")
    def test_accumulation_with_parameters_that_come_and_go(self):
        """What FSDP does to parameters before the first optimizer step is no update by hand."""
        path = self.script("""import sys, torch, torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
dist.init_process_group("gloo")
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 4))
if sys.argv[1] == "fsdp1":
    net = FullyShardedDataParallel(net, use_orig_params=True, device_id=torch.device("cpu"))
else:
    fully_shard(net[0]), fully_shard(net)
optimizer = torch.optim.Adam(net.parameters())
for number in range(4):
    net(torch.ones(2, 8)).sum().backward()
    if number % 2:
        optimizer.step()
dist.destroy_process_group()
""")
        for kind in ("fsdp1", "fsdp2"):
            with self.subTest(kind):
                self.run_ranks([RECORDER, "--out", kind, path, kind])
                found = {(r["step"], r["micro"]) for r in self.read(os.path.join(self.folder, kind)).records(phase="forward")}
                self.assertEqual(sorted(found), [(0, 0), (0, 1), (1, 0), (1, 1)])

    @unittest.skipIf(TORCH < (2, 6), "no fully_shard")
    def test_folds_of_shards_add_up(self):
        ranks = self.train("fsdp2", 2, "--write", "sketch", "--steps", "0:1")
        whole = torch.cat([recorder.open(self.out).sketch(0, "start/param/0.up.weight", rank).values.reshape(8, 8) for rank in (0, 1)])
        folds = [int(rank.record(step=0, phase="start", module="0.up", param="weight")["fold"], 16) for rank in ranks]
        self.assertEqual("%016x" % (sum(folds) & ((1 << 64) - 1)), recorder.fold_of(whole, recorder.Piece([16, 8])))

    @unittest.skipIf(TORCH < (2, 6), "DTensor as it is now")
    def test_tensor_parallel(self):
        for number, rank in enumerate(self.train("tensor")):
            self.assertEqual(self.missed(rank), [])
            up = rank.record(step=1, phase="forward", kind="output", module="0.up")
            self.assertEqual((up["shape"], up["global_shape"], up["global_offset"]), ([8, 6, 8], [8, 6, 16], [0, 0, 8 * number]))
            self.assertEqual(up["placement"], [{"axis": "tp", "type": "shard", "dim": 2}])
            down = rank.record(step=1, phase="forward", kind="output", module="0.down")
            self.assertEqual(down["shape"], [8, 6, 8])
            gradient = rank.record(step=1, phase="backward", kind="grad", module="0.up", param="weight")
            self.assertEqual((gradient["shape"], gradient["global_shape"]), ([8, 8], [16, 8]))
            self.assertEqual(gradient["placement"], [{"axis": "tp", "type": "shard", "dim": 0}])

    @unittest.skipIf(TORCH < (2, 6), "DTensor as it is now")
    def test_sequence_parallel(self):
        ranks = self.train("sequence")
        for number, rank in enumerate(ranks):
            norm = rank.record(step=1, phase="forward", kind="output", module="0.norm")
            self.assertEqual((norm["shape"], norm["global_shape"], norm["global_offset"]), ([8, 3, 8], [8, 6, 8], [0, 3 * number, 0]))
            self.assertEqual(norm["placement"], [{"axis": "tp", "type": "shard", "dim": 1}])
            gradient = rank.record(step=1, phase="reduce", kind="grad", module="0.norm", param="weight")
            self.assertEqual(gradient["placement"], [{"axis": "tp", "type": "partial", "op": "sum"}])

    @unittest.skipIf(TORCH < (2, 6), "no torch.distributed.pipelining as it is now")
    def test_pipelines(self):
        for kind in ("gpipe", "1f1b"):
            with self.subTest(kind):
                self.out = os.path.join(self.folder, "run")
                first, second = self.train(kind)
                for rank, modules in ((first, 1), (second, 2)):
                    self.assertEqual({r["micro"] for r in rank.records(step=1, phase="forward")}, {0, 1, 2, 3})
                    self.assertEqual({r.get("call", 0) for r in rank.tensors}, {0})
                    for micro in range(4):
                        counts = rank.counts(step=1, micro=micro)
                        self.assertEqual(counts["backward/grad"], 6 if rank is first else 8)
                        self.assertEqual(counts["backward/grad_output"], 5 if rank is first else 6)
                    self.assertEqual(rank.counts(step=1)["reduce/grad"], 6 if rank is first else 8)
                losses = [len(rank.records(step=1, phase="forward", kind="output", module="loss")) for rank in (first, second)]
                self.assertEqual(losses, [0, 4])
                for micro in range(4):                                # what one stage sends, the other receives
                    self.assertSame(first.value(step=1, micro=micro, phase="forward", kind="output", module=""),
                                    second.value(step=1, micro=micro, phase="forward", kind="input", module=""))
                total = sum(first.value(step=1, micro=micro, phase="backward", kind="grad", module="0.up", param="bias") for micro in range(4))
                reduced = first.value(step=1, phase="reduce", kind="grad", module="0.up", param="bias")
                self.assertTrue(torch.allclose(total / 4, reduced, rtol=1e-5, atol=1e-8))
                shutil.rmtree(self.out + ".forkpoint")

    @unittest.skipIf(TORCH < (2, 6), "no torch.distributed.pipelining as it is now")
    def test_interleaved_pipeline(self):
        first, second = self.train("interleaved")
        for rank, grads in ((first, 12), (second, 8)):
            self.assertEqual(self.missed(rank), [])
            for micro in range(4):
                self.assertEqual(rank.counts(step=1, micro=micro)["backward/grad"], grads)
            self.assertEqual(rank.counts(step=1)["reduce/grad"], grads)
            self.assertEqual({r.get("call", 0) for r in rank.tensors}, {0})
        self.assertEqual([len(rank.records(step=1, phase="forward", kind="output", module="loss")) for rank in (first, second)], [0, 4])

    def test_pipeline_by_hand(self):
        first, second = self.train("by_hand")
        for rank, grads in ((first, 6), (second, 8)):
            self.assertEqual(self.missed(rank), [])
            self.assertEqual([rank.counts(step=1, micro=micro)["backward/grad"] for micro in (0, 1)], [grads, grads])
            self.assertEqual(rank.counts(step=1)["reduce/grad"], grads)
        self.assertEqual([len(rank.records(step=1, phase="forward", kind="output", module="loss")) for rank in (first, second)], [0, 2])
        for micro in (0, 1):
            self.assertSame(first.value(step=1, micro=micro, phase="forward", kind="output", module=""),
                            second.value(step=1, micro=micro, phase="forward", kind="input", module=""))
        total = sum(second.value(step=1, micro=micro, phase="backward", kind="grad", module="1", param="weight") for micro in (0, 1))
        self.assertSame(total, second.value(step=1, phase="reduce", kind="grad", module="1", param="weight"))

    def test_schedules_by_hand(self):
        for kind, world in (("hand_gpipe", 2), ("hand_1f1b", 2), ("hand_freed", 3)):
            with self.subTest(kind):
                ranks = self.train(kind, world)
                for number, rank in enumerate(ranks):
                    self.assertEqual(self.missed(rank), [])
                    self.assertEqual({r.get("call", 0) for r in rank.tensors}, {0})
                    for step in (0, 1):
                        grads = rank.counts(step=step)["reduce/grad"]
                        each = [rank.counts(step=step, micro=micro) for micro in range(5)]
                        self.assertEqual([counts.get("backward/grad") for counts in each], [grads] * 4 + [None])
                        self.assertEqual([rank.records(step=step, micro=micro, phase="backward", kind="grad_output", module="") != []
                                          for micro in range(4)], [True] * 4)
                        self.assertEqual(len({counts["forward/output"] for counts in each[:4]}), 1)
                        self.assertEqual(len({frozenset(rank.edges(step, micro)) for micro in range(4)}), 1)
                        losses = rank.records(step=step, phase="forward", kind="output", module="loss")
                        self.assertEqual([r["micro"] for r in losses], [0, 1, 2, 3] if number == world - 1 else [])
                        self.assertEqual([(r["micro"], r["sample_ids"]) for r in rank.records(step=step, kind="batch", slot="0")],
                                         [(m, [8 * step + 2 * m, 8 * step + 2 * m + 1]) for m in range(4)] if number in (0, world - 1) else [])
                        parameter = rank.records(step=step, phase="reduce", kind="grad")[0]
                        keys = dict(step=step, kind="grad", module=parameter["module"], param=parameter["param"])
                        total = sum(rank.value(micro=micro, phase="backward", **keys) for micro in range(4))
                        self.assertTrue(torch.allclose(total, rank.read(parameter), rtol=1e-5, atol=1e-8))
                for sender, receiver in zip(ranks, ranks[1:]):            # what one stage sends, the other receives
                    for micro in range(4):
                        self.assertSame(sender.value(step=0, micro=micro, phase="forward", kind="output", module=""),
                                        receiver.value(step=0, micro=micro, phase="forward", kind="input", module=""))
                shutil.rmtree(self.out + ".forkpoint")

    def test_exchanges_that_make_no_pipeline(self):
        for kind, first in (("ring", 0), ("gossip", 0), ("shown", 1)):    # what looked like a stage in the first step is known after it
            with self.subTest(kind):
                for rank in self.train(kind):
                    self.assertEqual(self.missed(rank), ["micro-steps of step 0"] if first else [])
                    for step in range(first, 3):
                        self.assertEqual([(r["micro"], r.get("call", 0)) for r in rank.records(step=step, kind="input")], [(0, 0), (0, 1)])
                        self.assertEqual(rank.counts(step=step, micro=0)["backward/grad_output"], 2)
                shutil.rmtree(self.out + ".forkpoint")

    def test_gradients_in_main_grad(self):
        rank, = self.train("main_grad", 1)
        for module in ("model.0", "model.2"):                         # the optimizer has copies, so that the network is none of its own
            self.assertEqual(rank.record(step=1, phase="backward", kind="grad", module=module, param="weight")["not_observed"],
                             "accumulated elsewhere: in main_grad")
            self.assertNotIn("not_observed", rank.record(step=1, phase="backward", kind="grad", module=module, param="bias"))
            self.assertGreater(rank.value(step=1, phase="reduce", kind="grad", module=module, param="weight").abs().sum().item(), 0)
        self.assertEqual(rank.counts(step=1)["reduce/grad"], 8)       # of the network, and of the optimizer's copies of it
        self.assertSame(rank.value(step=1, phase="reduce", kind="grad", module="model.0", param="weight"),
                        rank.value(step=1, phase="reduce", kind="grad", module="<Adam>", param="0.0"))

    def test_losses_in_containers_and_evaluation_in_between(self):
        for kind in ("dictionary", "tuple"):
            with self.subTest(kind):
                rank, = self.train(kind, 1)
                self.assertEqual(len(rank.records(step=1, phase="forward", kind="output", module="loss")), 1)
                self.assertEqual(rank.counts(step=1)["forward/output"], 12)      # each module's, and the loss, which is no second one of the root
                self.assertEqual(rank.record(step=1, phase="forward", kind="input", module="", slot="targets")["shape"], [8, 6, 4])
                self.assertEqual(rank.info["coverage"]["evaluation"], 3)
                self.assertEqual({line["training"] for line in rank.lines_of("call")}, {True})
                shutil.rmtree(self.out + ".forkpoint")

    def test_storage_that_is_freed(self):
        rank, = self.train("freed", 1)
        record = rank.record(step=1, phase="start", kind="buffer", module="", param="table")
        self.assertEqual((record["not_observed"], record["shape"]), ("its storage was freed", [16]))
        self.assertEqual(rank.counts(step=1)["backward/grad"], 14)

    def test_buckets_and_communication_hooks(self):
        for kind in ("buckets", "fp16_hook"):
            with self.subTest(kind):
                ranks = self.train(kind)
                ddp = ranks[0].info["config"]["ddp"][0]
                self.assertEqual((ddp["gradient_as_bucket_view"], ddp.get("comm_hook")), (True, "fp16_compress_hook" if kind == "fp16_hook" else None))
                for param in ("weight", "bias"):
                    keys = dict(step=1, kind="grad", module="module.0.up", param=param)
                    local = [rank.value(phase="backward", **keys) for rank in ranks]
                    self.assertFalse(torch.equal(*local))
                    self.assertSame(ranks[0].value(phase="reduce", **keys), ranks[1].value(phase="reduce", **keys))
                    self.assertTrue(torch.allclose(sum(local) / 2, ranks[0].value(phase="reduce", **keys), rtol=2e-3, atol=1e-5))
                shutil.rmtree(self.out + ".forkpoint")

    @unittest.skipIf(importlib.util.find_spec("transformers") is None or importlib.util.find_spec("accelerate") is None,
                     "transformers and accelerate are not installed")
    def test_hugging_face_trainer(self):
        rank, = self.train("trainer", 1)
        counts = rank.counts(step=1)
        self.assertEqual((counts["data/batch"], counts["reduce/grad"], counts["optimizer/param"]), (2, 28, 28))
        self.assertTrue(rank.records(step=1, phase="forward", kind="output", module="transformer.h.0.mlp.c_fc"))
        self.assertEqual(rank.info["coverage"]["calls"], rank.info["coverage"]["calls_seen"])
        self.assertEqual(len([s for s in rank.scalars if s["name"] == "loss"]), 3)

    @unittest.skipIf(TORCH < (2, 1), "no register_post_accumulate_grad_hook")
    def test_optimizer_in_backward(self):
        rank, = self.train("in_backward", 1)
        for step in range(3):
            counts = rank.counts(step=step)
            self.assertEqual((counts["backward/grad"], counts["reduce/grad"], counts["optimizer/param"]), (14, 14, 14))
        self.assertSame(rank.value(step=1, phase="start", module="0.up", param="weight"),
                        rank.value(step=0, phase="optimizer", kind="param", module="0.up", param="weight"))

    def test_saved_tensors_hooks(self):
        rank, = self.train("saved_hooks", 1)
        self.assertEqual(rank.counts(step=1)["backward/grad_output"], 10)

    def test_spawn(self):
        def port():
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                return str(free.getsockname()[1])
        self.run_python(KINDS, "spawn", "plain", port())
        self.run_python(RECORDER, "--out", "run", KINDS, "spawn", "recorded", port())
        for rank in (0, 1):
            with open(os.path.join(self.folder, "plain.%d" % rank)) as a, open(os.path.join(self.folder, "recorded.%d" % rank)) as b:
                self.assertEqual(a.read(), b.read())
            self.assertEqual(self.read(rank=rank).counts(step=2)["reduce/grad"], 14)

    @unittest.skipIf(importlib.util.find_spec("accelerate") is None, "accelerate is not installed")
    def test_accelerate(self):
        for world in (1, 2):
            with self.subTest(world):
                for rank in self.train("accelerate", world):
                    counts = rank.counts(step=1)
                    self.assertEqual((counts["data/batch"], counts["reduce/grad"], counts["optimizer/param"]), (2, 14, 14))
                shutil.rmtree(self.out + ".forkpoint")

    @unittest.skipIf(importlib.util.find_spec("lightning") is None, "Lightning is not installed")
    def test_lightning(self):
        rank, = self.train("lightning", 1)
        counts = rank.counts(step=1)
        self.assertEqual((counts["data/batch"], counts["reduce/grad"], counts["optimizer/param"]), (2, 14, 14))
        self.assertTrue(rank.records(step=1, phase="forward", kind="output", module="net.0.up"))


if __name__ == "__main__":
    unittest.main()
