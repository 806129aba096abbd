# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""Trains several small networks, three steps each, and writes what came out bit for bit: {name: sha256 of parameters, buffers, random state, losses}.

    several.py RESULT.json NAME...
"""
import hashlib
import json
import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, os.environ["SAMPLES"])
from gpt import GPT, generated_tokens                             # noqa: E402

STEPS, RANK, WORLD = 3, int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


class CheckpointedGPT(GPT):
    reentrant = False

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=self.reentrant)
        return self.head(self.norm(x))


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn, self.relu = nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True)
        self.drop, self.conv2, self.head = nn.Dropout2d(0.2, inplace=True), nn.Conv2d(4, 4, 3, padding=1), nn.Linear(4, 5)

    def forward(self, x):
        y = self.relu(self.bn(self.conv1(x)))
        z = self.drop(self.conv2(y))
        z += y
        return self.head(z.mean((2, 3)))


def tokens(batch=4):
    data = TensorDataset(generated_tokens(64, 7)[RANK::WORLD])
    return DataLoader(data, batch_size=batch, shuffle=True)


def train_gpt(net, micro_batches=1, autocast=False, clip=True, scaler=None):
    model = DistributedDataParallel(net) if WORLD > 1 else net
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    batches, losses = iter(tokens()), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        for micro in range(micro_batches):
            ids, = next(batches)
            model.require_backward_grad_sync = micro == micro_batches - 1     # what no_sync() switches
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
                logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten()) / micro_batches
            (scaler.scale(2 * loss) if scaler else loss).backward()
            losses.append(loss.item())
        if scaler:
            scaler.unscale_(optimizer)
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
    return net, losses


def train_cnn():
    net = CNN()
    model = DistributedDataParallel(net) if WORLD > 1 else net
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    generator = torch.Generator().manual_seed(3)
    data = TensorDataset(torch.randn(24, 3, 6, 6, generator=generator), torch.randint(5, (24,), generator=generator))
    losses = []
    for x, y in DataLoader(data, batch_size=8, shuffle=True, num_workers=0 if WORLD > 1 else 1):
        optimizer.zero_grad()
        loss = nn.CrossEntropyLoss()(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return net, losses


def dropping(net):
    return nn.Sequential(net, nn.Dropout(0.1))


def checkpointed(reentrant):
    net = CheckpointedGPT()
    net.reentrant = reentrant
    return dropping(net)


def compiled():
    return torch.compile(GPT(), backend="aot_eager")


NETWORKS = {
    "gpt": lambda: train_gpt(dropping(GPT(tied=True)), micro_batches=2),
    "autocast": lambda: train_gpt(dropping(GPT()), autocast=True),
    "checkpoint": lambda: train_gpt(checkpointed(False)),
    "reentrant": lambda: train_gpt(checkpointed(True)),
    "cnn": train_cnn,
    "scaler": lambda: train_gpt(GPT(), scaler=torch.amp.GradScaler("cpu", init_scale=2. ** 127)),     # the first step overflows
    "compiled": lambda: train_gpt(compiled(), clip=False),
}


def digest(net, losses):
    bits = hashlib.sha256(repr(losses).encode())
    for tensor in list(net.state_dict().values()) + [torch.get_rng_state()]:
        bits.update(bytes(tensor.detach().reshape(-1).contiguous().view(torch.uint8).tolist()))
    return bits.hexdigest()


if __name__ == "__main__":
    if WORLD > 1:
        dist.init_process_group("gloo")
    result = {}
    for name in sys.argv[2:]:
        torch.manual_seed(11)
        result[name] = digest(*NETWORKS[name]())
    with open(sys.argv[1] + (".%d" % RANK if WORLD > 1 else ""), "w") as file:
        json.dump(result, file)
    if WORLD > 1:
        dist.barrier()
        dist.destroy_process_group()
