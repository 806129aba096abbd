# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""Level op: every operator, with what is needed to run it again. And noise runs."""
import os
import unittest

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from recording import RECORDER, SAMPLE, SCRIPTS, TORCH, RecorderTest, forkpoint_recorder as recorder

SEVERAL = os.path.join(SCRIPTS, "several.py")


class Operators(RecorderTest):
    def rerun(self, bundle, line):
        """Call the operator again with the recorded tensors; returns (results, recorded results)."""
        packet = getattr(torch.ops.aten, line["op"].split("::")[1])
        name = line["schema"].split("(")[0].split("::")[1].partition(".")[2] or "default"
        path = "%s/%s" % (line["module"], line["op"]) if line["module"] else line["op"]

        def tensor(kind, slot):
            return bundle[line["step"], "%s%s/%s/%s%s:%s" % ("m%d/" % line["micro"] if line["micro"] else "", line["phase"], kind, path,
                                                             "#%d" % line["call"] if line["call"] else "", slot)]

        def value(item):
            if isinstance(item, list):
                return [value(part) for part in item]
            if isinstance(item, dict):
                kind, text = next(iter(item.items()))
                return tensor("input", text) if kind == "tensor" else torch.device(text) if kind == "device" else getattr(torch, text)
            return item

        result = getattr(packet, name)(*[value(item) for item in line["arguments"]], **{key: value(item) for key, item in line["keywords"].items()})
        recorded = [tensor("output", item["tensor"]) for item in line["returns"] if isinstance(item, dict)]
        return [item for item in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(item, torch.Tensor)], recorded

    def test_every_operator_can_be_run_again(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.up, self.norm, self.down = nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 3)

            def forward(self, x):
                y = self.norm(self.up(x))
                y += 1
                return self.down(torch.cat([F.gelu(y[:, :4]), y[:, 4:]], 1))

        def train(_):
            model = Net()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(2):
                F.cross_entropy(model(torch.randn(5, 6)), torch.tensor([0, 1, 2, 1, 0])).backward()
                optimizer.step()
                optimizer.zero_grad()
        rank = self.record(train, steps="1", level="op")
        bundle = recorder.open(self.out)
        lines = rank.lines_of("op")
        again = 0
        for line in lines:
            records = rank.records(level="op", module=("%s/%s" % (line["module"], line["op"])).lstrip("/"), phase=line["phase"], call=line["call"])
            if records:
                results, recorded = self.rerun(bundle, line)
                self.assertEqual(len(results), len(recorded))
                for a, b in zip(results, recorded):
                    self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape))
                    self.assertTrue(torch.allclose(a.double(), b.double(), rtol=1e-5, atol=1e-6), line)     # another memory layout rounds otherwise
                again += 1
        names = {(line["phase"], line["module"], line["op"]) for line in lines}
        for expected in (("forward", "up", "aten::addmm"), ("forward", "norm", "aten::native_layer_norm"), ("forward", "", "aten::cat"),
                         ("forward", "", "aten::gelu"), ("forward", "", "aten::add_"), ("forward", "", "aten::nll_loss_forward")):
            self.assertIn(expected, names)
        self.assertGreater(again, 20)
        backward = {(line["module"], line["op"]) for line in lines if line["phase"] == "backward"}
        self.assertIn("aten::native_layer_norm_backward", {op for _, op in backward})
        if TORCH >= (2, 1):
            self.assertIn(("norm", "aten::native_layer_norm_backward"), backward)
            self.assertIn(("down", "aten::mm"), backward)
        self.assertTrue(rank.records(level="op", kind="input", module="up/aten::addmm"))
        self.assertTrue(rank.records(phase="forward", kind="output", module="up"))      # modules are recorded as ever

    def test_the_numbers_stay(self):
        names, environment = ["gpt", "autocast", "checkpoint", "reentrant", "cnn"], {"SAMPLES": os.path.dirname(SAMPLE)}
        self.run_python(SEVERAL, "plain", *names, **environment)
        self.run_python(RECORDER, "--out", "run", "--level", "op", "--write", "fold", "--steps", "0:2,3:5,6:8,9:11,12:14", SEVERAL, "recorded",
                        *names, **environment)
        with open(os.path.join(self.folder, "plain")) as a, open(os.path.join(self.folder, "recorded")) as b:
            self.assertEqual(a.read(), b.read())
        rank = self.read()
        for step in (1, 4, 7, 10, 13):
            self.assertGreater(len(rank.lines_of("op", step=step)), 30)

    def test_scripted_losses(self):
        """They are compiled from PyTorch's source, not from what replaces it; recorded as the operators that they run."""
        net, x, y = nn.Linear(4, 3), torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])

        def scripted():                                           # compiled anew each time
            class Losses(nn.Module):
                def forward(self, x, y):
                    return F.cross_entropy(x, y) + F.smooth_l1_loss(x, x * 0.5) + F.nll_loss(F.log_softmax(x, 1), y)

            def loss(x, y):
                return F.cross_entropy(x, y)

            return torch.jit.script(Losses())(net(x), y) + torch.jit.script(loss)(net(x), y)

        found = []

        def train(_):
            found.append(scripted())
            found[0].backward()

        self.record(train, level="op")
        self.assertSame(found[0].detach(), scripted().detach())
        expected = 2 * F.cross_entropy(net(x), y) + F.smooth_l1_loss(net(x), net(x) * 0.5) + F.nll_loss(F.log_softmax(net(x), 1), y)
        self.assertTrue(torch.allclose(found[0], expected))

    @unittest.skipIf(TORCH < (2, 1), "no torch.compile")
    def test_compiled_modules_stay_compiled(self):
        def train(_):
            model = torch.compile(nn.Linear(3, 2), backend="eager")
            model(torch.ones(1, 3)).sum().backward()
        rank = self.record(train, level="op")
        self.assertIn("operators of compiled modules", [m["what"] for m in rank.info["coverage"]["not_observed"]])


