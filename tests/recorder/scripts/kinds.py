# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Forkpoint authors
"""Trains a small network three steps in one of the ways in which people launch and shard training, and writes losses and parameters bit for bit.

    kinds.py KIND RESULT            RESULT.RANK with several ranks
"""
import contextlib
import hashlib
import json
import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

STEPS = 3
kind, result = sys.argv[1:3]
rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


class Block(nn.Module):
    def __init__(self, size=8):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(size), nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def network():
    torch.manual_seed(0)
    return nn.Sequential(Block(), Block(), nn.Linear(8, 4))


def batch(step, rows=8):
    generator = torch.Generator().manual_seed(100 + step)
    return torch.randn(rows, 6, 8, generator=generator), torch.randn(rows, 6, 4, generator=generator)


def loop(model, parameters=None, share=slice(None), clip=False, optimizer=None):
    optimizer = optimizer or torch.optim.Adam(parameters if parameters is not None else model.parameters(), lr=0.01)
    losses = []
    for step in range(STEPS):
        x, y = batch(step)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x[share]), y[share])
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        losses.append(loss.item())
    return losses


def mesh(axis):
    from torch.distributed.device_mesh import init_device_mesh
    return init_device_mesh("cpu", (world,), mesh_dim_names=(axis,))


def fsdp1():
    from torch.distributed.fsdp import FullyShardedDataParallel
    model = FullyShardedDataParallel(network(), use_orig_params=True, device_id=torch.device("cpu"))
    return model, loop(model, share=slice(rank, None, world))


def fsdp2():
    from torch.distributed.fsdp import fully_shard
    model, devices = network(), mesh("dp")
    for block in model[:2]:
        fully_shard(block, mesh=devices)
    fully_shard(model, mesh=devices)
    return model, loop(model, share=slice(rank, None, world))


