"""One small training, and what people change about it: some of it changes nothing, and some of it everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(10, 32)
        self.drop = nn.Dropout(0.1)
        self.second = nn.Linear(32, 32)
        self.last = nn.Linear(32, 4)

    def forward(self, x):
        return self.last(F.relu(self.second(self.drop(F.relu(self.first(x))))))


class Renamed(nn.Module):
    """A class that became a Sequential and a head."""

    def __init__(self) -> None:
        super().__init__()
        linear = nn.Linear
        self.body = nn.Sequential(linear(10, 32), nn.ReLU(), nn.Dropout(0.1), linear(32, 32), nn.ReLU())
        self.head = linear(32, 4)

    def forward(self, x):
        return self.head(self.body(x))


class Reordered(Net):
    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.last = nn.Linear(32, 4)
        self.second = nn.Linear(32, 32)
        self.first = nn.Linear(10, 32)
        self.drop = nn.Dropout(0.1)


class RenamedAndReordered(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(32, 4)
        self.middle = nn.Linear(32, 32)
        self.stem = nn.Linear(10, 32)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.head(F.relu(self.middle(self.drop(F.relu(self.stem(x))))))


class WrittenOut(Net):
    def forward(self, x):
        x = self.drop(torch.relu(x @ self.first.weight.T + self.first.bias))
        x = torch.relu(torch.einsum("bi,oi->bo", x, self.second.weight) + self.second.bias)
        return x @ self.last.weight.t() + self.last.bias


class OtherInitialisation(Net):
    def __init__(self) -> None:
        super().__init__()
        nn.init.xavier_uniform_(self.second.weight)


class Wider(Net):
    def __init__(self) -> None:
        super().__init__()
        self.second, self.last = nn.Linear(32, 33), nn.Linear(33, 4)


class Deeper(Net):
    def __init__(self) -> None:
        super().__init__()
        self.extra = nn.Linear(32, 32)

    def forward(self, x):
        return self.last(F.relu(self.extra(F.relu(self.second(self.drop(F.relu(self.first(x))))))))


class Frozen(Net):
    def __init__(self) -> None:
        super().__init__()
        self.first.requires_grad_(False)


class MoreDropout(Net):
    def __init__(self) -> None:
        super().__init__()
        self.drop.p = 0.5


class NoDropout(Net):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Identity()


def training(
    net: type[nn.Module] = Net,
    *,
    lr: float = 3e-3,
    optimizer: type[torch.optim.Optimizer] = torch.optim.AdamW,
    reduction: str = "mean",
    reversed_order: bool = False,
    shuffle: bool | None = None,
    scale: float = 1.0,
    clip: bool = False,
    **settings: Any,
) -> Callable[[], Training]:
    def factory() -> Training:
        model = net()
        draw = torch.Generator().manual_seed(0)
        xs = torch.randn(128, 10, generator=draw) * scale
        ys = xs[:, :4].argmax(1)
        batches: Any = list(zip(xs.split(16), ys.split(16), strict=True))
        if shuffle is not None:
            batches = DataLoader(TensorDataset(xs, ys), 16, shuffle=shuffle)
        held = optimizer(model.parameters(), lr=lr, **settings)

        def step(batch):
            held.zero_grad()
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            for parameter in model.parameters():
                parameter.grad *= 0.25
            held.step()
            return loss

        data = batches[::-1] if reversed_order else batches
        if clip:
            return Training(model, held, step=step, data=data)
        return Training(model, held, lambda m, b: F.cross_entropy(m(b[0]), b[1], reduction=reduction), data)

    return factory
