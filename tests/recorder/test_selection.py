# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""What is recorded, and how much of it: steps, ranks, phases, modules, sketches, digests, folds, budget, plan, another bundle's choice."""
import hashlib
import json
import math
import os
import struct
import sys

import torch
import torch.nn as nn

from recording import RECORDER, SAMPLE, Rank, RecorderTest, forkpoint_recorder as recorder
from format_check import fold, global_indices, sample_positions

TRAIN = '''
import sys, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(100, 120), torch.nn.Tanh(), torch.nn.Linear(120, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(40, 100)), batch_size=4)
for step, (x,) in enumerate(data):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(step, loss.item().hex())
import hashlib
print(hashlib.sha256(b"".join(bytes(p.detach().view(-1).view(torch.uint8).tolist()) for p in model.parameters())).hexdigest())
'''


def little(values, code):
    return struct.pack("<%d%s" % (len(values), code), *values)


class Numbers(RecorderTest):
    """Folds and sketches against FORMAT.md's definition, computed one element at a time."""

    def fold(self, tensor, whole=None, offset=None):
        return recorder.fold_of(tensor.contiguous(), recorder.Piece(tensor.shape, whole, offset))

    def setUp(self):
        super().setUp()
        recorder.use_torch()

    def test_the_documented_folds(self):
        self.assertEqual(self.fold(torch.tensor([1., 2., 3.])), "ca58e40d0a400000")
        self.assertEqual(self.fold(torch.tensor([1.], dtype=torch.float64)), "df414ba7c0700000")

    def test_fold_of_every_type(self):
        for name, item in recorder.ITEM_SIZES.items():
            dtype = getattr(torch, name, None)
            if dtype is None:
                continue
            with self.subTest(name):
                tensor = (torch.randn(7, 11) * 3).to(dtype) if not name.startswith("complex") else torch.randn(7, 11, dtype=dtype)
                data = bytes(recorder.bytes_of(tensor))
                self.assertEqual(len(data), 77 * item)
                self.assertEqual(self.fold(tensor), fold(data, name, range(77)))

    def test_fold_over_several_blocks(self):
        tensor = torch.randn(150000)
        self.assertEqual(self.fold(tensor), fold(bytes(recorder.bytes_of(tensor)), "float32", range(150000)))
        tensor = torch.randn(50000, dtype=torch.float64)
        self.assertEqual(self.fold(tensor), fold(bytes(recorder.bytes_of(tensor)), "float64", range(50000)))

    def test_folds_of_pieces_add_up(self):
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            tensor = torch.randn(300, 400).to(dtype)
            whole = int(self.fold(tensor), 16)
            for dim in (0, 1):
                for parts in (2, 7):
                    total, begin = 0, 0
                    for piece in tensor.chunk(parts, dim):
                        offset = [0, 0]
                        offset[dim] = begin
                        total += int(self.fold(piece, [300, 400], offset), 16)
                        begin += piece.shape[dim]
                    self.assertEqual(total & ((1 << 64) - 1), whole, (dtype, dim, parts))

    def test_one_flipped_bit_changes_the_fold(self):
        tensor = torch.randn(70000)
        before = self.fold(tensor)
        for place in (0, 1, 65535, 65536, 69999):
            changed = tensor.clone()
            changed.view(torch.int32)[place] ^= 1
            self.assertNotEqual(self.fold(changed), before)
        self.assertNotEqual(self.fold(tensor[torch.randperm(70000)]), before)

    def test_sample_positions(self):
        for count in (0, 1, 4096, 4097, 5000, 1 << 20, (1 << 33) + 7):
            positions = recorder.sample_positions(count).tolist()
            self.assertEqual(positions, sample_positions(count))
            self.assertEqual(positions, sorted(set(positions)))
            self.assertTrue(not positions or 0 <= positions[0] and positions[-1] < count)

    def test_samples_of_pieces_make_up_the_samples_of_the_whole(self):
        shape = [90, 100]
        positions = set(sample_positions(9000))
        for pieces in ([([45, 100], [0, 0]), ([45, 100], [45, 0])], [([90, 33], [0, 0]), ([90, 67], [0, 33])]):
            seen = []
            for local, offset in pieces:
                piece = recorder.Piece(local, shape, offset)
                indices = global_indices(local, shape, offset)
                self.assertEqual(piece.indices().tolist(), indices)
                mine = [indices[place] for place in piece.samples().tolist()]
                self.assertEqual(mine, sorted(mine))
                seen += mine
            self.assertEqual(set(seen), positions)
            self.assertEqual(len(seen), len(positions))

    def test_statistics_of_a_sketch(self):
        tensor = torch.tensor([0.0, -0.0, 1.0, 1.5, -3.0, 0.25, 1e-40, 100.0])
        _, stats = recorder.looked_at(tensor, recorder.Piece(tensor.shape))
        self.assertEqual((stats["min"], stats["max"], stats["nan"], stats["inf"]), (-3.0, 100.0, 0, 0))
        self.assertAlmostEqual(stats["l2"], math.sqrt(1 + 2.25 + 9 + 0.0625 + 10000), places=4)
        broken = torch.tensor([1.0, math.nan, math.inf, -math.inf, 2.0])
        _, stats = recorder.looked_at(broken, recorder.Piece(broken.shape))
        self.assertEqual((stats["min"], stats["max"], stats["nan"], stats["inf"], stats["mean"]), (1.0, 2.0, 1, 2, 1.5))

    def test_statistics_beyond_the_range_of_float32_squares(self):
        for scale in (1e-30, 1e30):
            tensor = torch.full((10000,), scale)
            _, stats = recorder.looked_at(tensor, recorder.Piece(tensor.shape))
            self.assertAlmostEqual(stats["l2"] / scale, math.sqrt(10000), places=3)