def tensor(sequence=False):
    from torch.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, parallelize_module
    from torch.distributed.tensor import Replicate, Shard
    model, devices = network(), mesh("tp")
    for block in model[:2]:
        if sequence:
            parallelize_module(block, devices, {"norm": SequenceParallel(), "up": ColwiseParallel(input_layouts=Shard(1)),
                                                "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False)})
        else:
            parallelize_module(block, devices, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    if sequence:
        parallelize_module(model, devices, {"0": PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(1), use_local_output=False),
                                            "2": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())})
    return model, loop(model)


class Apart(nn.Module):
    """Has, beside a network, parameters that no rank has a block of: rows that lie apart, and a part of another size than its placement says."""

    def __init__(self, net, devices):
        super().__init__()
        from torch.distributed.tensor import DTensor, Replicate, Shard
        from torch.distributed.tensor.placement_types import _StridedShard
        self.net = net
        self.apart = nn.Parameter(DTensor.from_local(torch.ones(2, 3), devices, [Shard(0), _StridedShard(0, split_factor=2)], run_check=False))
        self.torn = nn.Parameter(DTensor.from_local(torch.ones(3), devices, [Shard(0), Replicate()], run_check=False, shape=torch.Size([8]), stride=(1,)))

    def forward(self, x):
        return self.net(x)


def sharded_twice():
    """FSDP2 over tensor parallelism: both cut the same dim of some parameters, 5 rows into 3 and 2 too, and of others one dim each. Keeps the whole
    tensors as PyTorch puts them together."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    devices = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 10), nn.Linear(10, 6), nn.LayerNorm(6), nn.Linear(6, 8), nn.Linear(8, 4))
    parallelize_module(net, devices["tp"], {"0": ColwiseParallel(), "1": RowwiseParallel(), "3": ColwiseParallel(), "4": RowwiseParallel()})
    fully_shard(net[4], mesh=devices["dp"], shard_placement_fn=lambda p: Shard(p.dim() - 1))
    fully_shard(net, mesh=devices["dp"])
    model = Apart(net, devices)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, foreach=False)
    losses = loop(model, share=slice(rank // 2, None, 2), optimizer=optimizer)
    whole = {}
    for name, p in net.named_parameters():
        for what, value in (("param", p), ("grad", p.grad), ("exp_avg", optimizer.state[p]["exp_avg"])):
            whole["net." + name, what] = value.detach().full_tensor()
    if rank == 0:
        torch.save(whole, result + ".whole")
    return model, losses


def zero():
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model = nn.parallel.DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
    return model, loop(model, share=slice(rank, None, world), optimizer=optimizer)


def pipeline(schedule="ScheduleGPipe"):
    from torch.distributed import pipelining
    whole = network()
    part = nn.Sequential(whole[0]) if rank == 0 else nn.Sequential(whole[1], whole[2])
    x, y = batch(0)
    stage = pipelining.PipelineStage(part, rank, world, torch.device("cpu"))
    steps = getattr(pipelining, schedule)(stage, n_microbatches=4, loss_fn=F.mse_loss)
    optimizer = torch.optim.Adam(part.parameters(), lr=0.01)
    losses = []
    for step in range(STEPS):
        x, y = batch(step)
        optimizer.zero_grad()
        parts = []
        steps.step(x) if rank == 0 else steps.step(target=y, losses=parts)
        optimizer.step()
        losses += [part.item() for part in parts]
    return part, losses


def interleaved():
    """Each rank has two stages of four."""
    from torch.distributed import pipelining
    torch.manual_seed(0)
    parts = [Block(), Block(), Block(), nn.Linear(8, 4)]
    mine = nn.ModuleList(parts[rank::world])
    stages = [pipelining.PipelineStage(part, rank + world * place, len(parts), torch.device("cpu")) for place, part in enumerate(mine)]
    steps = pipelining.ScheduleInterleaved1F1B(stages, n_microbatches=4, loss_fn=F.mse_loss)
    optimizer = torch.optim.Adam(mine.parameters(), lr=0.01)
    losses = []
    for step in range(STEPS):
        x, y = batch(step)
        optimizer.zero_grad()
        found = []
        steps.step(x) if rank == 0 else steps.step(target=y, losses=found)
        optimizer.step()
        losses += [part.item() for part in found]
    return mine, losses


def by_hand():
    """A pipeline of two stages in plain Python: one calls the autograd engine itself, as Megatron-LM does, the other torch.autograd.grad."""
    whole = network()
    part = nn.Sequential(whole[0]) if rank == 0 else nn.Sequential(whole[1], whole[2])
    optimizer = torch.optim.Adam(part.parameters(), lr=0.01)
    losses = []
    for step in range(STEPS):
        x, y = batch(step)
        optimizer.zero_grad()
        for rows in (slice(0, 4), slice(4, 8)):
            if rank == 0:
                sent = part(x[rows])
                dist.send(sent.detach(), 1)
                gradient = torch.empty_like(sent)
                dist.recv(gradient, 1)
                torch.autograd.Variable._execution_engine.run_backward((sent,), (gradient,), False, False, tuple(), allow_unreachable=True,
                                                                       accumulate_grad=True)
            else:
                received = torch.empty(4, 6, 8)
                dist.recv(received, 0)
                received.requires_grad_()
                loss = F.mse_loss(part(received), y[rows])
                inputs = [received, *part.parameters()]
                found = torch.autograd.grad(loss, inputs)
                for tensor, gradient in zip(inputs, found):
                    tensor.grad = gradient if tensor.grad is None else tensor.grad + gradient
                dist.send(received.grad, 0)
                losses.append(loss.item())
        optimizer.step()
    return part, losses


def rows_of_steps(rows):
    """All steps' samples in order, `rows` at a time."""
    parts = [batch(step) for step in range(STEPS)]
    return iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*(torch.cat(part) for part in zip(*parts))), batch_size=rows))