class NoiseRuns(RecorderTest):
    def test_one_unit_in_the_last_place(self):
        recorder.use_torch()
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            tensor = torch.cat([torch.randn(70000).to(dtype), torch.tensor([0., -0., float("inf"), float("nan"), torch.finfo(dtype).max], dtype=dtype)])
            moved = recorder.moved_by_one_ulp(tensor)
            bits = getattr(torch, recorder.FLOAT_LAYOUT[str(dtype)[6:]][0])
            steps = moved.view(bits).long() - tensor.view(bits).long()
            plain = tensor[:70000] != 0
            self.assertEqual(set(steps[:70000][plain].tolist()), {-1, 1})
            self.assertAlmostEqual(float((steps[:70000] == 1).double().mean()), 0.5, delta=0.01)
            self.assertEqual(steps[70000:70004].tolist(), [0, 0, 0, 0])
            self.assertTrue(torch.isfinite(moved[-1]))

    def train(self, noise, tokens=False, again=False):
        torch.manual_seed(3)
        data = torch.randint(9, (8, 4)) if tokens else torch.randn(8, 4)
        before = data.clone()
        model = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(16, 2)) if tokens else nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []

        def run(_):
            for x, in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=4):
                optimizer.zero_grad()
                y = checkpoint(model, x, use_reentrant=False) if again else model(x)
                loss = y.square().mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        self.out = os.path.join(self.folder, "run%d" % len(os.listdir(self.folder)))
        rank = self.record(run, noise=noise)
        self.assertSame(data, before)                                # the data set itself stays
        return rank, losses

    def test_batches(self):
        (plain, losses), (rank, moved) = self.train(False), self.train(True)
        self.assertNotIn("noise", plain.info)
        self.assertEqual(rank.info["noise"], {"what": "batch", "ulps": 1, "tensors": 2})
        a, b = plain.value(step=0, kind="batch"), rank.value(step=0, kind="batch")
        self.assertTrue((a != b).all())
        self.assertTrue(torch.allclose(a, b, rtol=3e-7))
        self.assertNotEqual(losses, moved)
        for one, other in zip(losses, moved):
            self.assertAlmostEqual(one, other, delta=1e-5 * abs(one))
        self.assertEqual([r["digest"] for r in self.train(True)[0].tensors], [r["digest"] for r in rank.tensors])    # repeatable

    def test_activations(self):
        for again in (False, True) if TORCH >= (2, 1) else (False,):
            (plain, _), (rank, _) = self.train(False, tokens=True, again=again), self.train(True, tokens=True, again=again)
            self.assertEqual(rank.info["noise"], {"what": "0", "ulps": 1, "tensors": 2})
            self.assertSame(plain.value(step=0, kind="batch"), rank.value(step=0, kind="batch"))
            a, b = (r.value(step=0, phase="forward", kind="output", module="0") for r in (plain, rank))
            self.assertTrue((a != b).all())
            self.assertSame(b.flatten(1), rank.value(step=0, phase="forward", kind="input", module="2"))
            a, b = (r.value(step=0, phase="backward", kind="grad", module="0", param="weight") for r in (plain, rank))
            self.assertTrue(torch.allclose(a, b, rtol=1e-4, atol=1e-7))
            if again:
                self.assertSame(rank.value(step=0, phase="backward", kind="input", module="2"), rank.value(step=0, phase="forward", kind="input", module="2"))


if __name__ == "__main__":
    unittest.main()
