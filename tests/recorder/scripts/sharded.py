# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""Two ranks with parameters spread over them: `fsdp` shards everything, `tensor` splits two layers by columns and rows. Writes losses to RESULT.RANK.

    sharded.py fsdp|tensor RESULT
"""
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

kind, result = sys.argv[1:]
dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp" if kind == "fsdp" else "tp",))
if kind == "fsdp":
    from torch.distributed.fsdp import fully_shard
    fully_shard(model, mesh=mesh)
else:
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
x = torch.randn(8, 8)
if kind == "fsdp":
    x = x.chunk(2)[dist.get_rank()]
losses = []
for _ in range(3):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), torch.zeros(len(x), 4))
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
with open("%s.%d" % (result, dist.get_rank()), "w") as file:
    file.write(repr(losses))
dist.barrier()
dist.destroy_process_group()
