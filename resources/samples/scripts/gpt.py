# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""A tiny GPT on generated tokens: the training script behind the sample bundles. It knows nothing of Forkpoint.

One process, or one per rank with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set (torchrun does). The global batch is the same in both cases.

    gpt.py                              the healthy run
    gpt.py --loss sum                   the loss is summed over a rank's tokens: DistributedDataParallel, which averages over ranks, then halves
                                        the gradients of two ranks against those of one process
    gpt.py --forward-fault              attention of layer 1 divides its scores by sqrt(dim), not by sqrt(dim of a head)
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

VOCABULARY, LENGTH, DIM, HEADS, LAYERS = 32, 8, 8, 2, 2


class Attention(nn.Module):
    def __init__(self, dim, heads, scale):
        super().__init__()
        self.heads, self.scale = heads, scale
        self.query, self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.projection = nn.Linear(dim, dim)

    def forward(self, x):
        rows, length, dim = x.shape
        q, k, v = (f(x).view(rows, length, self.heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        future = torch.full((length, length), float("-inf"), device=x.device).triu(1)
        weights = (q @ k.transpose(-2, -1) * self.scale + future).softmax(-1)
        return self.projection((weights @ v).transpose(1, 2).reshape(rows, length, dim))


class MLP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    def __init__(self, dim, heads, scale):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(dim), Attention(dim, heads, scale)
        self.norm2, self.mlp = nn.LayerNorm(dim), MLP(dim)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, tied=False, forward_fault=False):
        super().__init__()
        right, wrong = (DIM // HEADS) ** -0.5, DIM ** -0.5
        self.tokens, self.positions = nn.Embedding(VOCABULARY, DIM), nn.Embedding(LENGTH, DIM)
        self.layers = nn.ModuleList(Block(DIM, HEADS, wrong if forward_fault and i == 1 else right) for i in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(DIM), nn.Linear(DIM, VOCABULARY, bias=False)
        if tied:
            self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def generated_tokens(rows, seed):
    """(rows, LENGTH + 1) ids; each row counts up from a random start by a random stride, so that there is something to learn."""
    generator = torch.Generator().manual_seed(seed)
    start = torch.randint(VOCABULARY, (rows, 1), generator=generator)
    stride = torch.randint(1, 5, (rows, 1), generator=generator)
    return (start + stride * torch.arange(LENGTH + 1)) % VOCABULARY


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--batch", type=int, default=8, help="sequences per step over all ranks")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--optimizer", choices=["sgd", "adamw"], default="sgd")
    parser.add_argument("--momentum", type=float, default=0.9, help="of sgd")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--loss", choices=["mean", "sum"], default="mean")
    parser.add_argument("--tied", action="store_true", help="input and output embedding are one parameter")
    parser.add_argument("--forward-fault", action="store_true")
    args = parser.parse_args()

    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    torch.manual_seed(args.seed)
    model = GPT(args.tied, args.forward_fault)
    if world > 1:
        dist.init_process_group("gloo")
        model = DistributedDataParallel(model)
    data = TensorDataset(generated_tokens(args.batch * args.steps, args.seed + 1))
    sampler = DistributedSampler(data, world, rank, shuffle=True, seed=args.seed)
    loader = DataLoader(data, batch_size=args.batch // world, sampler=sampler)
    if args.optimizer == "sgd":
        optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for step, (ids,) in enumerate(loader):
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction=args.loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} rank {rank} loss {loss.item()!r}", flush=True)
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
