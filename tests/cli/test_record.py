# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
"""forkpoint-cli record, end to end, with real PyTorch: the prefix before a command, exit statuses, and what a failed run leaves."""

import json
import os
import re
import socket
import subprocess
import unittest
import venv

from command_line import ROOT, CommandLineTest, run_cli

PYTHON = os.environ.get("FORKPOINT_TORCH_PYTHON") or "/usr/bin/python3"
HAS_TORCH = subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode == 0
GPT = ROOT / "resources/samples/scripts/gpt.py"

TRAIN = """
import sys, torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(2):
    model(torch.ones(3, 2)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@unittest.skipUnless(HAS_TORCH, f"{PYTHON} has no PyTorch; FORKPOINT_TORCH_PYTHON names one that has")
class RecordTest(CommandLineTest):
    def record(self, *words, out="run"):
        # The cache of this test, not of whoever runs it, receives the unpacked recorder.
        return run_cli("record", "-o", self.folder / out, *words, cwd=self.folder, FORKPOINT_PYTHON=PYTHON, XDG_CACHE_HOME=str(self.folder / "cache"),
                       OMP_NUM_THREADS="1")

    def script(self, text, name="train.py"):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def rank(self, number=0, out="run"):
        return json.loads((self.folder / f"{out}.forkpoint/rank{number:05}/rank.json").read_text(encoding="utf-8"))

    def losses(self, number, out="run"):
        lines = (self.folder / f"{out}.forkpoint/rank{number:05}/scalars.jsonl").read_text(encoding="utf-8").splitlines()
        return [scalar["value"] for scalar in map(json.loads, lines) if scalar["name"] == "loss"]

    def test_one_process_two_processes_and_their_comparison(self):
        """The demo in small: the sum-reduced loss of two processes is found at the first reduced gradient."""
        result = self.record("--steps", "0:1", "--", PYTHON, GPT, "--loss", "sum", "--steps", "2", out="single")
        self.assertEqual(result.status, 0, result)
        self.assertEqual([f"step {i} rank 0 loss {value!r}" for i, value in enumerate(self.losses(0, "single"))], result.stdout.splitlines())
        result = self.record("--steps", "0:1", "--", PYTHON, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", free_port(),
                             "-r", "0:1,1:1", "-t", "0:1,1:1", GPT, "--loss", "sum", "--steps", "2", out="ddp2")
        self.assertEqual(result.status, 0, result)
        for rank in (0, 1):
            self.assertEqual(self.rank(rank, "ddp2")["status"], "complete")
            said = re.findall(rf"step \d rank {rank} loss (\S+)", result.stdout)
            self.assertEqual([repr(value) for value in self.losses(rank, "ddp2")], said, "the recorded loss is the root of backward, as a double")
        for name in ("single", "ddp2"):
            self.assertEqual(run_cli("verify", self.folder / name).status, 0)
        compared = run_cli("compare", self.folder / "single", self.folder / "ddp2.forkpoint")
        self.assertEqual(compared.status, 1)
        self.assertTrue(compared.stdout.startswith("DIVERGENT  The runs fork at step 0, reduce/grad of tokens.weight"), compared.stdout)

    def test_every_word_of_the_command_arrives(self):
        script = self.script(TRAIN + "print(sys.argv[1:])")
        words = ["--out", "elsewhere", "-o", "--steps", "7:9", "--overwrite", "--help", "--version", "--", "-x", "a b", "", "--name=n", "*", "$HOME"]
        for dashes in (["--"], []):
            with self.subTest(dashes):
                result = self.record("--overwrite", *dashes, PYTHON, script, *words)
                self.assertEqual((result.status, result.stdout), (0, f"{words}\n"), result)
                self.assertEqual((self.rank()["steps"], self.rank()["config"]["argv"]), ("0:3", [script, *words]))

    def test_options(self):
        script = self.script(TRAIN)
        result = self.record("--steps", "1:2", "--name", "a name", "--python", PYTHON, "--", PYTHON, script)
        self.assertEqual((result.status, self.rank()["run"], self.rank()["steps"]), (0, "a name", "1:2"), result)
        self.assertEqual(run_cli("info", self.folder / "run").stdout.splitlines()[0], "a name")

    def test_sketches_digests_and_folds_are_compared(self):
        wide = TRAIN.replace("Linear(2, 1)", "Linear(200, 100)").replace("ones(3, 2)", "rand(3, 200) * float(sys.argv[1])").replace("import sys, torch", "import sys, torch; torch.manual_seed(0)")
        script = self.script(wide)
        for name, options, value in (("full", ["--ring", "2", "--steps", "0:1"], "1"), ("same", ["--write", "sketch", "--steps", "0:1"], "1"),
                                     ("other", ["--write", "sketch", "--steps", "0:1"], "1.5"), ("folds", ["--write", "fold", "--steps", "0:1"], "1"),
                                     ("otherfolds", ["--write", "fold", "--steps", "0:1"], "1.5"), ("like", ["--like", str(self.folder / "same")], "1")):
            result = self.record(*options, "--", PYTHON, script, value, out=name)
            self.assertEqual(result.status, 0, result)
            self.assertEqual(run_cli("verify", self.folder / name).status, 0)

        def compare(a, b):
            result = run_cli("compare", self.folder / a, self.folder / b, "--json", self.folder / "out.json")
            pairs = {pair["id"]: pair for pair in json.loads((self.folder / "out.json").read_text(encoding="utf-8"))["pairs"]}
            return result, pairs
        result, pairs = compare("same", "like")
        self.assertTrue(result.stdout.startswith("IDENTICAL"), result)
        self.assertNotIn("sample", result.stdout)                # equal folds: nothing had to be estimated
        result, pairs = compare("full", "same")
        self.assertEqual(result.status, 0, result)
        weight = pairs["s0/start/param/weight"]
        self.assertEqual((weight["severity"], weight["metrics"]["sampled"], weight["metrics"]["count"]), ("noise", 4096, 4096))
        self.assertIn("compared on a sample", result.stdout)
        result, pairs = compare("same", "other")
        self.assertEqual(result.status, 1, result)
        gradient = pairs["s0/backward/grad/weight"]
        self.assertEqual((gradient["severity"], gradient["metrics"]["sampled"]), ("divergent", 4096))
        self.assertAlmostEqual(gradient["metrics"]["best_scale"], 1.5, places=6)
        result, pairs = compare("folds", "otherfolds")
        self.assertEqual((pairs["s0/start/param/weight"]["severity"], pairs["s0/reduce/grad/weight"]["severity"]), ("identical", "unmatched"))
        self.assertEqual(result.status, 1, result)
        self.assertRegex(" ".join(result.stdout.split()), r"\d+ tensors differ in bits; by how much was not recorded\.")
        self.assertIn("only a fold was recorded", " ".join(result.stdout.split()))
        self.assertRegex(run_cli("info", self.folder / "same").stdout, r"detail +12 sketch\n")

    def test_an_existing_recording_is_not_replaced_unasked(self):
        script = self.script("open('started', 'w')\n" + TRAIN)
        self.assertEqual(self.record("--", PYTHON, script).status, 0)
        (self.folder / "started").unlink()
        first = self.rank()["run_id"]
        result = self.record("--", PYTHON, script)
        self.assertEqual(result.status, 2, result)
        self.assertRegex(result.stderr, r"run\.forkpoint.*--overwrite")
        self.assertEqual((self.rank()["run_id"], (self.folder / "started").exists()), (first, False), "refused before training")
        self.assertEqual(self.record("--overwrite", "--", PYTHON, script).status, 0)
        self.assertNotEqual(self.rank()["run_id"], first)

    def test_a_script_that_raises(self):
        result = self.record("--", PYTHON, self.script(TRAIN + "raise ValueError('out of luck')"))
        self.assertEqual(result.status, 1, result)
        self.assertIn("ValueError: out of luck", result.stderr)
        self.assertEqual((self.rank()["status"], self.rank()["error"]), ("failed", "ValueError: out of luck"))
        info = run_cli("info", self.folder / "run")
        self.assertEqual(info.status, 0)
        self.assertRegex(info.stdout, r"status +failed\n(.*\n)*  error +ValueError: out of luck\n")

    def test_scripts_that_exit(self):
        for status, word in ((0, "complete"), (5, "failed")):
            result = self.record("--overwrite", "--", PYTHON, self.script(TRAIN + f"sys.exit({status})"))
            self.assertEqual((result.status, self.rank()["status"]), (status, word), result)
            self.assertEqual(run_cli("verify", self.folder / "run").status, 0)

    def test_a_script_that_never_trains(self):
        result = self.record("--", PYTHON, self.script("import torch\nprint('hello')"))
        self.assertEqual((result.status, result.stdout), (0, "hello\n"), result)
        self.assertFalse((self.folder / "run.forkpoint").exists())
        self.assertRegex(result.stderr, "(?i)nothing was recorded|no training")

    def test_a_python_without_torch(self):
        """The one on the path often is: the last line says so."""
        venv.create(self.folder / "bare", symlinks=True)
        python = self.folder / "bare/bin/python3"
        result = self.record("--python", python, "--", python, self.script(TRAIN))
        self.assertEqual(result.status, 1, result)
        self.assertTrue(result.stderr.endswith(f"forkpoint: nothing was recorded: {python} has no PyTorch. Name the Python that has it in the command, such as "
                                               "-- /usr/bin/python3 train.py\n"), result.stderr)
        self.assertFalse((self.folder / "run.forkpoint").exists())

    def test_a_command_that_is_no_python(self):
        result = self.record("--", "sh", "-c", "echo out; echo err >&2; exit 3")
        self.assertEqual((result.status, result.stdout), (3, "out\n"), result)
        self.assertIn("err\n", result.stderr)

    def test_commands_that_cannot_start(self):
        result = self.record("--", self.folder / "no-such-program")
        self.assertIn(result.status, (2, 126, 127), result)
        self.assertIn("no-such-program", result.stderr)
        self.assert_one_clear_line(self.record("--python", "/no/such/python", "--", "true"), 2, "/no/such/python", "--python or FORKPOINT_PYTHON")
        self.assertEqual(self.record("--steps", "two", "--", "true").status, 2)
        self.assertEqual(self.record("--level", "atom", "--", "true").status, 2)

    def test_a_folder_that_cannot_be_made(self):
        (self.folder / "file").write_text("")
        result = self.record("--", PYTHON, self.script("open('started', 'w')\n" + TRAIN), out="file/run")
        self.assertEqual(result.status, 2, result)
        self.assertIn(f"{self.folder}/file", result.stderr)
        self.assertFalse((self.folder / "started").exists(), "refused before training")


if __name__ == "__main__":
    unittest.main()
