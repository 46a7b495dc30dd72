"""Batches of every shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

from pytest_trainhealth import Training

from . import healthy
from .toydata import blobs, curve


@dataclass
class Sample:
    """A batch that carries more than tensors."""

    x: Tensor
    y: Tensor
    ids: list[str]
    meta: dict[str, Any] = field(default_factory=dict)


@healthy
def batch_dataclass_with_strings() -> Training:
    """Names and a nested dict travel along with the tensors."""
    x, y = blobs()
    batches = [
        Sample(x[i : i + 16], y[i : i + 16], [f"patient-{j}" for j in range(i, i + 16)], {"site": i, "fold": None})
        for i in range(0, 128, 16)
    ]
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        loss=lambda model, batch: F.cross_entropy(model(batch.x), batch.y),
        data=batches,
    )


class TwoSources(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 16))
        self.table = nn.Linear(5, 16)
        self.head = nn.Linear(32, 3)

    def forward(self, inputs: dict[str, Any]) -> Tensor:
        image, (table, present) = inputs["image"], inputs["table"]
        return self.head(F.relu(torch.cat([self.image(image), self.table(table) * present], -1)))


@healthy
def batch_nested_with_missing_parts() -> Training:
    """Inputs are a dict with a tuple inside, used with `criterion=`; a part of the table rows is missing."""
    batches = []
    patterns = torch.randn(3, 1, 8, 8)
    for _ in range(6):
        y = torch.arange(15) % 3
        image = 0.7 * patterns[y] + 0.5 * torch.randn(15, 1, 8, 8)
        table, present = torch.randn(15, 5) + y[:, None], (torch.rand(15, 1) < 0.7).float()
        batches.append(({"image": image, "table": (table, present)}, y))
    model = TwoSources()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)


class OnTheFly(Dataset):
    """Makes its samples when asked, and augments them with torch's generator."""

    def __init__(self, n: int) -> None:
        self.x, self.y = curve(n)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"x": self.x[index] + 0.02 * torch.randn(8), "y": self.y[index]}


@healthy
def batch_from_augmenting_dataset() -> Training:
    """The data set adds noise on each access, and the last batch is smaller than the others."""
    model = nn.Sequential(nn.Linear(8, 48), nn.GELU(), nn.Linear(48, 1))
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: F.mse_loss(model(batch["x"]), batch["y"]),
        data=DataLoader(OnTheFly(70), batch_size=16, shuffle=True),
    )


class Replay(IterableDataset):
    """Yields whole batches, in another order on each pass."""

    def __init__(self, x: Tensor, y: Tensor, size: int) -> None:
        self.x, self.y, self.size = x, y, size

    def __len__(self) -> int:
        return len(self.x) // self.size

    def __iter__(self):
        for at in torch.randperm(len(self)).tolist():
            rows = slice(at * self.size, (at + 1) * self.size)
            yield self.x[rows], self.y[rows]


@healthy
def batch_made_by_the_dataset() -> Training:
    """`batch_size=None`: the data set makes the batches, the DataLoader only hands them on."""
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    data = DataLoader(Replay(*blobs(), size=16), batch_size=None)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)


class Record:
    """A plain object with attributes, as graph libraries and homemade loaders use."""

    def __init__(self, **parts: Tensor) -> None:
        self.__dict__.update(parts)


@healthy
def batch_plain_object() -> Training:
    """The model is given the whole object and takes out what it needs; one attribute is used by nobody."""

    class FromRecord(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))

        def forward(self, record: Record) -> Tensor:
            return self.net(record.x)

    x, y = blobs()
    rows = [slice(i, i + 16) for i in range(0, 128, 16)]
    model = FromRecord()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        loss=lambda model, record: F.cross_entropy(model(record), record.y),
        data=[Record(x=x[r], y=y[r], when=torch.arange(r.start, r.stop)) for r in rows],
    )


@healthy
def batch_generator() -> Training:
    """A generator that makes new samples for ever and can be read once only."""

    def stream():
        true = torch.randn(6, 1)
        while True:
            x = torch.randn(16, 6)
            yield x, torch.tanh(x @ true)

    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=stream())


@healthy
def batch_single_tuple() -> Training:
    """The whole data set is one tuple."""
    x, y = blobs(48)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(x, y))


@healthy
def batch_of_one_sample_only() -> Training:
    """One single image, fitted as in deep image prior: fixed noise in, the image out."""
    noise = torch.randn(1, 8, 12, 12)
    image = torch.nn.functional.interpolate(torch.randn(1, 1, 4, 4), size=12, mode="bilinear")
    model = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=(noise, image))


@healthy
def batch_sizes_vary() -> Training:
    """Bucketed batches of 3 to 20 samples and of different lengths."""

    class Mean(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
            self.head = nn.Linear(32, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.net(x).mean(1))

    batches = []
    for size in (3, 8, 20, 5, 13):
        y = torch.arange(size) % 2
        batches.append((torch.randn(size, 2 + size % 5, 4) + 0.7 * (2 * y - 1)[:, None, None], y))
    model = Mean()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)


@healthy
def batch_with_sample_weights() -> Training:
    """Each sample has a weight, some of them zero; the loss is the weighted mean."""

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        x, y, weight = batch
        return (weight * F.cross_entropy(model(x), y, reduction="none")).sum() / weight.sum()

    x, y = blobs()
    weight = (2 * torch.rand(128) - 0.4).clamp(min=0)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    batches = [(x[i : i + 16], y[i : i + 16], weight[i : i + 16]) for i in range(0, 128, 16)]
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, batches)
