# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""What is recorded of a step: every value against arithmetic, and no record more or less. Runs in this process."""
import contextlib
import gc
import io
import json
import os
import sys
import types
import unittest
import unittest.mock
import warnings
import weakref
from typing import List, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from recording import REPOSITORY, TORCH, Rank, RecorderTest, forkpoint_recorder as recorder


class Net(nn.Module):
    """fc1 -> relu -> fc2, with a residual connection around it."""

    def __init__(self, dim=4):
        super().__init__()
        self.fc1, self.relu, self.fc2 = nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.fc2(self.relu(self.fc1(x)))


class Passing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


global_criterion = nn.L1Loss()


class Stack(nn.Module):
    def __init__(self, run=None):
        super().__init__()
        self.first, self.second, self.head = Net(), Net(), nn.Linear(4, 2)
        self.run = run or (lambda module, x: module(x))

    def forward(self, x):
        return self.head(self.run(self.second, self.run(self.first, x)))


def data(rows=8, dim=4, out=4):
    generator = torch.Generator().manual_seed(1)
    return TensorDataset(torch.randn(rows, dim, generator=generator), torch.randn(rows, out, generator=generator))


class HandBundle(RecorderTest):
    def test_the_hand_checked_bundle_is_what_the_recorder_writes(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(2, 2, bias=False)

            def forward(self, x):
                return self.fc(x)

        def train(_):
            net = Net()
            with torch.no_grad():
                net.fc.weight.copy_(torch.tensor([[1., 2.], [3., 4.]]))
            optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
            for x in DataLoader(torch.tensor([[1., -1.]]), batch_size=1):
                net(x).sum().backward()
                optimizer.step()

        written = self.record(train, steps="0:1")
        hand = Rank(os.path.join(REPOSITORY, "tests", "data", "hand.forkpoint", "rank00000"))
        self.assertEqual(written.tensors, hand.tensors)           # ids, orders, statistics, digests, offsets: everything
        self.assertEqual(written.data, hand.data)
        self.assertEqual(written.scalars, hand.scalars)
        for line in written.graph + hand.graph:
            line.pop("source", None)
        self.assertEqual(sorted(map(json.dumps, map(lambda d: dict(sorted(d.items())), written.graph))),
                         sorted(map(json.dumps, map(lambda d: dict(sorted(d.items())), hand.graph))))


class Truth(RecorderTest):
    def test_every_value_of_a_step(self):
        net, (x, y) = Net(), data().tensors
        net.eval()                                                # a network trained in evaluation mode is trained all the same
        copy = Net()
        copy.load_state_dict(net.state_dict())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

        def train(_):
            for _ in range(2):
                optimizer.zero_grad()
                F.mse_loss(net(x), y).backward()
                optimizer.step()

        rank = self.record(train, steps="0:2")
        hidden = copy.fc1(x)
        active = copy.relu(hidden)
        delta = copy.fc2(active)
        out = x + delta
        for tensor in (hidden, active, delta, out):
            tensor.retain_grad()
        loss = F.mse_loss(out, y)
        loss.backward()
        for module, value, source in (("fc1", hidden, x), ("relu", active, hidden), ("fc2", delta, active), ("", out, x)):
            self.assertSame(rank.value(step=0, phase="forward", kind="input", module=module), source.detach())
            self.assertSame(rank.value(step=0, phase="forward", kind="output", module=module), value.detach())
            self.assertSame(rank.value(step=0, phase="backward", kind="grad_output", module=module), value.grad)
        self.assertSame(rank.value(step=0, kind="output", module="loss"), loss.detach())
        self.assertEqual(rank.scalar("loss", 0, 0), loss.item())
        for name, parameter in copy.named_parameters():
            keys = dict(step=0, module=name.split(".")[0], param=name.split(".")[1])
            self.assertSame(rank.value(phase="start", **keys), parameter.detach())
            self.assertSame(rank.value(phase="backward", **keys), parameter.grad)
            self.assertSame(rank.value(phase="reduce", **keys), parameter.grad)
            self.assertSame(rank.value(kind="optimizer_state", slot="momentum_buffer", **keys), parameter.grad)
            after = rank.value(phase="optimizer", kind="param", **keys)
            self.assertTrue(torch.allclose(after, (parameter - 0.1 * parameter.grad).detach(), rtol=1e-6, atol=1e-7))
            keys["step"] = 1
            self.assertSame(rank.value(phase="start", **keys), after)
            self.assertSame(rank.value(kind="optimizer_state", slot="momentum_buffer@before", **keys), parameter.grad)
        self.assertEqual(rank.counts(step=0), {"start/param": 4, "forward/input": 4, "forward/output": 5, "backward/grad_output": 4,
                                               "backward/grad": 4, "reduce/grad": 4, "optimizer/optimizer_state": 4, "optimizer/param": 4})
        self.assertEqual(rank.counts(step=1), dict(rank.counts(step=0), **{"optimizer/optimizer_state": 8}))
        self.assertEqual([c["training"] for c in rank.lines_of("call", step=0)], [False] * 4)
        self.assertEqual(rank.info["coverage"]["calls"], rank.info["coverage"]["calls_seen"])

    def test_dtypes(self):
        class Cast(nn.Module):
            def forward(self, x):
                return [(x > 0), x.to(torch.int64), x.double(), x.bfloat16(), x.half(), torch.complex(x, -x), x.to(torch.uint8), x[:0]]

        net, cast, x = Net(), Cast(), torch.tensor([[1., 2., float("nan"), float("-inf")]])

        def train(_):
            cast(x)
            net(torch.ones(1, 4)).sum().backward()

        rank = self.record(train)
        for slot, expected in enumerate(Cast()(x)):
            record = rank.record(module="cast", kind="output", slot=str(slot))
            self.assertEqual(record["dtype"], str(expected.dtype)[6:])
            self.assertEqual(bytes(rank.read(record).contiguous().view(-1).view(torch.uint8).tolist()) if not expected.is_complex() else b"",
                             bytes(expected.contiguous().view(-1).view(torch.uint8).tolist()) if not expected.is_complex() else b"")
        self.assertTrue(torch.equal(torch.view_as_real(rank.value(module="cast", kind="output", slot="5"))[..., :2, :],
                                    torch.view_as_real(torch.complex(x, -x))[..., :2, :]))
        self.assertEqual(rank.record(module="cast", kind="input")["stats"], {"min": 1, "max": 2, "mean": 1.5, "l2": 5 ** 0.5, "nan": 1, "inf": 1})
        self.assertNotIn("file", rank.record(module="cast", kind="output", slot="7"))

    def test_slots(self):
        class Many(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)

            def forward(self, x, mask, scale=None, extra=None):
                return {"logits": self.fc(x) * scale, "cache": (mask, {"x": extra["deep"]})}

        net, x = Many(), torch.ones(2, 4)

        def train(_):
            net(x, torch.zeros(1), scale=torch.ones(1), extra={"deep": torch.ones(3)})["logits"].sum().backward()

        rank = self.record(train)
        self.assertEqual([r["slot"] for r in rank.records(module="", kind="input")], ["0", "1", "scale", "extra.deep"])
        self.assertEqual([r["slot"] for r in rank.records(module="", kind="output")], ["logits", "cache.0", "cache.1.x"])
        self.assertNotIn("slot", rank.record(module="fc", kind="input"))

    def test_objects_of_any_class(self):
        class Sample:
            def __init__(self, x, y=None):
                self.x, self.y, self.name, self.owner = x, y, "a", self
                self.same, self.model, self.nested = x, nn.Linear(2, 2), {"deep": [Parts(torch.ones(3))]}

            @property
            def never(self):
                raise AssertionError("a property was called")

        class Parts:
            def __init__(self, z):
                self.z = z

        class Policy(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 3)

            def forward(self, sample):
                return torch.distributions.Categorical(logits=self.fc(sample.x))

        net, rows = Policy(), data()

        def train(_):
            for sample in DataLoader(rows, batch_size=4, collate_fn=lambda rows: Sample(*map(torch.stack, zip(*rows)))):
                net(sample).log_prob(torch.zeros(4)).sum().backward()

        rank, x = self.record(train), rows.tensors[0]
        self.assertEqual([r["slot"] for r in rank.records(kind="batch", micro=0)], ["x", "y", "nested.deep.0.z"])
        self.assertSame(rank.value(kind="batch", micro=0, slot="x"), x[:4])
        self.assertEqual([r["slot"] for r in rank.records(kind="input", module="", micro=0)], ["0.x", "0.y", "0.nested.deep.0.z"])
        logits = net.fc(x[:4]).detach()
        self.assertSame(rank.value(kind="output", module="", micro=0), logits - logits.logsumexp(-1, keepdim=True))
        self.assertEqual(rank.record(kind="grad_output", module="", micro=0)["shape"], [4, 3])
        self.assertIn("root -> loss", rank.edges())

    def test_objects_that_go_from_layer_to_layer(self):
        class Graph:
            def __init__(self, x):
                self.x, self.edges, self.seen = x, torch.arange(3), []

        class Layer(nn.Linear):
            def forward(self, graph):
                graph.x = super().forward(graph.x)
                graph.seen.append(graph.x)
                return graph

        class Replicated(nn.Module):
            def __init__(self, module):
                super().__init__()
                self.module = module

            def forward(self, graph):
                return self.module(graph)

        net = Replicated(nn.Sequential(Layer(4, 4), Layer(4, 4)))
        rank = self.record(lambda _: net(Graph(torch.ones(2, 4))).x.sum().backward())
        self.assertEqual([r["slot"] for r in rank.records(kind="input")], ["0.x", "0.edges"])
        outputs = [(r["module"], r.get("slot", "")) for r in rank.records(kind="output") if r["module"] != "loss"]
        self.assertEqual(outputs, [("module.0", ""), ("module.1", ""), ("module", "x"), ("module", "seen.0")])

    def test_classes_in_which_no_tensor_is_found(self):
        class Slots:
            __slots__ = ("x",)

            def __init__(self, x):
                self.x = x

        class Many(nn.Module):
            def __init__(self, returned):
                super().__init__()
                self.fc, self.returned = nn.Linear(4, 4), returned

            def forward(self, x):
                self.fc(x).sum().backward()
                return self.returned

        net = Many(None)

        def train(recorder):
            recorder.step(0)
            for net.returned in (None, (1, "a", True), [Slots(torch.ones(1))], Slots(2), torch.float32, {}):
                for batch in DataLoader(data(4), batch_size=2, collate_fn=lambda rows: Slots(rows)):
                    net(torch.ones(2, 4))

        rank = self.record(train)
        missed = [(m["what"], m["why"].rpartition(" ")[2].rpartition(".")[2], m["count"]) for m in rank.info["coverage"]["not_observed"]]
        self.assertEqual(sorted(missed), [("batch", "Slots", 1), ("module outputs", "Slots", 1)])

    def test_equal_bytes_are_stored_once(self):
        net, x = Net(), torch.ones(2, 4)

        def train(_):
            for _ in range(5):
                net(x)
            net(x).sum().backward()

        rank = self.record(train)
        self.assertEqual([r.get("call", 0) for r in rank.records(module="fc1", kind="output")], list(range(6)))
        self.assertEqual(len({r["offset"] for r in rank.records(module="fc1", kind="output")}), 1)


class Steps(RecorderTest):
    def setUp(self):
        super().setUp()
        self.net, self.loader = Net(), DataLoader(data(), batch_size=2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def backward(self, x, y):
        loss = F.mse_loss(self.net(x), y)
        loss.backward()
        return loss.item()

    def test_what_has_not_changed_is_read_once(self):
        read = []

        def train(_):
            model = torch.nn.Sequential(torch.nn.Linear(64, 50), torch.nn.Linear(50, 2))
            optimizer = torch.optim.Adam(model.parameters())
            examine = recorder.Writer.examine
            with unittest.mock.patch.object(recorder.Writer, "examine", lambda *args: read.append(args[1]) or examine(*args)):
                for step in range(2):
                    read.append(None)
                    optimizer.zero_grad(set_to_none=True)
                    model(torch.ones(3, 64)).sum().backward()
                    optimizer.step()
                    if step == 0:
                        model[0].weight.data[7] = 0.5             # autograd counts no change

        rank = self.record(train)
        second = len(read) - read[1:].index(None) - 2
        # Of step 1: the weight that was changed; four outputs and inputs, of which the second input is the first output, and the root's
        # are its children's; the loss; the gradients of outputs, of which sum() makes one that is not contiguous; of each parameter the
        # gradient, its value and three tensors of state.
        self.assertEqual(second, 1 + 3 + 1 + 3 + 4 * (1 + 1 + 3))
        self.assertEqual(sum(rank.counts(step=1).values()), 4 + 6 + 1 + 3 + 4 * (1 + 1 + 1 + 6))
        self.assertEqual(rank.value(step=1, phase="start", module="0", param="weight")[7].tolist(), [0.5] * 64)
        self.assertNotEqual(rank.value(step=0, phase="optimizer", kind="param", module="0", param="weight")[7].tolist(), [0.5] * 64)
        self.assertEqual(rank.info["coverage"]["changed_unseen"], 1)

    def test_what_only_moved_has_changed(self):
        """Behind autograd's back, and no sum of all bits would tell."""
        def moved(rows, change):
            weight = torch.arange(rows * 4096.).reshape(rows, 4096)
            before = recorder.checksum_of(weight)
            self.assertEqual(recorder.checksum_of(weight.clone()), before)
            change(weight.data)
            return recorder.checksum_of(weight) != before

        for rows in (1, 3, 512):
            self.assertTrue(moved(rows, lambda w: w.copy_(w.flip(1))))
            self.assertTrue(moved(rows, lambda w: w[0, :2].copy_(w[0, :2].flip(0))))
            self.assertTrue(moved(rows, lambda w: w.copy_(w.roll(2048))))          # whole rows of 1024 words
        self.assertTrue(moved(3, lambda w: w.copy_(w[[1, 0, 2]])))
        self.assertTrue(moved(3, lambda w: w.neg_()))

    def test_selection_and_scalars_of_all_steps(self):
        losses = []

        def train(_):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                losses.append(self.backward(x, y))
                self.optimizer.step()

        rank = self.record(train, steps="1:3")
        self.assertEqual(sorted({r["step"] for r in rank.tensors}), [1, 2])
        self.assertEqual(sorted({c["step"] for c in rank.lines_of("call")}), [1, 2])
        self.assertEqual([rank.scalar("loss", step, 0) for step in range(4)], losses)
        self.assertEqual([rank.scalar("lr", step) for step in range(4)], [0.1] * 4)
        self.assertEqual(rank.info["steps"], "1:3")
        self.assertEqual(rank.record(step=1, kind="batch", slot="0")["sample_ids"], [2, 3])
        self.assertFalse(any(p._backward_hooks for p in self.net.parameters()))

    def test_accumulation(self):
        def train(_):
            for index, (x, y) in enumerate(self.loader):
                self.backward(x, y)
                if index % 2:
                    self.optimizer.step()
                    self.optimizer.zero_grad()

        rank = self.record(train)
        self.assertEqual(sorted({(r["step"], r["micro"]) for r in rank.tensors if "micro" in r}), [(0, 0), (0, 1), (1, 0), (1, 1)])
        for step in (0, 1):
            self.assertEqual(rank.counts(step=step), {"start/param": 4, "data/batch": 4, "forward/input": 8, "forward/output": 10,
                                                      "backward/grad_output": 8, "backward/grad": 8, "reduce/grad": 4, "optimizer/param": 4})
            parts = [rank.value(step=step, micro=micro, phase="backward", module="fc1", param="weight") for micro in (0, 1)]
            self.assertSame(rank.value(step=step, phase="reduce", module="fc1", param="weight"), parts[0] + parts[1])
            self.assertEqual([r["sample_ids"] for r in rank.records(step=step, kind="batch", slot="0")],
                             [[4 * step, 4 * step + 1], [4 * step + 2, 4 * step + 3]])
        self.assertEqual(rank.records(module="fc1", call=1), [])  # calls are counted within a micro-step

    def test_clipping(self):
        norms = []

        def train(_):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                self.backward(x, y)
                norms.append(float(nn.utils.clip_grad_norm_((p for p in self.net.parameters()), 1e-3)))
                self.optimizer.step()

        rank = self.record(train, steps="0:1")
        self.assertEqual([rank.scalar("grad_norm", step) for step in range(4)], norms)
        squares = 0
        for name, _ in self.net.named_parameters():
            keys = dict(step=0, kind="grad", module=name.split(".")[0], param=name.split(".")[1])
            before, after = rank.value(phase="reduce", **keys), rank.value(phase="optimizer", **keys)
            self.assertSame(before, rank.value(phase="backward", **keys))
            self.assertTrue(torch.allclose(after, before * (1e-3 / norms[0]), rtol=1e-3))
            squares += before.double().pow(2).sum()
        self.assertAlmostEqual(squares.sqrt().item(), norms[0], places=5)

    def test_clipping_that_changes_nothing_writes_no_second_gradient(self):
        def train(_):
            self.backward(*next(iter(self.loader)))
            nn.utils.clip_grad_value_(self.net.parameters(), 1e6)
            self.optimizer.step()

        rank = self.record(train)
        self.assertEqual(len(rank.records(phase="reduce")), 4)
        self.assertEqual(rank.records(phase="optimizer", kind="grad"), [])

    def test_several_optimizers_share_a_step(self):
        first = torch.optim.SGD(self.net.fc1.parameters(), lr=0.1)
        second = torch.optim.Adam(self.net.fc2.parameters(), lr=0.01)

        def train(_):
            for x, y in self.loader:
                self.backward(x, y)
                first.step()
                second.step()

        rank = self.record(train, steps="0:2")
        for step in (0, 1):
            self.assertEqual(len(rank.records(step=step, phase="optimizer", kind="param")), 4)
            self.assertEqual(sorted(rank.scalar(name, step) for name in ("lr", "lr/1")), [0.01, 0.1])
        self.assertEqual(rank.value(step=1, module="fc2", param="bias", slot="step").item(), 2)
        self.assertEqual(rank.value(step=1, module="fc2", param="bias", slot="step@before").item(), 1)
        self.assertEqual([s["step"] for s in rank.scalars if s["name"] == "loss"], [0, 1, 2, 3])

    def test_gradient_that_is_none(self):
        def train(_):
            self.net.fc1(torch.ones(1, 4)).sum().backward()       # fc2 takes no part
            self.optimizer.step()

        rank = self.record(train)
        self.assertEqual({r["module"] for r in rank.records(kind="grad")}, {"fc1"})
        self.assertEqual(len(rank.records(phase="optimizer", kind="param")), 4)
        self.assertEqual(rank.records(phase="start", module="fc2")[0]["param"], "weight")

    def test_unfrozen_later(self):
        self.net.fc1.requires_grad_(False)

        def train(_):
            for step, (x, y) in enumerate(self.loader):
                if step == 1:
                    self.net.fc1.requires_grad_(True)
                self.backward(x, y)
                self.optimizer.step()

        rank = self.record(train, steps="0:2")
        self.assertEqual([len(rank.records(step=step, phase="backward", kind="grad")) for step in (0, 1)], [2, 4])

    def test_closures(self):
        optimizer = torch.optim.LBFGS(self.net.parameters(), lr=0.1, max_iter=3)
        x, y = data().tensors
        evaluations = []

        def closure():
            optimizer.zero_grad()
            evaluations.append(self.backward(x, y))
            return F.mse_loss(self.net(x), y)

        def train(_):
            for _ in range(2):
                optimizer.step(closure)

        rank = self.record(train)
        self.assertGreater(len(evaluations), 3)
        self.assertEqual([s["value"] for s in rank.scalars if s["name"] == "loss"], evaluations)
        for step in (0, 1):
            self.assertSame(rank.value(step=step, phase="reduce", module="fc1", param="weight"),
                            rank.value(step=step, micro=0, phase="backward", kind="grad", module="fc1", param="weight"))
            self.assertEqual(len(rank.records(step=step, phase="optimizer", kind="param")), 4)

    def test_skipped_step(self):
        scaler = Scaler()

        def train(_):
            for index, (x, y) in enumerate(self.loader):
                self.optimizer.zero_grad()
                loss = F.mse_loss(self.net(x), y)
                scaler.scale(loss * (float("inf") if index == 1 else 1)).backward()
                scaler.step(self.optimizer)
                scaler.update()

        rank = self.record(train)
        self.assertEqual([s["step"] for s in rank.scalars if s["name"] == "loss"], [0, 1, 2, 3])
        self.assertEqual([(s["step"], s["value"]) for s in rank.scalars if s["name"] == "skipped_step"], [(1, 1)])
        self.assertEqual(rank.scalar("loss", 1, 0), "Infinity")
        self.assertEqual([len(rank.records(step=step, phase="optimizer")) for step in range(4)], [4, 0, 4, 4])
        self.assertEqual(len(rank.records(step=1, phase="reduce")), 4)
        self.assertEqual([rank.scalar("loss_scale", step) for step in range(4)], [1024, 1024, 512, 512])

    @unittest.skipIf(TORCH < (2, 3), "GradScaler needs CUDA before")
    def test_scaled_loss(self):
        scaler, losses = torch.amp.GradScaler("cpu", init_scale=1024.), []

        def train(_):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                loss = F.mse_loss(self.net(x), y)
                losses.append(loss.item())
                scaler.scale(loss).backward()
                scaler.step(self.optimizer)
                scaler.update()

        rank = self.record(train, steps="0:1")
        self.assertEqual([rank.scalar("loss", step, 0) for step in range(4)], [1024 * loss for loss in losses])
        self.assertEqual([rank.scalar("loss_unscaled", step, 0) for step in range(4)], losses)
        self.assertTrue(torch.allclose(rank.value(phase="reduce", module="fc1", param="bias") * 1024,
                                       rank.value(phase="backward", kind="grad", module="fc1", param="bias")))

    def test_evaluation_between_steps_and_inside(self):
        def evaluate():
            self.net.eval()
            with torch.no_grad():
                for x, _ in DataLoader(data(6), batch_size=3):
                    self.net(x)
            self.net.train()

        def train(_):
            evaluate()                                            # before the first step: the process is no rank yet
            for x, y in self.loader:
                evaluate()
                loss = F.mse_loss(self.net(x), y)
                evaluate()
                loss.backward()
                evaluate()
                self.optimizer.step()
                evaluate()

        rank = self.record(train, steps="0:2")
        self.assertEqual(rank.info["coverage"]["evaluation"], 2 + 4 * 4 * 2)
        self.assertEqual([loader["batch_size"] for loader in rank.info["config"]["loaders"]], [3, 2])
        for step in (0, 1):
            self.assertEqual(rank.counts(step=step), {"start/param": 4, "data/batch": 2, "forward/input": 4, "forward/output": 5,
                                                      "backward/grad_output": 4, "backward/grad": 4, "reduce/grad": 4, "optimizer/param": 4})
            self.assertEqual(rank.record(step=step, kind="batch", slot="1")["sample_ids"], [2 * step, 2 * step + 1])

    def test_numbers_of_the_script(self):
        def train(recorder):
            for number, (x, y) in zip((10, 20, 30), self.loader):
                recorder.step(number)
                self.backward(x, y)
                recorder.scalar("accuracy", torch.tensor(0.5))
                recorder.tensor("probe", {"x": x, "y": y})
                self.optimizer.step()

        rank = self.record(train, steps="10:21")
        self.assertEqual(sorted({r["step"] for r in rank.tensors}), [10, 20])
        self.assertEqual([rank.scalar("accuracy", step) for step in (10, 20, 30)], [0.5] * 3)

    def test_gradient_penalty(self):
        x, y = data().tensors

        def train(_):
            inputs = x.clone().requires_grad_()
            out = self.net(inputs)
            slope, = torch.autograd.grad(out.sum(), inputs, create_graph=True)
            (F.mse_loss(out, y) + slope.pow(2).mean()).backward()
            self.optimizer.step()

        rank = self.record(train)
        self.assertSame(rank.value(phase="backward", kind="grad", module="fc1", param="weight"), self.net.fc1.weight.grad)
        self.assertEqual(len(rank.lines_of("backward")), 1)
        self.assertIn("gradients taken by torch.autograd.grad", [m["what"] for m in rank.info["coverage"]["not_observed"]])

    def test_updates_by_hand(self):
        def in_place(p):
            with torch.no_grad():
                p -= 0.1 * p.grad

        def by_data(p):
            p.data.add_(p.grad, alpha=-0.1)

        def data_anew(p):
            p.data = p.data - 0.1 * p.grad

        del self.optimizer
        for update in (in_place, by_data, data_anew):
            with self.subTest(update.__name__):
                self.out = os.path.join(self.folder, update.__name__)
                net, states = Net(), []

                def train(_):
                    for _ in range(2):
                        for x, y in self.loader:
                            states.append({name: p.detach().clone() for name, p in net.named_parameters()})
                            for part in (slice(0, 1), slice(1, 2)):   # accumulation
                                F.mse_loss(net(x[part]), y[part]).backward()
                            for p in net.parameters():
                                update(p)
                                p.grad = None
                    states.append({name: p.detach().clone() for name, p in net.named_parameters()})

                rank = self.record(train, steps="0:2,4,7")
                self.assertEqual(sorted({(r["step"], r["micro"]) for r in rank.records(phase="forward")}), [(s, m) for s in (0, 1, 4, 7) for m in (0, 1)])
                for step in (0, 1, 4, 7):
                    for name, value in states[step].items():
                        module, _, param = name.rpartition(".")
                        self.assertSame(rank.value(step=step, phase="start", module=module, param=param), value)
                        self.assertSame(rank.value(step=step, phase="optimizer", module=module, param=param), states[step + 1][name])
                self.assertEqual([r["sample_ids"] for r in rank.records(kind="batch", slot="0", micro=0)], [[0, 1], [2, 3], [0, 1], [6, 7]])
                self.assertEqual([s["step"] for s in rank.scalars if s["name"] == "loss"], [s for s in range(8) for _ in (0, 1)])
                self.assertEqual(rank.info["coverage"]["not_observed"], [])

    def test_accumulation_before_the_first_optimizer_step(self):
        """Neither weights that are changed in forward nor those of another model make a step."""
        class Clamped(nn.Linear):
            def forward(self, x):
                with torch.no_grad():
                    self.weight.clamp_(-1, 1)
                return super().forward(x)

        net, teacher = Clamped(4, 4), nn.Linear(4, 4).requires_grad_(False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def train(_):
            for number in range(6):
                F.mse_loss(net(torch.ones(2, 4)), teacher(torch.ones(2, 4))).backward()
                teacher.weight.mul_(0.9)
                if number % 3 == 2:
                    optimizer.step()

        rank = self.record(train)
        self.assertEqual(sorted({(r["step"], r["micro"]) for r in rank.records(phase="forward")}), [(s, m) for s in (0, 1) for m in (0, 1, 2)])
        self.assertEqual(rank.counts(step=0, phase="optimizer"), {"optimizer/param": 2})

    def test_where_steps_end_is_not_seen(self):
        weight = torch.ones(4, 4, requires_grad=True)

        def train(_):
            for x, y in self.loader:
                F.mse_loss(x @ weight, y).backward()
                with torch.no_grad():
                    weight.sub_(weight.grad)

        rank = self.record(train)
        self.assertEqual([m["what"] for m in rank.info["coverage"]["not_observed"]], ["where steps end"])

    def test_training_without_modules(self):
        weight = torch.ones(4, 4, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.1)
        grads = []

        def train(_):
            for x, y in self.loader:
                optimizer.zero_grad()
                F.mse_loss(x @ weight, y).backward()
                grads.append(weight.grad.clone())
                optimizer.step()

        rank = self.record(train, steps="0:2")
        self.assertEqual(rank.lines_of("module"), [{"type": "module", "path": "<SGD>", "class": "SGD", "parameters": ["0.0"], "buffers": []}])
        self.assertEqual(len(rank.records(kind="batch")), 4)
        self.assertEqual([r["sample_ids"] for r in rank.records(kind="batch", slot="0")], [[0, 1], [2, 3]])
        self.assertSame(rank.value(step=1, phase="reduce"), grads[1])


class Scaler(torch.cuda.amp.GradScaler):
    """GradScaler computing on the CPU, which older versions of PyTorch cannot."""

    def __init__(self):
        super().__init__(enabled=False)
        self._enabled, self.factor = True, 1024.

    def scale(self, loss):
        return loss * self.factor

    def get_scale(self):
        return self.factor

    def unscale_(self, optimizer):
        self.found = 0
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.grad.div_(self.factor)
                self.found += not torch.isfinite(p.grad).all()

    def _check_scale_growth_tracker(self, _):
        return None, None

    def _maybe_opt_step(self, optimizer, state, *args, **kwargs):
        return None if self.found else optimizer.step()

    @property
    def _per_optimizer_states(self):
        class States(dict):
            def __missing__(self, _):
                stage = __import__("torch.cuda.amp.grad_scaler", fromlist=["x"]).OptState.READY
                return {"stage": stage, "found_inf_per_device": {"cpu": torch.zeros(())}}
        return States()

    @_per_optimizer_states.setter
    def _per_optimizer_states(self, _):
        pass

    def update(self):
        self.factor *= 0.5 if self.found else 1


class Data(RecorderTest):
    def setUp(self):
        super().setUp()
        self.net = Net()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self, x, y):
        self.optimizer.zero_grad()
        F.mse_loss(self.net(x), y).backward()
        self.optimizer.step()

    def ids(self, rank, slot="0"):
        return [(r["step"], r.get("micro"), r.get("sample_ids")) for r in rank.records(kind="batch", slot=slot)]

    def test_read_into_a_list_first(self):
        def train(_):
            for x, y in list(DataLoader(data(), batch_size=2)):
                self.step(x, y)

        self.assertEqual(self.ids(self.record(train)), [(s, 0, [2 * s, 2 * s + 1]) for s in range(4)])

    def test_read_one_ahead_and_copied(self):
        def train(_):
            ahead, batch = iter(DataLoader(data(), batch_size=2)), None
            while True:
                following = next(ahead, None)
                if batch is not None:
                    self.step(batch[0].clone(), batch[1].clone()) # as a copy to a device: the memory is another
                if following is None:
                    break
                batch = following

        self.assertEqual(self.ids(self.record(train)), [(s, 0, [2 * s, 2 * s + 1]) for s in range(4)])

    def test_two_loaders(self):
        x, y = data().tensors

        def train(_):
            for a, b in zip(DataLoader(x, batch_size=2), DataLoader(y, batch_size=2)):
                self.step(a, b)

        rank = self.record(train)
        self.assertEqual(len(rank.info["config"]["loaders"]), 2)
        # Each loader gives one tensor, and both are in the step; the second is seen when the loss is.
        self.assertSame(rank.value(step=1, kind="batch", slot=""), x[2:4])
        self.assertSame(rank.value(step=1, kind="batch", slot="batch1"), y[2:4])

    def test_several_passes_over_a_batch(self):
        def train(_):
            for x, y in DataLoader(data(), batch_size=4):
                self.step(x, y)
                self.step(x, y)

        self.assertEqual(self.ids(self.record(train)), [(0, 0, [0, 1, 2, 3]), (1, 0, [0, 1, 2, 3]), (2, 0, [4, 5, 6, 7]), (3, 0, [4, 5, 6, 7])])

    def test_an_epoch_that_was_left_early(self):
        def train(_):
            loader = DataLoader(data(), batch_size=2)
            for _ in range(2):
                for index, (x, y) in enumerate(loader):
                    if index == 2:
                        break
                    self.step(x.clone(), y.clone())

        self.assertEqual([ids for _, _, ids in self.ids(self.record(train))], [[0, 1], [2, 3], [0, 1], [2, 3]])

    def test_evaluation_on_copies_takes_its_own_batches(self):
        def train(_):
            for x, y in DataLoader(data(), batch_size=4):
                self.net.eval()
                with torch.no_grad():
                    for other, _ in DataLoader(data(6), batch_size=1):
                        self.net(other.clone())
                self.net.train()
                self.step(x.clone(), y.clone())

        # The training's batch was fetched before the evaluation's.
        self.assertEqual([ids for _, _, ids in self.ids(self.record(train))], [[0, 1, 2, 3], [4, 5, 6, 7]])

    def test_teacher_sees_the_batch_first(self):
        teacher = Net().eval()

        def train(_):
            for x, y in DataLoader(data(), batch_size=4):
                with torch.no_grad():
                    target = teacher(x.clone())
                self.step(x.clone(), target)

        self.assertEqual([ids for _, _, ids in self.ids(self.record(train))], [[0, 1, 2, 3], [4, 5, 6, 7]])

    def test_metric_after_the_update_takes_no_batch(self):
        class Metric(nn.Module):
            def forward(self, out, y):
                return (out.detach() - y).abs().max()

        metric = Metric()

        def train(_):
            for x, y in DataLoader(data(), batch_size=2):
                out = self.net(x)
                F.mse_loss(out, y).backward()
                metric(out, y)
                self.optimizer.step()
                self.optimizer.zero_grad()
                metric(out, y)

        rank = self.record(train, steps="0:2")
        self.assertEqual(self.ids(rank), [(0, 0, [0, 1]), (1, 0, [2, 3])])
        self.assertEqual([(c["step"], c["micro"], c["call"]) for c in rank.lines_of("call", module="metric")],
                         [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)])
        self.assertIn("root !> metric:0", rank.edges())
        self.assertEqual({r.get("micro") for r in rank.tensors}, {None, 0})

    def test_workers_and_dictionaries(self):
        def train(_):
            for batch in DataLoader(Rows(), batch_size=4, num_workers=2, shuffle=True, generator=torch.Generator().manual_seed(3)):
                self.step(batch["x"], batch["target"]["y"])

        rank = self.record(train)
        self.assertEqual(len(rank.records(kind="batch")), 4)
        for record in rank.records(kind="batch"):
            expected = data().tensors[0 if record["slot"] == "x" else 1][record["sample_ids"]]
            self.assertSame(rank.read(record), expected)
        self.assertEqual(rank.info["coverage"]["calls"], 8)       # the modules in the workers are not among them
        self.assertEqual(rank.info["config"]["loaders"][0]["sampler"], "RandomSampler")

    def test_workers_send_more_files_than_a_process_may_have_open(self):
        """A tensor from a worker keeps a file open. 40 batches of 20 of them are read past the training, and it takes the right ones after that."""
        script = self.script("""
import resource, sys, torch
from torch.utils.data import DataLoader
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, row):
        return {str(name): torch.full((3,), float(row)) for name in range(20)}
def loader():
    return DataLoader(Rows(), batch_size=1, num_workers=1)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
if sys.argv[1] == "no module":
    print(sum(batch["0"].sum().item() for batch in loader()))
elif sys.argv[1] == "evaluation":
    with torch.no_grad():
        model.eval()
        print(sum(model(batch["0"]).item() for batch in loader()))
        model.train()
for step, batch in enumerate(loader()):
    optimizer.zero_grad()
    model(batch["1"]).pow(2).mean().backward()
    optimizer.step()
    if sys.argv[1] != "all" and step == 2:
        break
print([p.tolist() for p in model.parameters()])
""")
        for before in ("no module", "evaluation", "all"):
            with self.subTest(before):
                self.out = os.path.join(self.folder, before)
                out, _ = self.run_python(recorder.__file__, "--out", self.out, script, before)
                self.assertEqual(len(out.splitlines()), 1 if before == "all" else 2)
                rank = self.read()
                self.assertEqual(self.ids(rank, "1"), [(step, 0, [step]) for step in range(3)])
                self.assertEqual(len(rank.records(kind="batch")), 60)
                self.assertEqual(["batch" for m in rank.info["coverage"]["not_observed"] if m["what"] == "batch"], ["batch"] * (before == "no module"))

    def test_files_kept_open_for_batches(self):
        recorder.use_torch()

        def batch(files, shared=True):
            return [("", torch.ones(2).share_memory_() if shared else torch.ones(2)) for _ in range(files)]

        for limit, shared, kept in ((80, True, 2), (8, True, 1), (80, False, 10), (float("inf"), True, 10)):
            batches = recorder.Batches()
            with unittest.mock.patch.object(recorder, "open_files_limit", lambda: limit):
                for _ in range(10):
                    batches.fetched(0, batch(5, shared), None)
            self.assertEqual((len(batches.pending), batches.files), (kept, kept * 5 * shared))
        with unittest.mock.patch.dict("sys.modules", resource=None):      # as on Windows
            self.assertEqual(recorder.open_files_limit(), float("inf"))

    def test_transforms_that_are_modules(self):
        class Augmented(torch.utils.data.Dataset):
            def __init__(self):
                self.transform = nn.Linear(4, 4)

            def __len__(self):
                return 4

            def __getitem__(self, index):
                return self.transform(data().tensors[0][index]).detach(), data().tensors[1][index]

        def train(_):
            for x, y in DataLoader(Augmented(), batch_size=2):
                self.step(x, y)

        rank = self.record(train)
        self.assertEqual(sorted({c["module"] for c in rank.lines_of("call")}), ["", "fc1", "fc2", "relu"])


class Rows(torch.utils.data.Dataset):
    def __init__(self):
        self.transform = nn.Linear(1, 1)

    def __len__(self):
        return 8

    def __getitem__(self, index):
        self.transform(torch.zeros(1))                            # a module in a worker must not be recorded
        x, y = data().tensors
        return {"x": x[index], "target": {"y": y[index]}}


class Graph(RecorderTest):
    def train_once(self, net, x=None, loss=None):
        def train(_):
            out = net(torch.ones(2, 4) if x is None else x)
            (loss(out) if loss else out.sum()).backward()
        return self.record(train)

    def test_residual_has_both_producers(self):
        rank = self.train_once(Stack())
        self.assertEqual(rank.edges(), {
            "first.fc1 !> first.relu", "first.relu !> first.fc2", "first !> second", "first !> second.fc1",
            "second.fc1 !> second.relu", "second.relu !> second.fc2", "second !> head", "head -> loss", "root -> loss"})
        class Sum(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

            def forward(self, x):
                y = self.a(x)
                return self.head(y + self.b(y))

        self.out += "2"
        self.assertEqual(self.train_once(Sum()).edges(), {"a !> b", "a -> head", "b -> head", "head -> loss", "root -> loss"})

    def test_in_place_changes(self):
        class InPlace(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.relu, self.b, self.c = nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 4), nn.Linear(4, 4)

            def forward(self, x):
                y = self.relu(self.a(x))
                z = self.b(y)
                z += y
                z[0].zero_()
                return self.c(z)

        net, x = InPlace(), torch.randn(2, 4)
        rank = self.train_once(net, x)
        self.assertEqual(rank.edges(), {"a !> relu", "relu !> b", "b -> c", "relu -> c", "c -> loss", "root -> loss"})
        # The output of a was overwritten, its record was not; the gradient of b's output is that of its own value.
        self.assertSame(rank.value(module="a", kind="output"), F.linear(x, net.a.weight, net.a.bias).detach())
        with torch.no_grad():
            grad = torch.ones(2, 4) @ net.c.weight
            grad[0] = 0
        self.assertSame(rank.value(module="b", kind="grad_output"), grad)
        self.assertTrue(torch.allclose(rank.value(module="b", kind="grad", param="weight"), grad.t() @ rank.value(module="relu", kind="output")))

    def test_view_that_is_changed_through_its_base(self):
        class Slice(nn.Module):
            def forward(self, x):
                return x[0]

        class Whole(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.slice = nn.Linear(4, 4), Slice()

            def forward(self, x):
                y = self.fc(x) * 1
                z = self.slice(y)
                y.mul_(2)
                return z

        self.assertIn("view", self.train_once(Whole()).record(module="slice", kind="grad_output")["not_observed"])

    def test_shared_and_repeated_modules(self):
        class Shared(nn.Module):
            def __init__(self):
                super().__init__()
                block = nn.Linear(4, 4)
                self.left, self.right = nn.Sequential(block), nn.Sequential(block, nn.Tanh())

            def forward(self, x):
                return self.right(self.left(self.left(x)))

        rank = self.train_once(Shared())
        self.assertEqual([(c["module"], c["call"], c["parent"], c["parent_call"]) for c in rank.lines_of("call")],
                         [("", 0, None, None), ("left", 0, "", 0), ("left.0", 0, "left", 0), ("left", 1, "", 0), ("left.0", 1, "left", 1),
                          ("right", 0, "", 0), ("right.0", 0, "right", 0), ("right.1", 0, "right", 0)])
        self.assertEqual(len(rank.records(kind="grad", param="weight")), 1)
        self.assertEqual(rank.lines_of("tie")[0]["names"], ["left.0.weight", "right.0.weight"])

    def test_tied_weights(self):
        class Language(nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
                self.head.weight = self.tokens.weight

            def forward(self, ids):
                return self.head(self.tokens(ids))

        net = Language()
        rank = self.train_once(net, torch.tensor([[0, 1, 2]]))
        self.assertEqual(rank.lines_of("tie")[0]["names"], ["tokens.weight", "head.weight"])
        self.assertEqual([r["module"] for r in rank.records(kind="param")], ["tokens"])
        self.assertSame(rank.value(kind="grad"), net.tokens.weight.grad)

    def test_source_lines(self):
        rank = self.train_once(Net())
        with open(__file__, encoding="utf-8") as file:
            lines = file.read().split("\n")
        line = int(rank.lines_of("call", module="fc1")[0]["source"].rpartition(":")[2])
        self.assertIn("self.fc2(self.relu(self.fc1(x)))", lines[line - 1])
        self.assertTrue(rank.lines_of("call", module="fc1")[0]["source"].rpartition(":")[0].endswith("test_records.py"))
        line = int(rank.lines_of("backward")[0]["source"].rpartition(":")[2])
        self.assertIn(".backward()", lines[line - 1])

    def test_loss_module_is_not_listed_twice(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.net, self.criterion, self.aux = Net(), nn.MSELoss(), nn.L1Loss()

            def forward(self, x):
                out = self.net(x)
                return {"loss": self.criterion(out, x), "aux": self.aux(out, x)}

        def train(_):
            model = Model()
            model(torch.ones(2, 4))["loss"].backward()

        rank = self.record(train)
        self.assertEqual(rank.records(module="criterion", kind="output"), [])
        self.assertEqual([r["slot"] for r in rank.records(module="", kind="output")], ["aux"])
        self.assertEqual(len(rank.records(module="aux", kind="output")), 1)
        self.assertEqual(len(rank.records(module="loss", kind="output")), 1)
        self.assertEqual(len(rank.lines_of("call", module="criterion")), 1)
        self.assertIn("criterion !> loss", rank.edges())
        self.assertLess(rank.record(module="aux", kind="output")["order"], rank.record(module="loss")["order"])

    def test_several_losses(self):
        net = Net()

        def train(_):
            out = net(torch.ones(2, 4))
            torch.autograd.backward([out.sum(), out.pow(2).sum()])
            net(torch.ones(2, 4)).backward(torch.ones(2, 4))      # no single number: no scalar

        rank = self.record(train)
        self.assertEqual([(r["micro"], r["module"]) for r in rank.tensors if r["module"].startswith("loss")],
                         [(0, "loss"), (0, "loss#1"), (1, "loss")])
        self.assertEqual([s["name"] for s in rank.scalars], ["loss", "loss#1"])
        self.assertEqual({"root -> loss", "root -> loss#1"} - rank.edges(), set())


class Names(RecorderTest):
    def roots(self, rank):
        return [c["module"] for c in rank.lines_of("call") if c["parent"] is None]

    def test_two_networks_and_a_criterion(self):
        teacher, student, criterion = Net(), Net(), nn.MSELoss()
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1)

        def train(_):
            for _ in range(2):
                criterion(student(torch.ones(2, 4)), teacher(torch.ones(2, 4))).backward()
                optimizer.step()

        rank = self.record(train)
        self.assertEqual(self.roots(rank), ["", "teacher", "criterion"] * 2)
        self.assertEqual(len(rank.records(step=1, phase="start", kind="param")), 8)
        self.assertEqual(len(rank.records(step=1, phase="backward", kind="grad")), 8)
        self.assertEqual({r["module"] for r in rank.records(step=1, phase="reduce")}, {"fc1", "fc2"})

    def test_networks_in_a_list(self):
        nets = [Net(), Net()]
        optimizer = torch.optim.SGD([p for net in nets for p in net.parameters()], lr=0.1)

        def train(_):
            for _ in range(2):
                x = torch.ones(2, 4)
                for net in nets:
                    x = net(x)
                x.sum().backward()
                optimizer.step()

        self.assertEqual(self.roots(self.record(train)), ["", "net"] * 2)

    def test_name_that_is_taken(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc1 = nn.Linear(4, 4)

            def forward(self, x):
                return self.fc1(x)

        model, fc1 = Model(), nn.Tanh()

        def train(_):
            fc1(model(torch.ones(2, 4))).sum().backward()

        self.assertEqual(self.roots(self.record(train)), ["", "fc1#1"])

    def test_built_anew(self):
        def build():
            net = Net()
            return net, torch.optim.SGD(net.parameters(), lr=0.1)

        def train(_):
            net, optimizer = build()
            for step in range(4):
                if step == 2:
                    state = net.state_dict()
                    net, optimizer = build()
                    net.load_state_dict(state)
                nn.MSELoss()(net(torch.ones(2, 4)), torch.zeros(2, 4)).backward()
                optimizer.step()

        rank = self.record(train)
        self.assertEqual(self.roots(rank), ["", "MSELoss"] * 4)
        self.assertEqual(rank.counts(step=1), rank.counts(step=3))
        self.assertEqual([rank.scalar("lr", step) for step in range(4)], [0.1] * 4)
        self.assertEqual(rank.record(step=1, phase="optimizer", module="fc1", param="bias")["digest"],
                         rank.record(step=2, phase="start", module="fc1", param="bias")["digest"])

    def test_inner_module_called_first(self):
        class System(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = Net()

            def training_step(self, x):
                return self.net(x).sum()

        system = System()
        optimizer = torch.optim.SGD(system.parameters(), lr=0.1)

        def train(_):
            system.training_step(torch.ones(2, 4)).backward()
            optimizer.step()

        rank = self.record(train)
        self.assertEqual({r["module"] for r in rank.records(kind="param")}, {"net.fc1", "net.fc2"})
        self.assertEqual(self.roots(rank), ["net"])

    def test_modules_called_while_the_model_is_built(self):
        class Symmetric(nn.Module):
            def forward(self, w):
                return w.triu() + w.triu(1).T

        class Features(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Linear(4, 3)
                with torch.no_grad():
                    self.size = self.conv(torch.zeros(1, 4)).shape[1]

            def forward(self, x):
                return self.conv(x)

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.features = Features()
                self.head = nn.Linear(self.features.size, self.features.size)
                nn.utils.parametrize.register_parametrization(self.head, "weight", Symmetric())
                nn.utils.parametrize.register_parametrization(self.head, "weight", Symmetric())

            def forward(self, x):
                return self.head(self.features(x))

        def train(_):
            model = Model()
            nn.utils.parametrize.register_parametrization(model.features.conv, "bias", nn.Tanh(), unsafe=True)
            model.head.weight.sum()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(2):
                model(torch.ones(2, 4)).sum().backward()
                optimizer.step()

        rank = self.record(train)
        self.assertEqual(self.roots(rank), ["", ""])
        self.assertEqual(rank.counts(step=0), rank.counts(step=1))
        self.assertEqual({r["module"] for r in rank.records(phase="reduce")},
                         {"features.conv", "features.conv.parametrizations.bias", "head", "head.parametrizations.weight"})

    def test_part_that_is_tried_out_before_the_model(self):
        def train(_):
            part = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
            size = part(torch.zeros(1, 4)).shape[1]
            model = nn.Sequential(nn.Flatten(), part, nn.Linear(size, 2))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(2):
                model(torch.ones(2, 4)).sum().backward()
                optimizer.step()

        rank = self.record(train)
        self.assertEqual(self.roots(rank), ["", "", ""])
        self.assertEqual({r["module"] for step in (0, 1) for r in rank.records(step=step, phase="reduce")}, {"1.0", "2"})
        self.assertEqual(len(rank.records(step=0, phase="backward", kind="grad")), 4)
        self.assertEqual({r["module"] for r in rank.records(step=1, kind="output")}, {"", "0", "1", "1.0", "1.1", "2"} | {"loss"})

    def test_modules_made_in_forward(self):
        class Inline(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.hidden = nn.Linear(4, 4), [nn.Linear(4, 4)]

            def forward(self, x):
                return nn.Softmax(dim=-1)(self.hidden[0](self.fc(x)))

        net = Inline()

        def train(_):
            for _ in range(2):
                net(torch.ones(2, 4)).sum().backward()

        rank = self.record(train)
        self.assertEqual([c["module"] for c in rank.lines_of("call", micro=1)], ["", "fc", "<Linear>", "<Softmax>"])
        self.assertEqual(len(rank.records(module="<Linear>", kind="output")), 2)

    def test_wrapper_written_by_hand(self):
        class Replicated(nn.Module):
            def __init__(self, module):
                super().__init__()
                self.module = module

            def forward(self, x):
                return self.module(x)

        rank = self.record(lambda _: Replicated(Net())(torch.ones(2, 4)).sum().backward())
        self.assertEqual([c["module"] for c in rank.lines_of("call")], ["module", "module.fc1", "module.relu", "module.fc2"])
        self.assertEqual(self.roots(rank), ["module"])
        self.assertEqual([r["module"] for r in rank.records(phase="backward", kind="grad_output")][0], "module")
        self.assertEqual(rank.records(module="", kind="output"), [])

    def test_wrapper_that_changes_what_it_hands_on(self):
        class Twice(nn.Module):
            def __init__(self, module, change):
                super().__init__()
                self.module, self.change = module, change

            def forward(self, x):
                return self.change(self.module(x))

        def scaled_in_place(y):
            with torch.no_grad():
                return y.mul_(2)

        x = torch.ones(2, 4)
        changes = {"scaled": lambda y: y * 2, "in place": scaled_in_place, "cast": lambda y: y.double(), "two": lambda y: (y + 1, y)}
        for name, change in changes.items():
            with self.subTest(name):
                self.out = os.path.join(self.folder, name)
                net = nn.Sequential(Twice(nn.Linear(4, 4), change), nn.Flatten())
                if name == "two":
                    net[1].forward = lambda pair: pair[0]

                def train(_):
                    net(x).sum().backward()
                rank = self.record(train)
                inner = F.linear(x, net[0].module.weight, net[0].module.bias).detach()
                self.assertSame(rank.value(module="0.module", kind="output"), inner)
                slots = ["outer.0", "outer.1"] if name == "two" else ["outer"]
                self.assertEqual([r["slot"] for r in rank.records(module="0", kind="output")], slots)
                expected = change(inner.clone())
                self.assertSame(rank.value(module="0", kind="output", slot=slots[0]), expected[0] if name == "two" else expected)
                self.assertSame(rank.value(module="0", kind="grad_output", slot=slots[0]), torch.ones(2, 4, dtype=rank.value(module="0", kind="output", slot=slots[0]).dtype))
                self.assertIn("0:%s !> 1" % slots[0] + (":0.0" if name == "two" else ""), rank.edges())
                self.assertEqual([c["module"] for c in rank.lines_of("call")], ["", "0.module", "1"])

    def test_wrappers_of_wrappers(self):
        class Wrapper(nn.Module):
            def __init__(self, module, change):
                super().__init__()
                self.module, self.change = module, change

            def forward(self, x):
                return self.change(self.module(x))

        def same(y):
            return y

        def twice(y):
            return y * 2

        for changes, expected in (((same, same), {}), ((twice, same), {"": "outer"}), ((same, twice), {"module": "outer"}),
                                  ((twice, twice), {"module": "outer", "": "outer.outer"})):
            self.out = os.path.join(self.folder, "-".join(change.__name__ for change in changes))
            rank = self.record(lambda _: Wrapper(Wrapper(nn.Linear(4, 4), changes[1]), changes[0])(torch.ones(2, 4)).sum().backward())
            outputs = {r["module"]: r.get("slot", "") for r in rank.records(phase="forward", kind="output") if r["module"] != "loss"}
            self.assertEqual(outputs, dict(expected, **{"module.module": ""}))

    def test_child_that_is_called_as_a_wrappers(self):
        for word in ("module", "_orig_mod"):
            with self.subTest(word):
                class Norm(nn.Module):
                    def __init__(self, child):
                        super().__init__()
                        setattr(self, word, child)
                        self.register_buffer("running_mean", torch.ones(4))

                    def forward(self, x):
                        return getattr(self, word)(x) - self.running_mean

                class Scaled(nn.Module):
                    def __init__(self, child):
                        super().__init__()
                        setattr(self, word, child)
                        self.weight = nn.Parameter(torch.full((4,), 2.0))
                        self.again = nn.Linear(4, 4)

                    def forward(self, x):
                        return self.again(getattr(self, word)(x) * self.weight)

                self.out = os.path.join(self.folder, word)
                norm, scaled = Norm(nn.BatchNorm1d(4)), Scaled(nn.Linear(4, 4))
                scaled.again.weight = getattr(scaled, word).weight
                net = nn.Sequential(norm, scaled)
                optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

                def train(recorder):
                    recorder.placement("1.%s.*" % word, axis="tp", type="replicate")
                    net(torch.arange(12.).reshape(3, 4)).sum().backward()
                    optimizer.step()
                rank = self.record(train)
                child = "(%s)" % word
                self.assertEqual([line["path"] for line in rank.lines_of("module")], ["", "0", "0." + child, "1", "1." + child, "1.again"])
                self.assertEqual([c["module"] for c in rank.lines_of("call")], ["", "0", "0." + child, "1", "1." + child, "1.again"])
                self.assertEqual([c["parent"] for c in rank.lines_of("call")], [None, "", "0", "", "1", "1"])
                self.assertSame(rank.value(module="0", param="running_mean", phase="start"), torch.ones(4))
                self.assertSame(rank.value(module="0." + child, param="running_mean", phase="start"), torch.zeros(4))
                self.assertSame(rank.value(module="1", param="weight", phase="start"), torch.full((4,), 2.0))
                self.assertIn("placement", rank.record(module="1." + child, param="weight", phase="start"))
                for path in ("0", "0." + child, "1", "1." + child):
                    self.assertEqual(len(rank.records(module=path, kind="output")), 1, path)
                    self.assertEqual(len(rank.records(module=path, kind="grad_output")), 1, path)
                self.assertIn("0 !> 1." + child, rank.edges())
                self.assertEqual(rank.lines_of("tie")[0]["names"], ["1.%s.weight" % child, "1.again.weight"])
                self.assertEqual(len({recorder.normalised(recorder.join(r["module"], r["param"])) for r in rank.records(phase="start")}),
                                 len(rank.records(phase="start")))
                bundle = recorder.open(self.out)
                for spelling in (child, word):
                    self.assertSame(bundle[0, "start/param/1.%s.weight" % spelling], rank.value(module="1." + child, param="weight", phase="start"))
                self.out += "-selected"
                selected = self.record(train, modules=r"^1\.%s$" % word, write=["1.%s.*=sketch" % word])
                self.assertEqual({(r["module"], r.get("detail")) for r in selected.records(phase="start")}, {("1." + child, "sketch")})

    def test_wrappers_of_pytorch_have_things_of_their_own(self):
        averaged = torch.optim.swa_utils.AveragedModel(Net())     # it has a buffer beside its module
        rank = self.record(lambda _: averaged(torch.ones(2, 4)).sum().backward())
        self.assertEqual([c["module"] for c in rank.lines_of("call")], ["module", "module.fc1", "module.relu", "module.fc2"])

    def test_wrapper_whose_module_is_not_called(self):
        class Wrapper(nn.Module):
            def __init__(self):
                super().__init__()
                self.module = nn.Linear(4, 4)

            def forward(self, x):
                return F.linear(x.mul_(2), self.module.weight)

        rank = self.record(lambda _: Wrapper()(torch.ones(2, 4)).sum().backward())
        self.assertEqual([c["module"] for c in rank.lines_of("call")], [""])
        self.assertSame(rank.value(module="", kind="input"), torch.ones(2, 4))
        self.assertEqual(len(rank.records(module="", kind="grad_output")), 1)

    def test_placement_that_the_script_declares(self):
        net = Net()
        optimizer = torch.optim.Adam(net.parameters())

        def train(recorder):
            recorder.placement("fc1.*", axis="tp", type="shard", dim=0)
            recorder.placement("fc2.bias", axis="tp", type="replicate")
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()

        rank = self.record(train)
        shard = [{"axis": "tp", "type": "shard", "dim": 0}]
        self.assertEqual([r.get("placement") for r in rank.records(module="fc1", param="weight", kind="grad")], [shard, shard])
        self.assertEqual(rank.record(module="fc2", param="bias", phase="start")["placement"], [{"axis": "tp", "type": "replicate"}])
        self.assertNotIn("placement", rank.record(module="fc2", param="bias", phase="backward"))
        self.assertEqual(rank.record(module="fc1", param="bias", slot="exp_avg")["placement"], shard)
        self.assertNotIn("placement", rank.record(module="fc1", param="bias", slot="step"))


class Checkpointing(RecorderTest):
    def run_stack(self, reentrant):
        def run(module, x):
            return checkpoint(module, x, use_reentrant=reentrant)

        torch.manual_seed(0)
        net = Stack(run)
        x = torch.ones(2, 4, requires_grad=True)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def train(_):
            for _ in range(2):
                optimizer.zero_grad()
                net(x).sum().backward()
                optimizer.step()
        return self.record(train)

    def test_both_kinds(self):
        torch.manual_seed(0)
        plain, x = Stack(), torch.ones(2, 4, requires_grad=True)

        def train(_):
            plain(x).sum().backward()

        expected = self.record(train)
        for reentrant in (False, True):
            with self.subTest(reentrant=reentrant):
                self.out = os.path.join(self.folder, str(reentrant))
                rank = self.run_stack(reentrant)
                same = ("module", "kind", "param", "call", "slot", "digest")
                for kind in ("input", "output", "grad_output", "grad"):
                    wanted = sorted(tuple(r.get(k) or "" for k in same) for r in expected.records(step=0, kind=kind) if r["phase"] != "reduce")
                    found = sorted(tuple(r.get(k) or "" for k in same) for r in rank.records(step=0, kind=kind)
                                   if r["phase"] != "reduce" and not r.get("recompute"))
                    self.assertEqual(found, wanted, kind)
                again = rank.records(step=0, phase="backward", recompute=True)
                self.assertEqual({r["module"] for r in again if r["kind"] == "input"},
                                 {b + m for b in ("first", "second") for m in ("", ".fc1", ".relu", ".fc2")})
                for record in again:                              # what is computed again is what was computed
                    self.assertEqual(record["digest"], rank.record(step=0, phase="forward", kind=record["kind"], module=record["module"])["digest"])
                calls = rank.lines_of("call", step=0, recompute=True)
                self.assertGreaterEqual(len(calls), 8)
                self.assertEqual({c["parent"] for c in calls if "." not in c["module"]}, {""})
                self.assertIn("first !> second", rank.edges())
                self.assertIn("second !> head", rank.edges())

    def test_shared_block(self):
        """One block run twice: the recomputation goes backwards, and the reentrant kind gives the gradient in two parts."""
        for reentrant in (False, True):
            with self.subTest(reentrant=reentrant):
                class Twice(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.block = Net()

                    def forward(self, x):
                        for _ in range(2):
                            x = checkpoint(self.block, x, use_reentrant=reentrant)
                        return x

                net, x = Twice(), torch.ones(2, 4, requires_grad=True)
                self.out = os.path.join(self.folder, str(reentrant))
                rank = self.record(lambda _: net(x).sum().backward())
                self.assertSame(rank.value(phase="backward", kind="grad", module="block.fc1", param="weight"), net.block.fc1.weight.grad)
                for call in (0, 1):
                    forward = rank.record(phase="forward", kind="input", module="block.fc1", call=call)
                    self.assertEqual(rank.record(phase="backward", kind="input", module="block.fc1", call=call)["digest"], forward["digest"])
                    self.assertEqual(len(rank.records(kind="grad_output", module="block.fc1", call=call)), 1)


class Promises(RecorderTest):
    def test_everything_is_put_back(self):
        from torch.utils.data.dataloader import _BaseDataLoaderIter
        import torch.nn.utils.clip_grad

        def state():
            cls = _BaseDataLoaderIter
            return [nn.Module.__call__, torch.autograd.backward, torch.autograd.grad, torch.optim.Optimizer.__init__, torch.optim.SGD.step,
                    torch.optim.Adam.step, nn.utils.clip_grad_norm_, torch.nn.utils.clip_grad.clip_grad_value_, torch.manual_seed,
                    torch.random.manual_seed, cls.__init__, cls.__next__, cls._next_index, cls._reset, torch.cuda.amp.GradScaler.step,
                    nn.parallel.DistributedDataParallel.register_comm_hook]

        torch.optim.SGD([torch.ones(1)], lr=0.1)                  # PyTorch itself wraps step() when the first optimizer is made
        torch.optim.Adam([torch.ones(1)])
        before = state()
        net = Net()
        self.record(lambda _: net(torch.ones(1, 4)).sum().backward())
        self.assertEqual(before, state())
        self.assertFalse(any(p._backward_hooks for p in net.parameters()))

    def test_optimizer_made_before(self):
        model = nn.Sequential(nn.Linear(4, 4))
        normalise = nn.LayerNorm(4)                               # called first, yet it is not what is trained
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def train(_):
            model(normalise(torch.ones(2, 4))).sum().backward()
            optimizer.step()

        rank = self.record(train)
        self.assertEqual([c["module"] for c in rank.lines_of("call")], ["normalise", "", "0"])
        self.assertEqual(rank.counts()["optimizer/param"], 2)

    def test_scripts_that_use_the_whole_stack(self):
        """What just fits without a recorder does so with it; where nothing of ours fits any more, the script goes on and later calls are recorded."""
        class Cell(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                return self.inner(x) if self.inner else x + 1

        chain, net = None, Net()
        for _ in range(100):
            chain = Cell(chain)

        def deeper(levels, run):
            return deeper(levels - 1, run) if levels else run()

        def most(run):
            """How many levels of the script's own fit above `run`."""
            fits = 0
            for step in (512, 256, 128, 64, 32, 16, 8, 4, 2, 1):
                with contextlib.suppress(RecursionError):
                    deeper(fits + step, run)
                    fits += step
            return fits

        limit, x = sys.getrecursionlimit(), torch.ones(2, 4)
        plain = most(lambda: chain(x))

        def train(recorder):
            self.assertGreaterEqual(most(lambda: chain(x)), plain)
            recorder.step(1)
            sys.setrecursionlimit(limit)                          # the script may set its own
            for levels in range(most(lambda: None) - 60, most(lambda: None)):
                with contextlib.suppress(RecursionError):
                    deeper(levels, lambda: net(x))
                self.assertFalse(recorder.session.local.busy)
                self.assertEqual(recorder.session.local.stack, [])
            recorder.step(2)
            net(x).sum().backward()

        rank = self.record(train, faults=True)
        self.assertIn("RecursionError", json.dumps(rank.info["coverage"]["not_observed"]))
        self.assertEqual(rank.counts(step=2)["forward/output"], 5)
        self.assertEqual(rank.counts(step=2)["backward/grad"], 4)
        self.assertEqual(sys.getrecursionlimit(), limit)

    def test_errors_while_an_error_is_noted(self):
        net = Net()

        def train(recorder):
            session, miss = recorder.session, recorder.session.miss
            for name, broken in (("start", lambda *_: 1 / 0), ("miss", lambda *_: 1 / 0)):
                setattr(session, name, broken)
            net(torch.ones(2, 4)).sum().backward()
            self.assertFalse(session.local.busy)
            session.miss = miss

        why = [m["why"] for m in self.record(train, faults=True).info["coverage"]["not_observed"]]
        self.assertIn("error in the recorder: ZeroDivisionError", why)

    def test_a_parameter_that_is_a_plain_tensor_can_be_saved(self):
        free, net = torch.ones(1, requires_grad=True), Net()
        optimizer = torch.optim.SGD([free, *net.parameters()], lr=0.1)

        def train(_):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for _ in range(2):
                    (net(torch.ones(2, 4)) * free).sum().backward()
                    optimizer.step()
                    torch.save({"free": free, "net": net}, io.BytesIO())

        rank = self.record(train)
        self.assertEqual(len(rank.records(step=1, phase="backward", kind="grad")), 5)
        self.assertFalse(free._backward_hooks)

    def test_scripted_code_that_differentiates(self):
        """torch.jit.script knows these functions by identity: before, while and after they are replaced."""
        inner, x = nn.Linear(3, 1), torch.ones(2, 3, requires_grad=True)

        def use(_=None):                                          # compiled anew each time
            class Energy(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.inner = inner

                def forward(self, x: torch.Tensor):
                    energy = torch.tanh(self.inner(x)).sum()
                    ones: List[Optional[torch.Tensor]] = [torch.ones_like(energy)]
                    force = torch.autograd.grad([energy], [x], grad_outputs=ones, create_graph=True)[0]
                    assert force is not None
                    return force

            def differentiate(x: torch.Tensor):
                torch.autograd.backward([x.sum()])

            force = torch.jit.script(Energy())(x)
            torch.jit.script(differentiate)(force)
            return force.detach()

        before, table = use(), dict(torch.jit._builtins._get_builtin_table())
        force = []
        self.record(lambda _: force.append(use()))
        self.assertSame(force[0], before)
        self.assertSame(use(), before)
        self.assertEqual(torch.jit._builtins._get_builtin_table(), table)

    def test_every_replaced_function_can_be_scripted(self):
        for level in ("module", "op"):
            self.out = os.path.join(self.folder, level)

            def train(recorder):
                for old, new in {id(new): (old, new) for owner, _, old, new in recorder.session.patches.undo
                                 if isinstance(owner, types.ModuleType)}.values():
                    self.assertEqual(torch.jit._builtins._find_builtin(new), torch.jit._builtins._find_builtin(old), new)
                    self.assertIs(getattr(new, "__original_fn"), old)
                    self.assertTrue(getattr(new, "__script_if_tracing_wrapper"))
                nn.Linear(1, 1)(torch.ones(1)).sum().backward()
            self.record(train, level=level)

    @unittest.skipIf(sys.version_info >= (3, 13), "frames keep no copies of their variables any more")
    def test_what_the_script_lets_go_is_gone(self):
        """A frame keeps what its f_locals have shown; losses are met when there are outputs."""
        def local():
            criterion = nn.MSELoss()
            return lambda model, x, other: run(model, x, other, criterion)

        def run(model, x, other, criterion):
            refs, loss_of_mine = [], criterion
            for _ in range(3):
                out = Passing.apply(model(x))
                refs.append(weakref.ref(out))
                (loss_of_mine(out, x) + global_criterion(out, x) + other.criterion(out, x)).backward()
                del out
            gc.collect()
            return [ref() is not None for ref in refs]

        class Trainer:
            def __init__(self):
                self.model, self.criterion = Net(), nn.SmoothL1Loss()

            def fit(self):
                return local()(self.model, torch.ones(2, 4), self)

        alive = []
        rank = self.record(lambda _: alive.extend(Trainer().fit()))
        self.assertEqual(alive, [False] * 3)
        self.assertEqual({c["module"] for c in rank.lines_of("call", step=0) if "fc" not in c["module"] and "relu" not in c["module"]},
                         {"", "criterion", "global_criterion", "criterion#1"})

    def test_random_state_is_not_touched(self):
        net, x = nn.Sequential(Net(), nn.Dropout(0.5)), torch.ones(2, 4)
        torch.manual_seed(5)
        net(x)
        expected = torch.get_rng_state()
        torch.manual_seed(5)
        rank = self.record(lambda _: net(x).sum().backward())
        self.assertSame(torch.get_rng_state(), expected)
        self.assertEqual(rank.info["seeds"]["torch"], [])

    def test_errors_of_the_recorder_stay_in_it(self):
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def train(recorder):
            recorder.session.start = lambda *_: 1 / 0
            for _ in range(2):
                net(torch.ones(2, 4)).sum().backward()
                optimizer.step()

        rank = self.record(train, faults=True)
        why = [m["why"] for m in rank.info["coverage"]["not_observed"]]
        self.assertIn("error in the recorder: ZeroDivisionError: division by zero", why)
        self.assertEqual(rank.info["status"], "complete")

    def test_full_disk(self):
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def train(recorder):
            for step in range(3):
                if step == 1:
                    def full(*_):
                        raise OSError(28, "No space left on device")
                    recorder.session.writer.append = full
                net(torch.ones(2, 4)).sum().backward()
                optimizer.step()

        rank = self.record(train)
        self.assertEqual(rank.info["status"], "recording")        # it did not see the end
        self.assertEqual({r["step"] for r in rank.tensors}, {0})

    def test_an_existing_recording_is_refused(self):
        net = Net()
        self.record(lambda _: net(torch.ones(1, 4)).sum().backward())
        with self.assertRaisesRegex(FileExistsError, "already holds a recording"):
            self.record(lambda _: None)
        rank = self.record(lambda _: net(torch.zeros(1, 4)).sum().backward(), overwrite=True)
        self.assertEqual(rank.value(module="", kind="input").sum(), 0)

    def test_description(self):
        torch.manual_seed(17)
        net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        optimizer = torch.optim.AdamW([{"params": net[0].parameters(), "lr": 0.5}, {"params": net[1].parameters()}], weight_decay=0.25)

        def train(_):
            torch.manual_seed(18)
            for x, y in DataLoader(data(), batch_size=4, drop_last=True):
                F.mse_loss(net(x), y).backward()
                optimizer.step()

        rank = self.record(train, name="a name")
        info = rank.info
        self.assertEqual((info["run"], info["rank"], info["world_size"], info["status"]), ("a name", 0, 1, "complete"))
        self.assertEqual(info["environment"]["torch"], torch.__version__)
        self.assertEqual(info["flags"]["deterministic"], False)
        self.assertEqual([g["lr"] for g in info["config"]["optimizers"][0]["groups"]], [0.5, 1e-3])
        self.assertEqual(info["config"]["optimizers"][0]["class"], "AdamW")
        self.assertEqual(info["config"]["loaders"][0]["batch_size"], 4)
        self.assertEqual(info["seeds"], {"torch": [18], "initial": 18})
        self.assertEqual(rank.scalar("lr/1", 1), 1e-3)
        self.assertEqual(info["device"], "cpu")
        self.assertEqual({r["param"] for r in rank.records(step=0, phase="optimizer", kind="buffer")},
                         {"running_mean", "running_var", "num_batches_tracked"})
        self.assertEqual(rank.value(step=1, phase="start", param="num_batches_tracked").item(), 1)


if __name__ == "__main__":
    unittest.main()