class Selection(RecorderTest):
    def train(self, *options, status=0, name="run"):
        path = self.script(TRAIN)
        return self.run_python(RECORDER, "--out", name, *options, path, status=status)

    def plain(self):
        return self.run_python(self.script(TRAIN))[0]

    def test_steps(self):
        out, _ = self.train("--steps", "0:2,5")
        self.assertEqual(out, self.plain())
        rank = self.read()
        self.assertEqual(sorted({r["step"] for r in rank.tensors}), [0, 1, 5])
        self.assertEqual(rank.info["steps"], "0:2,5")
        self.assertEqual(len([s for s in rank.scalars if s["name"] == "loss"]), 10)
        self.assertEqual(rank.counts(step=1), rank.counts(step=5))

    def test_modules_and_phases(self):
        out, _ = self.train("--modules", "^2$", "--phases", "data,forward,backward")
        self.assertEqual(out, self.plain())
        rank = self.read()
        self.assertEqual({r["module"] for r in rank.tensors if r["kind"] != "batch"}, {"2", "loss"})
        self.assertEqual(rank.counts(step=0), {"data/batch": 1, "forward/input": 1, "forward/output": 2, "backward/grad_output": 1, "backward/grad": 2})
        self.assertEqual(rank.info["selection"], {"modules": "^2$", "phases": ["data", "forward", "backward"]})
        self.assertEqual(len(rank.lines_of("call", step=0)), 4)      # the structure is whole

    def test_details(self):
        self.train("--steps", "0:2", name="whole")
        out, err = self.train("--steps", "0:2", "--write", "sketch", "--write", "0.*=full", "--write", "backward/*=digest", "--write", "optimizer/optimizer_state/*=fold",
                              "--write", "forward/input/*=none")
        self.assertEqual(out, self.plain())
        whole, rank = self.read(os.path.join(self.folder, "whole")), self.read()
        details = {}
        for record in rank.tensors:
            details.setdefault("%s/%s" % (record["phase"], record["kind"]), set()).add((record["module"], record.get("detail", "full")))
        self.assertEqual(details["start/param"], {("0", "full"), ("2", "sketch")})
        self.assertEqual(details["backward/grad"], {("0", "digest"), ("2", "digest")})
        self.assertEqual(details["optimizer/optimizer_state"], {("0", "fold"), ("2", "fold")})
        self.assertNotIn("forward/input", details)
        bundle = recorder.open(self.out)
        compared = 0
        for record in rank.tensors:
            keys = {key: record[key] for key in ("step", "micro", "phase", "kind", "module", "param", "call", "slot") if key in record}
            other = whole.record(**keys)
            value = whole.read(other)
            data = bytes(recorder.bytes_of(value))
            if "digest" in record:
                self.assertEqual(record["digest"], other["digest"])
            if "fold" in record:
                self.assertEqual(record["fold"], fold(data, record["dtype"], range(value.numel())))
            if "sketch" in record:
                sketch = bundle.sketch(record["step"], recorder.tensor_name(record))
                self.assertEqual(sketch.indices.tolist(), sample_positions(value.numel()))
                self.assertSame(sketch.values, value.reshape(-1)[sketch.indices])
                compared += 1
            if other.get("stats"):
                for key in ("min", "max", "nan", "inf"):
                    self.assertEqual(record["stats"][key], other["stats"][key])
                self.assertAlmostEqual(record["stats"]["l2"], other["stats"]["l2"], delta=1e-5 * (1 + other["stats"]["l2"]))
        self.assertGreater(compared, 10)
        self.assertIn("as sketch", err)

    def test_every(self):
        out, _ = self.train("--every", "4")
        self.assertEqual(out, self.plain())
        rank = self.read()
        self.assertEqual(sorted({r["step"] for r in rank.tensors}), [0, 4, 8])
        self.assertEqual({r["detail"] for r in rank.tensors}, {"fold"})
        self.assertEqual(rank.counts(step=4), {"start/param": 4, "data/batch": 1, "reduce/grad": 4})
        self.assertEqual(os.path.getsize(os.path.join(rank.folder, "tensors-0000.bin")), 0)

    def test_every_beside_steps(self):
        self.train("--every", "4", "--steps", "4:6")
        rank = self.read()
        self.assertEqual({(r["step"], r.get("detail", "full")) for r in rank.tensors}, {(0, "fold"), (4, "full"), (5, "full"), (8, "fold")})

    def test_like(self):
        self.train("--steps", "1,3", "--modules", "^0", "--write", "backward/*=sketch", name="first")
        out, _ = self.train("--like", "first", name="second")
        self.assertEqual(out, self.plain())
        first, second = (self.read(os.path.join(self.folder, name)) for name in ("first", "second"))

        def essence(rank):
            return [{key: value for key, value in record.items() if key not in ("id", "offset", "sketch")} for record in rank.tensors]
        self.assertEqual(essence(first), essence(second))
        self.assertEqual(second.info["selection"], {"like": "first.forkpoint"})
        os.mkdir(os.path.join(self.folder, "empty"))
        for other, says in (("absent", "does not exist"), ("empty", "no recorded tensor")):
            _, err = self.train("--like", other, name="third", status=2)
            self.assertIn(says, err)

    def test_budget(self):
        self.train("--steps", "0:3", name="whole")
        out, err = self.train("--steps", "0:3", "--budget", "400KB")
        self.assertEqual(out, self.plain())
        rank, whole = self.read(), self.read(os.path.join(self.folder, "whole"))
        self.assertGreater(len(whole.data), 700000)
        self.assertLess(len(rank.data), 400000)
        self.assertEqual(len(rank.tensors), len(whole.tensors))
        budget = rank.info["selection"]["budget"]
        self.assertEqual((budget["bytes"], budget["per_step"]), (400000, 133333))
        self.assertIn({"what": "start/param/0.weight", "from": "full", "to": "sketch"}, budget["dropped"])
        details = {}                                                 # the same tensor is written alike in every step once it was dropped
        for record in rank.tensors:
            key = tuple(record.get(name) for name in ("phase", "kind", "module", "param", "call", "slot"))
            details.setdefault(key, []).append(["full", "sketch", "digest"].index(record.get("detail", "full")))
        for key, found in details.items():
            self.assertEqual(found, sorted(found), key)
        self.assertIn("--budget", err)

    def test_budget_alike_on_all_ranks(self):
        self.run_ranks([RECORDER, "--out", "two", "--steps", "0:2", "--budget", "60KB", SAMPLE])
        ranks = [self.read(os.path.join(self.folder, "two"), number) for number in (0, 1)]
        details = [[(recorder.tensor_name(r), r.get("detail")) for r in rank.tensors] for rank in ranks]
        self.assertEqual(details[0], details[1])
        self.assertEqual({"digest", None}, {detail for _, detail in details[0]})     # a sketch of these is no smaller
        self.assertLess(sum(len(rank.data) for rank in ranks), 60000)

    def test_ranks(self):
        self.run_ranks([RECORDER, "--out", "two", "--steps", "0:2", "--ranks", "1", SAMPLE])
        self.assertEqual(sorted(os.listdir(os.path.join(self.folder, "two.forkpoint"))), ["bundle.json", "rank00001"])
        self.assertGreater(len(self.read(os.path.join(self.folder, "two"), 1).tensors), 100)

    def test_plan(self):
        out, err = self.train("--steps", "0:5,8", "--plan")
        self.assertEqual(out.splitlines(), self.plain().splitlines()[:2])
        self.assertFalse(os.path.exists(self.out + ".forkpoint"))
        self.assertIn("plan for rank 0 of 1, from the 2 training steps", err)
        self.train("--steps", "0:5,8", name="real")
        rank = Rank(os.path.join(self.folder, "real.forkpoint", "rank00000"))
        needed = sum(math.prod(r["shape"]) * recorder.ITEM_SIZES[r["dtype"]] for r in rank.tensors) + 400 * len(rank.tensors)
        self.assertIn("--steps 0:5,8, 6 steps: about %s on this rank" % recorder.readable_size(needed), err)
        _, err = self.run_python(RECORDER, "--out", "run", "--plan", self.script("import torch\nm = torch.nn.Linear(2, 2)\nm(torch.ones(1, 2)).sum().backward()\n", "one.py"))
        self.assertIn("from the one training step", err)

    def test_steps_without_an_optimizer(self):
        script = """import torch
m = torch.nn.Linear(2, 2)
for _ in range(6):
    m(torch.ones(1, 2)).sum().backward()
    %s
"""
        updating = self.script(script % "[p.data.sub_(p.grad) for p in m.parameters()]", "by_hand.py")
        frozen = self.script(script % "m.zero_grad()", "frozen.py")
        self.run_python(RECORDER, "--out", "run", "--steps", "1,3", updating)
        self.assertEqual({(r["step"], r.get("micro", 0)) for r in self.read().tensors}, {(1, 0), (3, 0)})
        _, err = self.run_python(RECORDER, "--out", "plan", "--steps", "0:4", "--plan", updating)
        self.assertIn("from the 2 training steps", err)
        self.assertIn("--steps 0:4, 4 steps: about", err)
        _, err = self.run_python(RECORDER, "--out", "plan", "--steps", "0:4", "--plan", frozen)
        self.assertIn("all 6 iterations of the script count as one step", err)
        self.assertNotIn("4 steps: about", err)
        _, err = self.run_python(RECORDER, "--out", "frozen", "--steps", "0:4", frozen)
        self.assertIn("no optimizer was seen: all 6 iterations count as one step", err)

    def test_wrong_options(self):
        for options, said in ((["--steps", "3:1"], "selects nothing"), (["--steps", "x"], "expected numbers"), (["--phases", "sideways"], "no phase sideways"),
                              (["--modules", "("], "no regular expression"), (["--write", "a=much"], "full, sketch"), (["--budget", "lots"], "a size"),
                              (["--budget", "1GB", "--steps", "3:"], "an end"), (["--every", "-1"], "number of steps"), (["--band", "loss"], "LOW:HIGH"),
                              (["--like", "x", "--steps", "0:1"], "contradict"), (["--level", "atom"], "module and op"), (["--like", "nope"], "--like nope does not exist"),
                              (["--like", "x", "--steps", ""], "contradict"), (["--steps", ""], "--steps '': expected numbers"), (["--ring", "0"], "--ring 0: expected a number of steps, 1 or more"),
                              (["--every", "0"], "--every 0: expected a number of steps, 1 or more"), (["--band", "loss=5:1"], "--band loss=5:1: nothing lies between 5.0 and 1.0"),
                              (["--band", "loss=nan:1"], "nothing lies between")):
            with self.subTest(options):
                _, err = self.train(*options, status=2)
                self.assertIn(said, err)

    def test_wrong_options_in_python(self):
        for options, kind, said in ((dict(ranks=[0, 1]), ValueError, r"--ranks \[0, 1\]: expected numbers"), (dict(foo=1), TypeError, "no option foo; there are modules, ranks"),
                                    (dict(band="loss=5:1"), ValueError, "nothing lies between"), (dict(steps=""), ValueError, "--steps '': expected"),
                                    (dict(ring="0"), ValueError, "1 or more"), (dict(like="nope"), ValueError, "does not exist")):
            with self.subTest(options), self.assertRaisesRegex(kind, said):
                recorder.Recorder(self.out, **options)
        recorder.Recorder(self.out, ring=0, every=0, ranks="0", band=["loss=1:1"])

    def test_modules_that_are_not_there(self):
        for options, said in (["--modules", "zzz"], True), (["--modules", "^2$"], False), (["--modules", "zzz", "--phases", "data"], True), (
                ["--modules", "2", "--phases", "data"], False), (["--modules", "zzz", "--steps", "50"], False), (["--modules", "zzz", "--plan"], True):
            with self.subTest(options):
                _, err = self.train("--overwrite", *options)
                self.assertEqual("--modules zzz matches no module; there are 0, 1, 2" in err, said, err)

    def test_ranks_that_are_not_there(self):
        for way, said in ([], "--ranks 5 does not select rank 0"), (["--", sys.executable], "as a rank that --ranks 5 selects (a process that is alone is rank 0)"):
            _, err = self.train("--ranks", "5", *way)
            self.assertIn("forkpoint: nothing was recorded: ", err)
            self.assertIn(said, err)
            self.assertEqual(err.count("forkpoint:"), 1)
        self.assertNotIn("run.forkpoint", os.listdir(self.folder))
        _, err = self.train("--", sys.executable, "-I")
        self.assertIn("or Python's options -I and -E hid the recorder from it", err)
        self.assertNotIn("--ranks", err)

    def test_children_get_the_selection(self):
        self.run_python(RECORDER, "--out", "run", "--steps", "1,3", "--phases", "reduce", "--write", "sketch", "--", "sh", "-c", "exec \"$0\" \"$1\"", sys.executable,
                        self.script(TRAIN))
        rank = self.read()
        self.assertEqual({(r["step"], r["phase"], r["detail"]) for r in rank.tensors}, {(1, "reduce", "sketch"), (3, "reduce", "sketch")})