def schedule_by_hand(forwards_ahead, start, free=False):
    """A pipeline in plain Python with four micro-batches: stages run `forwards_ahead(rank)` of them before their first backward, and start(function,
    tensor, rank) sends or receives and returns what to wait for. Free: what was sent is freed, and the engine called, as Megatron-LM does."""
    whole = list(network())
    part = nn.Sequential(*(whole[rank:] if rank == world - 1 else [whole[rank]]))
    optimizer, samples, criterion = torch.optim.Adam(part.parameters(), lr=0.01), rows_of_steps(2), nn.MSELoss()
    last, losses = rank == world - 1, []

    def receive(peer):
        tensor = torch.empty(2, 6, 8)
        for work in start(dist.irecv, tensor, peer):
            work.wait()
        return tensor

    for step in range(STEPS):
        optimizer.zero_grad()
        under_way, sent, ahead = [], [], forwards_ahead(rank)

        def forward():
            given = receive(rank - 1).requires_grad_() if rank else next(samples)[0]
            made = part(given)
            under_way.append((given, made, next(samples)[1] if last else None))
            if not last:
                sent.append((made.detach(), start(dist.isend, made.detach(), rank + 1)))
                if free:
                    made.data = torch.empty(1)

        def backward():
            given, made, targets = under_way.pop(0)
            if last:
                loss = criterion(made, targets) / 4
                loss.backward()
                losses.append(loss.item())
            elif free:
                torch.autograd.Variable._execution_engine.run_backward((made,), (receive(rank + 1),), False, False, tuple(), allow_unreachable=True,
                                                                       accumulate_grad=True)
            else:
                made.backward(receive(rank + 1))
            if rank:
                sent.append((given.grad, start(dist.isend, given.grad, rank - 1)))

        for number in range(4 + ahead):
            if number < 4:
                forward()
            if number >= ahead:
                backward()
        for _, works in sent:
            for work in works:
                work.wait()
        optimizer.step()
    return part, losses


def at_once(function, tensor, peer):
    """dist.send and dist.recv, which return when it is done."""
    {dist.isend: dist.send, dist.irecv: dist.recv}[function](tensor, peer)
    return []


def later(function, tensor, peer):
    return [function(tensor, peer)]


def batched(function, tensor, peer):
    return dist.batch_isend_irecv([dist.P2POp(function, tensor, peer)])


def swap(tensor):
    """What the other one of two ranks has."""
    other = torch.empty_like(tensor)
    work = dist.isend(tensor, 1 - rank)
    dist.recv(other, 1 - rank)
    work.wait()
    return other


