# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""What recording costs: step times of a network of 30 million parameters on the CPU, plain and recorded, and full recording beside os.write.

    recorder_overhead.py [--details sketch,full,...] [--steps N] [--profile] [--folder DIR]

A benchmark to be read, not a test: it asserts nothing. Plain and recorded steps alternate, so that other load meets both; the smallest and
the median of each are shown. --profile prints where the recorder spends its time.
"""
import argparse
import cProfile
import os
import pstats
import shutil
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "resources", "recorder"))

import torch
import torch.nn as nn
import torch.nn.functional as F

import forkpoint_recorder

WIDTH, LAYERS, VOCABULARY = 512, 8, 8192


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.qkv, self.proj = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm2, self.up, self.act, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        rows, length, _ = x.shape
        q, k, v = (part.view(rows, length, 8, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        mixed = torch.softmax(q @ k.transpose(-1, -2) / 8, -1) @ v
        x = x + self.proj(mixed.transpose(1, 2).reshape(rows, length, WIDTH))
        return x + self.down(self.act(self.up(self.norm2(x))))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.blocks = nn.Embedding(VOCABULARY, WIDTH), nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.02)             # wider logits have probabilities that are denormal, and slow

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.tokens(tokens))))


class Training:
    def __init__(self, rows, length):
        torch.manual_seed(0)
        self.network = Network()
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=1e-4)
        self.shape = rows, length + 1

    def step(self):
        tokens = torch.randint(0, VOCABULARY, self.shape)
        begin = time.process_time()
        self.optimizer.zero_grad()
        logits = self.network(tokens[:, :-1])
        F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        return time.process_time() - begin


def written(folder, size):
    """Seconds that os.write needs for `size` bytes of its own."""
    data, path = memoryview(os.urandom(1 << 24)), os.path.join(folder, "plain")
    begin = time.perf_counter()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    while size > 0:
        size -= os.write(file, data[:size])
    os.close(file)
    taken = time.perf_counter() - begin
    os.unlink(path)
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--details", default="sketch,full", help="of --write, in this order (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=5, help="steps of each kind (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--folder", help="where to write (default: a temporary folder)")
    given = parser.parse_args()
    training = Training(given.rows, given.length)
    count = sum(p.numel() for p in training.network.parameters())
    print("torch %s, %d threads, %.1f million parameters, %d tokens a step" % (torch.__version__, torch.get_num_threads(), count / 1e6,
                                                                            given.rows * given.length))
    training.step(), training.step()
    for detail in given.details.split(","):
        folder = tempfile.mkdtemp(prefix="forkpoint-overhead-", dir=given.folder)
        profile = cProfile.Profile()
        plain, recorded, cost, size, raw, tensors = [], [], [], [], [], 0
        try:
            for number in range(given.steps):
                plain.append(training.step())
                recorder = forkpoint_recorder.Recorder(os.path.join(folder, "run%d" % number), steps="0:2", write=[detail])
                with recorder:
                    training.step()                               # the second step is the usual one: names are known
                    before, held = recorder.session.cost, recorder.session.writer.position
                    if given.profile:
                        profile.enable()
                    recorded.append(training.step())
                    profile.disable()
                    cost.append(recorder.session.cost - before)
                    size.append(recorder.session.writer.position - held)
                    tensors = recorder.session.writer.tensors
                raw.append(written(folder, size[-1]))
                shutil.rmtree(recorder.options.out)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print("%s: %d tensors in two steps, %s a step" % (detail, tensors, forkpoint_recorder.readable_size(size[-1])))
        for name, choose in (("smallest", min), ("median", statistics.median)):
            print("  %-8s plain step %.3f s, recorded %.3f s, ratio %.2f; in the recorder %.3f s; os.write of its bytes %.3f s, ratio %.2f"
                  % (name, choose(plain), choose(recorded), choose(recorded) / choose(plain), choose(cost), choose(raw),
                     choose(cost) / choose(raw)))
        if given.profile:
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
