# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""Ways to start a recording, and ways for a script to end. Each test runs scripts as processes of their own."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import unittest
import venv

from recording import RECORDER, SAMPLE, TORCH, RecorderTest

TRAIN = """
import torch

def train(steps=2, dim=4):
    torch.manual_seed(0)
    model = torch.nn.Linear(dim, dim)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.ones(2, dim)).pow(2).mean().backward()
        optimizer.step()

"""
PER_STEP = {"start/param": 2, "forward/input": 1, "forward/output": 2, "backward/grad_output": 1, "backward/grad": 2, "reduce/grad": 2,
            "optimizer/param": 2}


class Launch(RecorderTest):
    def bundles(self):
        return sorted(name for name in os.listdir(self.folder) if "forkpoint" in name)

    def test_three_ways(self):
        script = self.script(TRAIN + "train()\n")
        self.run_python(RECORDER, "--out", "a", script)
        self.run_python(RECORDER, "--out", "b.forkpoint", "--", sys.executable, script)
        self.run_python(RECORDER, "--out=c", "-m", "train")
        self.script(TRAIN + "import sys\nsys.path.insert(0, %r)\nfrom forkpoint_recorder import Recorder\nwith Recorder('d') as r:\n    train()\n"
                    % os.path.dirname(RECORDER), "api.py")
        self.run_python("api.py")
        self.assertEqual(self.bundles(), ["a.forkpoint", "b.forkpoint", "c.forkpoint", "d.forkpoint"])
        found = [self.read(os.path.join(self.folder, name)) for name in "abcd"]
        for rank in found:
            self.assertEqual([rank.counts(step=step) for step in (0, 1)], [PER_STEP] * 2)
            self.assertEqual(rank.tensors, found[0].tensors)
            self.assertEqual(rank.scalars, found[0].scalars)
            self.assertEqual(rank.info["status"], "complete")
            self.assertEqual(rank.lines_of("backward")[0]["source"], "train.py:10" if rank is not found[3] else "api.py:10")
        self.assertEqual([rank.info["run"] for rank in found], ["a", "b", "c", "d"])
        self.assertEqual(found[0].info["seeds"], {"torch": [0], "initial": 0})

    def test_a_script_sees_what_it_would_see_alone(self):
        text = """
import atexit, json, os, pickle, sys
assert "torch" not in sys.modules             # what the script sets before its own import must have its effect
seen = [__name__, __file__, sys.argv, sys.path[0], __spec__ is None, __doc__, sys.modules["__main__"].__dict__ is globals()]
class Mine:
    pass
def at_exit():
    seen.append(pickle.loads(pickle.dumps(Mine())).__class__.__name__)
    print(json.dumps(seen))
atexit.register(at_exit)
import beside
%s
from __future__ import annotations
""".replace("\nfrom __future__ import annotations", "") % (TRAIN + "train()")
        self.script("", "folder/beside.py")
        self.script(text, "folder/train.py")
        arguments = [os.path.join("folder", "train.py"), "--steps", "7", "--", "-m"]
        plain, _ = self.run_python(*arguments)
        recorded, _ = self.run_python(RECORDER, "--out", "run", *arguments)
        self.assertEqual(recorded, plain)
        self.assertEqual(self.read().info["command"], ["train.py", "--steps", "7", "--", "-m"])

    def test_ends(self):
        """Exit status, state and message, in this process and below a command."""
        for index, (ending, status, state, error) in enumerate((
                ("raise SystemExit", 0, "complete", None), ("sys.exit(3)", 3, "failed", "SystemExit: 3"), ("exit('no luck')", 1, "failed", "SystemExit: no luck"),
                ("raise KeyError('first line\\nsecond')", 1, "failed", "KeyError: 'first line\\nsecond'"),
                ("raise ValueError('first line\\nsecond')", 1, "failed", "ValueError: first line"))):
            script = self.script(TRAIN + "import sys\ntrain()\n" + ending + "\n")
            ways = [[RECORDER, "--out", "here%d" % index, script]]
            if status and "Key" not in ending:
                ways.append([RECORDER, "--out", "below%d" % index, "--", sys.executable, script])
            for way in ways:
                with self.subTest(ending=ending, out=way[2]):
                    _, err = self.run_python(*way, status=status)
                    rank = self.read(os.path.join(self.folder, way[2]))
                    self.assertEqual((rank.info["status"], rank.info.get("error")), (state, error))
                    self.assertEqual(len(rank.tensors), 2 * sum(PER_STEP.values()))
                    self.assertEqual(err.count("forkpoint: rank 0: 24 tensors of the steps 0:3"), 1)
                    self.assertNotIn("forkpoint_recorder.py\", line", err)

    def test_nothing_to_record(self):
        cases = (("import torch\nx = torch.nn.Linear(2, 2)\nwith torch.no_grad():\n    x.eval()(torch.ones(2))\nimport sys; sys.exit(5)\n", 5),
                 ("print('no torch')\n", 0))
        for text, status in cases:
            script = self.script(text)
            for way in ([script], ["--", sys.executable, script]):
                _, err = self.run_python(RECORDER, "--out", "run", *way, status=status)
                self.assertEqual([line[:31] for line in err.splitlines() if "forkpoint" in line], ["forkpoint: nothing was recorded"], err)
                self.assertEqual(self.bundles(), [])

    def test_an_existing_recording_is_refused_before_the_script_starts(self):
        script = self.script("open('started', 'a').write('x')\n" + TRAIN + "import sys\ntrain(dim=int(sys.argv[1]))\n")
        self.run_python(RECORDER, "--out", "run", script, "4")
        for way in ([script, "5"], ["--", sys.executable, script, "5"]):
            _, err = self.run_python(RECORDER, "--out", "run", *way, status=2)
            self.assertIn("run.forkpoint already holds a recording (rank00000); choose another --out, or give --overwrite", err)
        self.assertEqual(os.path.getsize(os.path.join(self.folder, "started")), 1)
        self.assertEqual(self.read().record(step=0, phase="start", param="bias")["shape"], [4])
        # Another rank is welcome in the same folder; the further ranks of a former launch go when all is replaced.
        self.run_python(RECORDER, "--out", "run", script, "4", RANK="1", WORLD_SIZE="2")
        self.assertEqual(sorted(os.listdir(self.out + ".forkpoint")), ["bundle.json", "rank00000", "rank00001"])
        self.run_python(RECORDER, "--out", "run", "--overwrite", "--", sys.executable, script, "5")
        self.assertEqual(sorted(os.listdir(self.out + ".forkpoint")), ["bundle.json", "rank00000"])
        self.assertEqual(self.read().record(step=0, phase="start", param="bias")["shape"], [5])

    def test_a_python_without_torch(self):
        venv.create(os.path.join(self.folder, "bare"), symlinks=True)
        python, script = os.path.join(self.folder, "bare", "bin", "python"), self.script("import torch\n")
        for way, hint in (([script], "Start the recorder with the Python that has it"), (["--", python, script], "Name the Python that has it in the command")):
            done = subprocess.run([python, RECORDER, "--out", "run", *way], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                                  env=self.environment(PYTHONPATH=None), timeout=300)
            lines = done.stderr.decode().splitlines()
            self.assertEqual((done.returncode, lines[-2]), (1, "ModuleNotFoundError: No module named 'torch'"))
            self.assertTrue(lines[-1].startswith("forkpoint: nothing was recorded: %s has no PyTorch. %s" % (python, hint)), lines[-1])
            self.assertEqual(self.bundles(), [])

    def test_usage(self):
        script = self.script("print('ran')\n")
        for arguments, message in (
                (["--out", "x"], "what is to be recorded?"), ([script], "--out"), (["--out", "x", "--frobnicate", script], "--frobnicate"),
                (["--out", "x", "--level", "ops", script], "--level ops: levels are module and op"), (["--out", "x", "--steps", "3", "--"], "what is"),
                (["--out", "x", "--steps", "a:b", script], "expected numbers and FIRST:END ranges"), (["--out", "x", "--steps", "3:1", script], "--steps 3:1: 3:1 selects nothing"),
                (["--out", "x", "nowhere.py"], "cannot read nowhere.py"), (["--out", "x", "--", "no-such-command"], "cannot run no-such-command"),
                (["--out", "x", "-m", "no_such_module"], "no module named no_such_module"), (["--out", "x", "echo"], "put -- before it")):
            out, err = self.run_python(RECORDER, *arguments, status=2)
            self.assertIn(message, err)
            self.assertNotIn("Traceback", err)
            self.assertEqual(out, "")
        self.assertEqual(self.bundles(), [])
        out, _ = self.run_python(RECORDER, "--help")
        for word in ("--out", "--steps", "--overwrite", "torchrun", "-m MODULE"):
            self.assertIn(word, out)

    def test_killed_in_mid_backward(self):
        script = self.script("""
import os, signal, torch
class Die(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, g):
        if step == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return g
first, second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
model = torch.nn.Sequential(first, second)
model.forward = lambda x: second(Die.apply(first(x)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
""")
        self.run_python(RECORDER, "--out", "run", script, status=-signal.SIGKILL)
        rank = self.read()                                        # every line and every digest is checked here
        self.assertEqual(rank.info["status"], "recording")
        self.assertEqual(rank.counts(step=1), {"start/param": 4, "forward/input": 3, "forward/output": 4, "backward/grad_output": 2,
                                               "backward/grad": 2})
        self.assertEqual({r["module"] for r in rank.records(step=1, kind="grad")}, {"1"})
        self.assertEqual(rank.info["config"]["optimizers"][0]["class"], "SGD")

    def test_secrets(self):
        script = self.script(TRAIN + """
import os
class WithSecret(torch.optim.SGD):
    pass
model = torch.nn.Linear(2, 2)
optimizer = WithSecret([dict(params=model.parameters(), api_key="secret-5-in-group")], lr=0.1)
model(torch.ones(2, 2)).sum().backward()
optimizer.step()
raise RuntimeError("cannot log in with secret-1-in-argv, token=secret-6-in-error or " + os.environ["HF_TOKEN"]
                   + " at https://user:secret-7-in-url@host/x?token=secret-8-in-query&y=1")
""")
        arguments = ["--hub-token", "secret-1-in-argv", "--api_key=secret-2-in-argv", "db.password=secret-3-in-argv",
                     "--auth", "secret-11-in-argv", "--pwd=secret-12-in-argv", "Authorization: Bearer secret-13-in-argv", "hf_secret14inargv", "--author", "me", "--lr", "0.1",
                     "https://me:secret-4-in-url@example.org/?access_token=secret-9-in-argv&page=2", '{"SecretName": "secret-10-in-json"}']
        environment = dict(HF_TOKEN="secret-11-in-environment", NCCL_SECRET="secret-12-in-environment", NCCL_DEBUG="WARN",
                           CUDA_HOST="https://u:secret-13-in-url@h/", MY_VARIABLE="secret-14-not-on-the-list")
        for out, way in (("here", [script]), ("below", ["--", sys.executable, script])):
            self.run_python(RECORDER, "--out", out, *way, *arguments, status=1, **environment)
            bundle = os.path.join(self.folder, out + ".forkpoint")
            rank = self.read(os.path.join(self.folder, out))
            for folder, _, names in os.walk(bundle):
                for name in names:
                    with open(os.path.join(folder, name), "rb") as file:
                        self.assertNotIn(b"secret-", file.read(), name)
            self.assertEqual(rank.info["config"]["argv"], [
                "train.py", "--hub-token", "***", "--api_key=***", "db.password=***", "--auth", "***", "--pwd=***",
                "Authorization: ***", "***", "--author", "me", "--lr", "0.1",
                "https://***@example.org/?access_token=***&page=2", '{"SecretName": ***}'])
            self.assertEqual(rank.info["config"]["optimizers"][0]["groups"][0]["api_key"], "***")
            self.assertEqual(rank.info["environment"]["env.NCCL_SECRET"], "***")
            self.assertEqual(rank.info["environment"]["env.NCCL_DEBUG"], "WARN")
            self.assertIn("cannot log in with ***", rank.info["error"])
            self.assertIn("&y=1", rank.info["error"])

    def test_children(self):
        """Ranks that the script starts itself, with a loader whose workers import PyTorch anew."""
        self.script("import os\nos.environ['HIDDEN_SITECUSTOMIZE_RAN'] = '1'\n", "site/sitecustomize.py")
        script = self.script(TRAIN + """
import os, sys
import torch.distributed as dist
from torch.utils.data import DataLoader

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        torch.nn.Linear(1, 1)(torch.ones(1)).sum().backward()     # a worker may do what it likes, it is no rank
        return torch.ones(4) * index

def work(rank):
    assert os.environ["HIDDEN_SITECUSTOMIZE_RAN"] == "1"
    dist.init_process_group("gloo", init_method="file://" + os.path.abspath("meet"), rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in DataLoader(Rows(), batch_size=2, num_workers=rank, multiprocessing_context="spawn" if rank else None):
        model(x).sum().backward()
        optimizer.step()
    dist.barrier()
    dist.destroy_process_group()
    if rank and len(sys.argv) > 1:
        raise ValueError("rank 1 fails")

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, nprocs=2)
""")
        for out, arguments, status, states in (("fine", [], 0, ["complete", "complete"]), ("bad", ["fail"], 1, ["complete", "failed"])):
            _, err = self.run_python(RECORDER, "--out", out, script, *arguments, status=status, PYTHONPATH=os.path.join(self.folder, "site"))
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, "meet"))
            ranks = [self.read(os.path.join(self.folder, out), rank) for rank in (0, 1)]
            self.assertEqual(ranks[1].info["status"], states[1])
            if not status:                                        # where rank 1 fails, rank 0 may be terminated before it is done
                self.assertEqual(ranks[0].info["status"], states[0])
                self.assertEqual(err.count("forkpoint:"), 2, err)
            for rank in ranks:
                self.assertEqual(rank.info["world_size"], 2)
                self.assertEqual([r["sample_ids"] for r in rank.records(kind="batch")], [[0, 1], [2, 3]])
            if not status:
                self.assertEqual(len({json.dumps(rank.info["run_id"]) for rank in ranks}), 1)
        self.assertEqual(self.bundles(), ["bad.forkpoint", "fine.forkpoint"])

    def test_torchrun(self):
        # Debian's 1.13 with Python 3.11 needs a map of redirections.
        redirect = ["-r", "0:1,1:1", "-t", "0:1,1:1"] if TORCH < (2, 0) else []
        out, _ = self.run_python(RECORDER, "--out", "run", "--steps", "0:1", "--", sys.executable, "-m", "torch.distributed.run", "--nproc_per_node",
                                 "2", "--master_port", "0", *(["--rdzv_backend", "c10d", "--rdzv_endpoint", "localhost:0"] + redirect), SAMPLE)
        ranks = [self.read(rank=rank) for rank in (0, 1)]
        self.assertEqual([rank.info["rank"] for rank in ranks], [0, 1])
        for rank in ranks:
            self.assertIn("loss %r" % rank.scalar("loss", 3, 0), out)
            self.assertEqual(rank.counts()["reduce/grad"], 37)
        self.assertEqual(ranks[0].info["run_id"], ranks[1].info["run_id"])

    def test_nodes_without_a_shared_disk(self):
        """Each node has a launcher and a folder of its own; what they leave is of one launch, and of no other."""
        redirect = ["-r", "0:1", "-t", "0:1"] if TORCH < (2, 0) else []
        launches = []
        for launch in ("first", "second"):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = str(free.getsockname()[1])
            nodes = [subprocess.Popen([sys.executable, RECORDER, "--out", "%s/node%d/run" % (launch, node), "--steps", "0:1", "--", sys.executable, "-m",
                                       "torch.distributed.run", "--nnodes", "2", "--node_rank", str(node), "--nproc_per_node", "1", "--master_addr", "127.0.0.1",
                                       "--master_port", port, *redirect, SAMPLE], cwd=self.folder, env=self.environment(), stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT) for node in (0, 1)]
            outputs = [node.communicate(timeout=300)[0].decode() for node in nodes]
            self.assertEqual([node.returncode for node in nodes], [0, 0], "".join(outputs))
            ranks = [self.read(os.path.join(self.folder, launch, "node%d" % rank, "run"), rank) for rank in (0, 1)]
            self.assertEqual([(rank.info["rank"], rank.info["world_size"]) for rank in ranks], [(0, 2), (1, 2)])
            launches.append({rank.info["run_id"] for rank in ranks})
        self.assertEqual([len(launch) for launch in launches], [1, 1])
        self.assertNotEqual(*launches)

    def test_restart(self):
        os.makedirs(os.path.join(self.folder, "run.forkpoint", "rank00000"))
        self.run_python(RECORDER, "--out", "run", self.script(TRAIN + "train()\n"), TORCHELASTIC_RESTART_COUNT="1")
        self.assertEqual(self.bundles(), ["run.attempt1.forkpoint", "run.forkpoint"])
        self.assertEqual(self.read(self.out + ".attempt1").info["attempt"], 1)

    def test_a_script_that_uses_the_recorder_itself(self):
        script = self.script(TRAIN + """
from forkpoint_recorder import Recorder
with Recorder("other", steps="0:1") as recorder:
    recorder.scalar("before", 1.5)
    train()
    recorder.scalar("after", 2.5)
train()
""")
        self.run_python(RECORDER, "--out", "run", "--steps", "0:9", script)
        self.assertEqual(self.bundles(), ["run.forkpoint"])
        rank = self.read()
        self.assertEqual(sorted({r["step"] for r in rank.tensors}), [0, 1, 2, 3])
        self.assertEqual((rank.scalar("before", 0), rank.scalar("after", 1)), (1.5, 2.5))


if __name__ == "__main__":
    unittest.main()