class Ring(nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        return y + swap(y.detach()) if kind == "ring" else y


def not_a_pipeline():
    """Ranks that exchange something else, and call their network twice in a backward: inside modules, or (gossip) a metric before the backward and
    the parameters after the step, or (shown) what the network returned. All have as many elements as the network's output."""
    torch.manual_seed(rank)
    model, losses = Ring(8, 8), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        x, _ = batch(step)
        optimizer.zero_grad()
        made = model(x[:, 0])
        if kind == "shown":
            losses.append(swap(made.detach()).sum())
        loss = (made - model(x[:, 1])).square().mean()
        if kind == "gossip":
            losses.append(swap(loss.detach()))
        loss.backward()
        optimizer.step()
        if kind == "gossip":
            with torch.no_grad():
                model.weight.lerp_(swap(model.weight.detach()), 0.5)
        losses.append(loss)
    return model, [loss.item() for loss in losses]


class Fused(torch.autograd.Function):
    """A linear layer whose backward adds the weight's gradient to weight.main_grad, as Megatron-LM's does."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        weight.main_grad += gradient.flatten(0, -2).t() @ x.flatten(0, -2)
        weight.grad_added_to_main_grad = True
        return gradient @ weight, torch.empty_like(weight)


class FusedLinear(nn.Linear):
    def forward(self, x):
        return Fused.apply(x, self.weight) + self.bias


def main_grad():
    torch.manual_seed(0)
    model = nn.Sequential(FusedLinear(8, 8), nn.Tanh(), FusedLinear(8, 4))
    masters = [p.detach().clone().requires_grad_() for p in model.parameters()]
    optimizer = torch.optim.Adam(masters, lr=0.01)
    losses = []
    for p in model.parameters():
        p.main_grad = torch.zeros_like(p)
    for step in range(STEPS):
        x, y = batch(step)
        for p in model.parameters():
            p.main_grad.zero_()
            p.grad = None
        loss = F.mse_loss(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p, master in zip(model.parameters(), masters):
                if not getattr(p, "grad_added_to_main_grad", False):
                    p.main_grad += p.grad
                p.grad = None
                master.grad = p.main_grad.clone()
            optimizer.step()
            for p, master in zip(model.parameters(), masters):
                p.copy_(master)
        losses.append(loss.item())
    return model, losses


class Answers(nn.Module):
    """Returns its loss in a dictionary, or first in a tuple."""

    def __init__(self, as_tuple):
        super().__init__()
        self.net, self.as_tuple = network(), as_tuple

    def forward(self, x, targets=None):
        answer = self.net(x)
        loss = F.mse_loss(answer, targets) if targets is not None else None
        return (loss, answer) if self.as_tuple else {"loss": loss, "logits": answer}


def answers(as_tuple):
    """With an evaluation after each step."""
    model = Answers(as_tuple)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(STEPS):
        x, y = batch(step)
        optimizer.zero_grad()
        loss = model(x, targets=y)[0 if as_tuple else "loss"]
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            losses += [loss.item(), model(x, targets=y)[0 if as_tuple else "loss"].item()]
        model.train()
    return model, losses


def freed():
    """Storage that is freed while its tensor lives: of a buffer for good, of an activation until backward needs it."""
    def storage(tensor):
        return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()

    model = network()
    model.register_buffer("table", torch.ones(16))
    size = storage(model.table).nbytes()
    storage(model.table).resize_(0)
    kept = []

    def free(module, inputs, output):
        kept[:] = [output.detach().clone(), output]
        return F.gelu(output)

    def restore(gradient):
        copy, output = kept
        storage(output).resize_(copy.numel() * copy.element_size() // (1 if hasattr(output, "untyped_storage") else copy.element_size()))
        with torch.no_grad():
            output.data.copy_(copy)
        return gradient

    def forget(module, inputs, output):
        output.register_hook(restore)
        storage(kept[1]).resize_(0)

    model[0].up.register_forward_hook(free)
    model[0].down.register_forward_hook(forget)
    assert size == 64
    return model, loop(model)


def buckets(hook):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    model = nn.parallel.DistributedDataParallel(network(), gradient_as_bucket_view=True)
    if hook:
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    return model, loop(model, share=slice(rank, None, world), clip=True)


def trainer():
    import transformers
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=32, n_positions=8, n_embd=8, n_layer=2, n_head=2))
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(0, 32, (4 * STEPS, 8), generator=torch.Generator().manual_seed(1))]
    losses = []

    class Kept(transformers.Trainer):
        def compute_loss(self, *args, **kwargs):
            loss = super().compute_loss(*args, **kwargs)
            losses.append(loss.item())
            return loss

    folder = os.path.join(os.path.dirname(os.path.abspath(result)), "trained")
    Kept(model, transformers.TrainingArguments(folder, max_steps=STEPS, per_device_train_batch_size=4, use_cpu=True, report_to=[], save_strategy="no",
                                               disable_tqdm=True, logging_strategy="no"), train_dataset=rows).train()
    return model, losses


def in_backward():
    """Each parameter has an optimizer, which steps as soon as its gradient is there."""
    model = network()
    optimizers = {p: torch.optim.SGD([p], lr=0.1, momentum=0.9) for p in model.parameters()}

    def update(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(update)
    losses = []
    for step in range(STEPS):
        x, y = batch(step)
        loss = F.mse_loss(model(x), y)
        loss.backward()
        losses.append(loss.item())
    return model, losses


def saved_hooks():
    """What autograd saves is packed away and computed again from less."""
    model = network()

    def pack(saved):
        return saved.detach().clone().numpy() if saved.dtype == torch.float32 and not isinstance(saved, nn.Parameter) else saved

    def unpack(packed):
        return packed if isinstance(packed, torch.Tensor) else torch.from_numpy(packed)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return model, loop(model, clip=True)


def accelerate():
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    model = network()
    data = torch.utils.data.TensorDataset(*(torch.cat(parts) for parts in zip(*(batch(step) for step in range(STEPS)))))
    model, optimizer, loader = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=0.01),
                                                   torch.utils.data.DataLoader(data, batch_size=8 // world))
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        losses.append(loss.item())
    return model, losses


def lightning():
    import lightning.pytorch as pl

    class Task(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net, self.losses = network(), []

        def training_step(self, rows, number):
            loss = F.mse_loss(self.net(rows[0]), rows[1])
            self.losses.append(loss.item())
            return loss

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.01)

    task = Task()
    data = torch.utils.data.TensorDataset(*(torch.cat(parts) for parts in zip(*(batch(step) for step in range(STEPS)))))
    trainer = pl.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(task, torch.utils.data.DataLoader(data, batch_size=8))
    return task, task.losses


def no_sync():
    """Two micro-steps; the gradients are reduced after the second."""
    model = nn.parallel.DistributedDataParallel(network())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(STEPS):
        x, y = (part[rank::world] for part in batch(step))
        optimizer.zero_grad()
        for micro in (0, 1):
            with contextlib.ExitStack() as stack:
                if micro == 0:
                    stack.enter_context(model.no_sync())
                loss = F.mse_loss(model(x[micro::2]), y[micro::2]) / 2
                loss.backward()
            losses.append(loss.item())
        optimizer.step()
    return model, losses


def adversaries():
    """Two networks and two optimizers, which take turns within a step."""
    torch.manual_seed(0)
    generator, critic = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)), nn.Sequential(nn.Linear(8, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    optimizers = [torch.optim.Adam(net.parameters(), lr=0.01) for net in (critic, generator)]
    losses = []
    for step in range(STEPS):
        x, _ = batch(step)
        made = generator(x)
        optimizers[0].zero_grad()
        loss = critic(made.detach()).mean() - critic(x).mean()
        loss.backward()
        optimizers[0].step()
        optimizers[1].zero_grad()
        other = -critic(made).mean()
        other.backward()
        optimizers[1].step()
        losses += [loss.item(), other.item()]
    return nn.ModuleList([generator, critic]), losses


class Odd(nn.Module):
    """A module that is called twice, tied parameters, a frozen one, changes in place, and a module that is made when it is first needed."""

    def __init__(self):
        super().__init__()
        self.twice, self.first, self.last = Block(), nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
        self.last.weight = self.first.weight
        self.frozen = nn.Linear(8, 8)
        self.frozen.requires_grad_(False)

    def forward(self, x):
        y = self.twice(self.first(x))
        y += self.frozen(x)
        if not hasattr(self, "late"):
            self.late = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(8, 4))
        return self.late(self.last(self.twice(y)))


def odd():
    torch.manual_seed(0)
    model, losses, optimizer = Odd(), [], None
    for step in range(STEPS):
        x, y = batch(step)
        loss = F.mse_loss(model(x), y)
        optimizer = optimizer or torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, losses


def compiled(whole):
    """Compiled in place, by the module's own compile(): the model, or each block."""
    model = network()
    for region in [model] if whole else model[:2]:
        region.compile(backend="aot_eager")
    return model, loop(model)


def compiled_blocks():
    """Each block is a region, by the default compiler; what is between them is not."""
    model = network()
    for place in (0, 1):
        model[place] = torch.compile(model[place])
    return model, loop(model, clip=True)


class Broken(Block):
    """Its middle cannot be compiled."""

    def forward(self, x):
        y = self.up(self.norm(x))
        torch._dynamo.graph_break()
        return x + self.down(F.gelu(y))


def compiled_in_pieces():
    torch.manual_seed(0)
    model = torch.compile(nn.Sequential(Block(), Broken(), nn.Linear(8, 4)), backend="aot_eager")
    return model, loop(model)


def compiled_function():
    """What is compiled is neither the model nor a part of it, but the function that calls it, and the optimizer's step."""
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    update = torch.compile(optimizer.step, backend="aot_eager")

    @torch.compile(backend="aot_eager")
    def loss_of(x, y):
        return F.mse_loss(model(x), y)

    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(*batch(step))
        loss.backward()
        update()
        losses.append(loss.item())
    return model, losses


def scaled(clip):
    """With a loss scale that overflows for several steps in a row, then fits, then has grown too large again."""
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2. ** 127, growth_factor=2. ** 6, backoff_factor=2. ** -3, growth_interval=2)
    losses = []
    for step in range(3 * STEPS):
        x, y = batch(step)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y, reduction="sum")
        scaler.scale(loss).backward()
        losses.append(loss.item())
        if clip:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
    return model, losses