class Reading(RecorderTest):
    def test_tensors(self):
        def train(_):
            model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2).to(torch.bfloat16))
            model[1].register_forward_pre_hook(lambda module, args: (args[0].bfloat16(),))
            torch.manual_seed(1)
            model(torch.randn(5, 3)).float().square().mean().backward()
        rank = self.record(train)
        bundle = recorder.open(self.out)
        self.assertEqual((bundle.steps, bundle.ranks), ([0], [0]))
        self.assertEqual(len(bundle.names(0)), len(rank.tensors))
        for record in rank.tensors:
            self.assertSame(bundle[0, recorder.tensor_name(record), 0], rank.read(record))
        self.assertSame(bundle[0, "grad_output/1"], rank.value(kind="grad_output", module="1"))
        for key, said in (((0, "grad/0.wait"), "no tensor"), ((9, "x"), "step 9 was not"), ((0, "x", 3), "no rank 3"), ((0, "0.weight"), "several")):
            with self.assertRaisesRegex(KeyError, said):
                bundle[key]
        with self.assertRaises(FileNotFoundError):
            recorder.open(self.folder)

    def test_names_without_wrappers(self):
        samples = os.path.join(os.path.dirname(RECORDER), "..", "samples")
        bundle = recorder.open(os.path.join(samples, "healthy-ddp2.forkpoint"))
        step = bundle.steps[0]
        self.assertSame(bundle[step, "forward/output/head", 1], bundle[step, "forward/output/module.head", 1])
        with self.assertRaisesRegex(KeyError, "no tensor forward/output/tail"):
            bundle[step, "forward/output/tail", 1]

    def test_frames(self):
        values = [float(k % 7) for k in range(1000)]
        raw = little(values, "f")
        folder = os.path.join(self.out + ".forkpoint", "rank00000")
        os.makedirs(folder)
        pieces = [raw[k:k + 1024] for k in range(0, 4000, 1024)]
        shuffled = [b"".join(piece[place::4] for place in range(4)) for piece in pieces]
        common = {"step": 0, "phase": "start", "kind": "param", "module": "m", "order": 0, "dtype": "float32", "shape": [1000],
                  "digest": hashlib.sha256(raw).hexdigest(), "file": "tensors-0000.bin", "frame_size": 1024}
        try:
            compress = zstd_compressor()
        except OSError:
            self.skipTest("no libzstd to make a compressed frame with")
        packed = [compress(piece) for piece in shuffled]
        data = b"".join(shuffled)
        data += b"\0" * (-len(data) % 64)
        records = [dict(common, id=0, param="shuffled", offset=0, filter="shuffle"),
                   dict(common, id=1, param="packed", offset=len(data), filter="shuffle", codec="zstd", frames=[len(p) for p in packed])]
        with open(os.path.join(folder, "tensors-0000.bin"), "wb") as file:
            file.write(data + b"".join(packed))
        with open(os.path.join(folder, "tensors.jsonl"), "w") as file:
            file.write("".join(json.dumps(record) + "\n" for record in records) + '{"id":2,"torn')
        bundle = recorder.open(self.out)
        for name in ("shuffled", "packed"):
            self.assertEqual(bundle[0, "m." + name].tolist(), values)
        with open(os.path.join(folder, "tensors-0000.bin"), "r+b") as file:
            file.truncate(len(data) + 10)
        with self.assertRaisesRegex(ValueError, "damaged|missing"):
            bundle[0, "m.packed"]

    def test_records_that_cannot_be(self):
        """What a record says is checked before memory is taken or a file read; the error names the record."""
        self.record(lambda _: nn.Linear(2, 1)(torch.ones(1, 2)).sum().backward())
        index = os.path.join(self.out + ".forkpoint", "rank00000", "tensors.jsonl")
        with open(index) as file:
            lines = file.read().splitlines()
        good = next(json.loads(line) for line in lines if '"start"' in line and '"weight"' in line)
        self.assertEqual(good["shape"], [1, 2])
        shapes = [[1 << 62, 1 << 62], [1 << 62, 0, 1 << 62], [1 << 40], [-1, 2], [-1, -2], [1.0, 2], ["1", 2], [None], [True, 2], [1] * 5000, [10 ** 400]]
        cases = [({"shape": shape}, "no tensor has the shape|damaged") for shape in shapes]
        cases += [({"offset": offset}, "no tensor begins at offset") for offset in (-64, 1 << 40, 1 << 70, 3, 0.0, "0", None, [0])]
        cases += [({"dtype": "float99"}, "dtype float99 is unknown"), ({"codec": "lzma"}, "codec lzma is unknown"), ({"file": "../rank.json"}, "plain names"),
                  ({"file": "a\0b"}, "plain names"), ({"file": 7}, "plain names"), ({"frame_size": -1}, "frames of -1 bytes"),
                  ({"frame_size": 1 << 60}, "frames of"), ({"frame_size": "1"}, "frames of")]
        cases += [({"codec": "zstd", "frames": frames}, "damaged, or missing") for frames in (None, 7, [1 << 62], [-1], [0] * 9, ["8"], [[8]])]
        for change, said in cases:
            with self.subTest(**change):
                with open(index, "w") as file:
                    file.write(json.dumps(dict(good, **change)) + "\n")
                with self.assertRaisesRegex(ValueError, "^start/param/weight: .*(%s)" % said):
                    recorder.open(self.out)[0, "start/param/weight"]
        sketch = dict(good, detail="sketch", sketch={"samples": 2, "file": good["file"], "offset": good["offset"]})
        for change in ({"shape": [1 << 62, 1 << 62]}, {"global_shape": [1 << 62, 1 << 62], "global_offset": [0, 0]},
                       {"sketch": dict(sketch["sketch"], samples=1 << 62)}, {"sketch": dict(sketch["sketch"], samples=-1)}):
            with self.subTest(**change):
                with open(index, "w") as file:
                    file.write(json.dumps(dict(sketch, **change)) + "\n")
                with self.assertRaisesRegex(ValueError, "^start/param/weight: "):
                    recorder.open(self.out).sketch(0, "start/param/weight")
        # Lines that are no records are skipped.
        broken = ["[1,2]", "7", "[" * 100000, "{}"] + [json.dumps(dict(good, **{key: {}})) for key in ("step", "order", "phase", "shape", "slot", "param")]
        with open(index, "w") as file:
            file.write("\n".join(broken + [json.dumps(good)]) + "\n")
        bundle = recorder.open(self.out)
        self.assertEqual((bundle.steps, bundle.names(0)), ([0], ["start/param/weight"]))
        self.assertEqual(bundle[0, "start/param/weight"].shape, (1, 2))

    def test_files_that_are_none(self):
        self.record(lambda _: nn.Linear(2, 1)(torch.ones(1, 2)).sum().backward())
        data = os.path.join(self.out + ".forkpoint", "rank00000", "tensors-0000.bin")
        os.rename(data, data + ".kept")
        for make in (lambda: os.symlink(data + ".kept", data), lambda: os.mkfifo(data), lambda: os.mkdir(data)):
            make()
            with self.assertRaisesRegex(ValueError, "^start/param/weight: .* is no plain file"):
                recorder.open(self.out)[0, "start/param/weight"]
            os.rmdir(data) if os.path.isdir(data) else os.unlink(data)

    def test_without_pytorch(self):
        self.record(lambda _: nn.Linear(2, 1)(torch.ones(1, 2)).sum().backward())
        out, _ = self.run_python("-S", "-c", "import sys\nsys.path.insert(0, %r)\nimport forkpoint_recorder as r\nb = r.open('run')\nv = b[0, 'batch'] if 0 else b[0, 'forward/output/loss']\n"
                                 "w = b[0, 'start/param/weight']\nprint(type(w).__name__, w.tolist())" % os.path.dirname(RECORDER))
        self.assertRegex(out, r"^memoryview \[\[[-0-9.e]+, [-0-9.e]+\]\]")


def zstd_compressor():
    import ctypes
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compress.restype = library.ZSTD_compressBound.restype = ctypes.c_size_t
    library.ZSTD_compress.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)

    def compress(data):
        out = ctypes.create_string_buffer(library.ZSTD_compressBound(len(data)))
        size = library.ZSTD_compress(out, len(out), data, len(data), 1)
        return out.raw[:size]
    return compress


if __name__ == "__main__":
    __import__("unittest").main()
