# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""The flight recorder: the last steps are kept in memory and written when something happens."""
import os
import signal
import subprocess
import sys

import torch

from recording import RECORDER, RecorderTest, wait_for

TRAIN = '''
import os, sys, time, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(100, 50), torch.nn.Tanh(), torch.nn.Linear(50, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(40):
    x = torch.randn(4, 100)
    optimizer.zero_grad()
    loss = model(x).square().mean()
    {in_step}
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)
    optimizer.step()
{after}
'''


class Flight(RecorderTest):
    def train(self, *options, in_step="pass", after="", status=0):
        path = self.script(TRAIN.format(in_step=in_step, after=after))
        return self.run_python(RECORDER, "--out", "run", "--ring", "3", *options, path, status=status)

    def steps(self, rank):
        return sorted({r["step"] for r in rank.tensors})

    def test_nothing_happens(self):
        _, err = self.train()
        rank = self.read()
        self.assertEqual((rank.tensors, rank.lines_of("call"), rank.info.get("triggers")), ([], [], None))
        self.assertEqual(len([s for s in rank.scalars if s["name"] == "loss"]), 40)
        self.assertTrue(rank.lines_of("module"))
        self.assertIn("0 tensors", err)

    def test_a_loss_that_is_not_finite(self):
        _, err = self.train(in_step="loss = loss * (float('nan') if step == 20 else 1)")
        rank = self.read()
        self.assertEqual(self.steps(rank)[:4], [18, 19, 20, 21])     # later losses are NaN as well
        self.assertEqual(rank.info["triggers"][0], {"step": 20, "why": "loss is NaN", "steps": [18, 19, 20]})
        self.assertEqual(len(rank.info["triggers"]), 8)
        self.assertEqual({r["detail"] for r in rank.tensors}, {"sketch"})
        self.assertEqual(rank.counts(step=20), rank.counts(step=19))     # the step in which it happened is complete
        self.assertEqual(rank.counts(step=18)["optimizer/param"], 4)
        self.assertEqual(len(rank.lines_of("call", step=18)), 4)
        self.assertIn("loss is NaN", err)

    def test_a_jump(self):
        self.train(in_step="loss = loss * (1e4 if step == 30 else 1)")
        rank = self.read()
        self.assertEqual(self.steps(rank), [28, 29, 30])
        self.assertIn("outside", rank.info["triggers"][0]["why"])

    def test_a_band(self):
        self.train("--band", "grad_norm=:0.001", "--band", "loss=:")
        self.assertEqual(self.read().info["triggers"][0]["steps"], [0])

    def test_beside_selected_steps(self):
        self.train("--steps", "19", in_step="loss = loss * (float('nan') if step == 20 else 1)")
        rank = self.read()
        self.assertEqual({r["detail"] for r in rank.records(step=18)}, {"sketch"})
        self.assertEqual({r.get("detail", "full") for r in rank.records(step=19)}, {"full"})

    def test_an_exception(self):
        self.train(in_step="if step == 25: raise ValueError('broken')", status=1)
        rank = self.read()
        self.assertEqual(self.steps(rank), [23, 24, 25])
        self.assertEqual(rank.info["status"], "failed")
        self.assertEqual(rank.info["triggers"][0]["why"], "the script ended with an exception")

    def test_sys_exit(self):
        self.train(in_step="if step == 25: sys.exit(3)", status=3)
        self.assertEqual(self.steps(self.read()), [23, 24, 25])

    def test_a_signal(self):
        """Also while the main thread runs no Python: it does not even get the signal."""
        path = self.script(TRAIN.format(in_step="pass", after="import ctypes, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
                                                              "open('ready', 'w').close()\nctypes.CDLL(None).sleep(60)"))
        process = subprocess.Popen([sys.executable, RECORDER, "--out", "run", "--ring", "3", path], cwd=self.folder, env=self.environment(),
                                   stderr=subprocess.PIPE)
        wait_for(lambda: os.path.exists(os.path.join(self.folder, "ready")))
        records = os.path.join(self.out + ".forkpoint", "rank00000", "tensors.jsonl")
        self.assertEqual(os.path.getsize(records), 0)
        process.send_signal(signal.SIGUSR1)
        wait_for(lambda: os.path.getsize(records) > 0)

        def said():
            with open(os.path.join(os.path.dirname(records), "rank.json"), encoding="utf-8") as file:
                return "triggers" in file.read()
        wait_for(said)
        process.kill()
        process.communicate()
        rank = self.read()
        self.assertEqual(self.steps(rank), [37, 38, 39])
        self.assertEqual(rank.info["triggers"], [{"step": 39, "why": "SIGUSR1", "steps": [37, 38, 39]}])

    def test_a_signal_that_ends_the_script(self):
        """What it waits in returns, and the script ends before anybody could write."""
        self.train(after="import signal\nos.kill(os.getpid(), signal.SIGUSR1)")
        rank = self.read()
        self.assertEqual(self.steps(rank), [37, 38, 39])
        self.assertEqual([trigger["why"] for trigger in rank.info["triggers"]], ["SIGUSR1"])

    def test_a_job_that_is_cancelled(self):
        """SIGTERM still ends the process at once, also while the main thread runs no Python."""
        path = self.script(TRAIN.format(in_step="pass", after="open('ready', 'w').close()\nimport ctypes\nctypes.CDLL(None).sleep(60)"))
        process = subprocess.Popen([sys.executable, RECORDER, "--out", "run", "--ring", "3", path], cwd=self.folder, env=self.environment(),
                                   stderr=subprocess.PIPE)
        wait_for(lambda: os.path.exists(os.path.join(self.folder, "ready")))
        process.terminate()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        rank = self.read()
        self.assertEqual(self.steps(rank), [37, 38, 39])
        self.assertEqual(rank.info["triggers"], [{"step": 39, "why": "SIGTERM", "steps": [37, 38, 39]}])
        self.assertEqual((rank.info["status"], rank.info["error"]), ("failed", "SIGTERM"))

    def test_children_end_when_they_are_told_to(self):
        out, _ = self.train(after="""
import signal
child = os.fork()
if not child:
    time.sleep(60)
    os._exit(0)
os.kill(child, signal.SIGTERM)
print(os.WTERMSIG(os.waitpid(child, 0)[1]))""")
        self.assertEqual(out, "%d\n" % signal.SIGTERM)

    def test_the_handler_of_the_script_still_runs(self):
        out, _ = self.run_python(RECORDER, "--out", "run", "--ring", "2", self.script('''
import os, signal, time, torch
signal.signal(signal.SIGUSR1, lambda number, frame: print("mine"))
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    if step == 3:
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.5)
'''))
        self.assertEqual(out, "mine\n")
        self.assertEqual(self.steps(self.read()), [2, 3])

    def test_the_numbers_stay(self):
        after = "print(*[float(p.double().sum()).hex() for p in model.parameters()])"
        plain, _ = self.run_python(self.script(TRAIN.format(in_step="pass", after=after)))
        recorded, _ = self.train("--band", "loss=0:0", after=after)
        self.assertEqual(plain, recorded)
        self.assertGreater(len(self.read().tensors), 50)


if __name__ == "__main__":
    __import__("unittest").main()
