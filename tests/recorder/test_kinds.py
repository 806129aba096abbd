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

    @unittest.skipIf(TORCH < (2, 0), "FSDP on the CPU with gloo needs PyTorch 2")
    def test_fsdp1(self):
        for rank in self.train("fsdp1"):
            self.assertEqual(self.missed(rank), ["local gradients under FullyShardedDataParallel"])
            self.assertTrue(rank.records(step=1, phase="reduce"))
            self.assertTrue(rank.records(step=1, phase="forward", kind="output", module="_fsdp_wrapped_module.0.up"))

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
