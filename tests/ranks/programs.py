"""Distributed trainings, healthy and with one fault each. Loaded by its path in processes of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from pytest_trainhealth import Training

#: The step at which one rank does not do as the other.
AT = 3


def rank() -> int:
    return int(os.environ["RANK"])


def samples(count: int = 64) -> TensorDataset:
    inputs = torch.randn(count, 10, generator=torch.Generator().manual_seed(0))
    return TensorDataset(inputs, inputs[:, :4].argmax(1))


def shards() -> DataLoader[Any]:
    data = samples()
    return DataLoader(data, batch_size=8, sampler=DistributedSampler(data))


def layers() -> nn.Module:
    return nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 4))


def by_hand(*, broadcast: bool = True, divide: bool = True, sampler: bool = True) -> Training:
    """A loop that does itself what DDP does, each part of which can be forgotten."""
    model = layers()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if broadcast:
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, src=0)

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        loss = F.cross_entropy(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            if divide:
                parameter.grad /= dist.get_world_size()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=shards() if sampler else DataLoader(samples(), batch_size=8))


def healthy() -> Training:
    return by_hand()


def different_seeds() -> Training:
    return by_hand(broadcast=False)


def summed() -> Training:
    return by_hand(divide=False)


def no_sampler() -> Training:
    return by_hand(sampler=False)


def ddp(
    model: nn.Module | None = None, criterion: Callable[..., Tensor] = F.cross_entropy, data: Any = None
) -> Training:
    wrapped = DistributedDataParallel(model or layers())
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    return Training(wrapped, optimizer, criterion=criterion, data=data or shards())


def batch_norm() -> Training:
    """Its statistics differ from rank to rank, and are meant to; each rank's buffers are those of its own samples."""
    return ddp(nn.Sequential(nn.Linear(10, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 4)))


def sharded() -> Training:
    """Of 4 rows, each rank has two; of the 15 in the first layer, one rank has eight and the other seven."""
    model = nn.Sequential(nn.Linear(10, 15), nn.Tanh(), nn.Linear(15, 4))
    fully_shard(model)
    return Training(model, torch.optim.AdamW(model.parameters(), lr=0.01), criterion=F.cross_entropy, data=shards())


def _at_rank_1(act: Callable[[], None]) -> Training:
    calls = []

    def criterion(output: Tensor, target: Tensor) -> Tensor:
        calls.append(1)
        if len(calls) == AT and rank() == 1:
            act()
        return F.cross_entropy(output, target)

    return ddp(criterion=criterion)


def killed() -> Training:
    return _at_rank_1(lambda: os.kill(os.getpid(), 9))


def raises() -> Training:
    def act() -> None:
        raise FileNotFoundError("shard-1.tar")

    return _at_rank_1(act)


def hangs() -> Training:
    def act() -> None:
        time.sleep(1000)

    return _at_rank_1(act)


def uneven() -> Training:
    """72 samples in shards of 40: 5 batches for one rank, 4 for the other."""
    data = torch.utils.data.Subset(samples(72), range(72)[rank() * 40 : (rank() + 1) * 40])
    return ddp(data=DataLoader(data, batch_size=8))


class TwoHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.spare = nn.Linear(10, 4), nn.Linear(10, 4)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.used(inputs)


def unused_parameters() -> Training:
    return ddp(TwoHeads())


def alone() -> Training:
    """Knows nothing of ranks."""
    model = layers()
    return Training(
        model, torch.optim.SGD(model.parameters(), lr=0.1), criterion=F.cross_entropy, data=DataLoader(samples(), 8)
    )
