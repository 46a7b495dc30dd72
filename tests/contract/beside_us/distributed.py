"""Trainings in a process group of one: wrapped, sharded, and with parameters that are DTensors."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from .loop import Loop, batches, comparable, learns, program


def _group() -> Any:
    """Of this process alone, by gloo; `Loop.close` ends it."""
    handle, path = tempfile.mkstemp()
    os.close(handle)
    os.unlink(path)
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=0, world_size=1)
    return init_device_mesh("cpu", (1,))


def _end() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def _plain() -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def _values(model: nn.Module) -> Any:
    return [
        (type(p).__name__, comparable(p.full_tensor() if isinstance(p, DTensor) else p)) for p in model.parameters()
    ]


def _loop(model: nn.Module, *, kinds: tuple[type, ...] = (), rate: float = 0.05) -> Loop:
    optimizer = torch.optim.SGD(model.parameters(), rate, momentum=0.9)
    noted: list[Any] = []

    def step(batch: Any) -> Any:
        loss = learns(model, optimizer, batch)
        noted.append(_values(model))
        return loss.full_tensor() if isinstance(loss, DTensor) else loss

    loop = Loop(model, optimizer, step, batches(), noted, close=_end)
    loop.left = lambda: comparable(noted)  # type: ignore[method-assign]
    return loop


@program
def wrapped_in_ddp() -> Loop:
    _group()
    return _loop(DistributedDataParallel(_plain()))


@program
def sharded_by_fsdp2() -> Loop:
    mesh = _group()
    model = _plain()
    for each in model:
        if isinstance(each, nn.Linear):
            fully_shard(each, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return _loop(model)


@program
def parameters_that_are_dtensors() -> Loop:
    mesh = _group()
    model = _plain()
    for each in model:
        if isinstance(each, nn.Linear):
            each.weight = nn.Parameter(distribute_tensor(each.weight.detach(), mesh, [Shard(0)]))
            each.bias = nn.Parameter(distribute_tensor(each.bias.detach(), mesh, [Replicate()]))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        x, y = (distribute_tensor(each, mesh, [Replicate()]) for each in batch)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        noted.append([type(loss).__name__, _values(model)])
        whole: Tensor = loss.full_tensor().detach()  # type: ignore[attr-defined]
        return whole

    loop = Loop(model, optimizer, step, batches(), noted, close=_end)
    loop.left = lambda: comparable(noted)  # type: ignore[method-assign]
    return loop


@program
def a_loss_that_is_a_dtensor() -> Loop:
    mesh = _group()
    model = _plain()
    for each in model:
        if isinstance(each, nn.Linear):
            each.weight = nn.Parameter(distribute_tensor(each.weight.detach(), mesh, [Replicate()]))
            each.bias = nn.Parameter(distribute_tensor(each.bias.detach(), mesh, [Replicate()]))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)

    def step(batch: Any) -> Any:
        return learns(model, optimizer, tuple(distribute_tensor(each, mesh, [Replicate()]) for each in batch))  # type: ignore[arg-type]

    loop = Loop(model, optimizer, step, batches(), close=_end)
    loop.left = lambda: comparable(_values(model))  # type: ignore[method-assign]
    return loop


@program
def in_parallel_by_columns_and_rows() -> Loop:
    mesh = _group()
    model = _plain()
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    return _loop(model)