KINDS = {"no_sync": no_sync, "adversaries": adversaries, "odd": odd, "fsdp1": fsdp1, "fsdp2": fsdp2, "tensor": tensor,
         "sequence": lambda: tensor(True), "gpipe": pipeline, "1f1b": lambda: pipeline("Schedule1F1B"), "in_backward": in_backward,
         "saved_hooks": saved_hooks, "accelerate": accelerate, "lightning": lightning, "interleaved": interleaved, "by_hand": by_hand,
         "hand_gpipe": lambda: schedule_by_hand(lambda rank: 3, at_once), "hand_1f1b": lambda: schedule_by_hand(lambda rank: world - 1 - rank, later),
         "hand_freed": lambda: schedule_by_hand(lambda rank: world - 1 - rank, batched, True), "ring": not_a_pipeline, "gossip": not_a_pipeline,
         "shown": not_a_pipeline, "main_grad": main_grad, "dictionary": lambda: answers(False), "tuple": lambda: answers(True), "freed": freed,
         "buckets": lambda: buckets(False), "fp16_hook": lambda: buckets(True), "trainer": trainer, "compiled": lambda: compiled(True),
         "compiled_in_place": lambda: compiled(False), "compiled_blocks": compiled_blocks, "compiled_in_pieces": compiled_in_pieces,
         "compiled_function": compiled_function, "sharded_twice": sharded_twice, "zero": zero,
         "scaled": lambda: scaled(False), "scaled_clipped": lambda: scaled(True)}


def graphs():
    """How many graphs torch.compile has made: recording neither splits a region nor has it compiled anew."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return dynamo.counters["stats"]["unique_graphs"] if dynamo else 0


def digest(model):
    bits = hashlib.sha256()
    for parameter in model.parameters():
        parameter = getattr(parameter, "_local_tensor", parameter).detach()
        bits.update(bytes(parameter.reshape(-1).contiguous().view(torch.uint8).tolist()))
    bits.update(bytes(torch.get_rng_state().tolist()))
    return bits.hexdigest()


def main():
    if world > 1:
        dist.init_process_group("gloo")
    model, losses = KINDS[kind]()
    with open(result + (".%d" % rank if world > 1 else ""), "w") as file:
        json.dump([[loss.hex() for loss in losses], digest(model), graphs()], file)
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


def spawned(place, port):
    global rank, world, kind
    os.environ.update(RANK=str(place), WORLD_SIZE="2", LOCAL_RANK=str(place), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    rank, world = place, 2
    KINDS["spawn"] = ddp
    main()


def ddp():
    model = nn.parallel.DistributedDataParallel(network())
    return model, loop(model, share=slice(rank, None, world))


if __name__ == "__main__":
    if kind == "spawn":
        torch.multiprocessing.spawn(spawned, (sys.argv[3],), nprocs=2)
    else:
        main()
