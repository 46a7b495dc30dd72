"""`data` and `val_data` as people make them: one prepared otherwise than the other, or samples that are in both."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.records.verdict import Verdict

Make = Callable[[bool], Training]


def verdict_of(make: Callable[[], Training], seed: int) -> Verdict:
    (verdict,) = diagnose(make, checks="generalizes", seed=seed).verdicts
    return verdict


# -- prepared otherwise ----------------------------------------------------------------------------------


class Leaves(Dataset[dict[str, Tensor]]):
    """Green, yellow and brown leaves before a sky, standardised by the statistics of RGB."""

    COLOURS = torch.tensor([[60.0, 160.0, 50.0], [190.0, 180.0, 60.0], [130.0, 80.0, 40.0]])
    MEAN, STD = torch.tensor([140.0, 150.0, 110.0]), torch.tensor([50.0, 40.0, 70.0])

    def __init__(self, many: int, backwards: bool) -> None:
        self.labels = torch.randint(3, (many,))
        pictures = torch.tensor([140.0, 170.0, 220.0]).repeat(many, 8, 8, 1)
        pictures[:, 2:6, 2:6] = self.COLOURS[self.labels][:, None, None]
        pictures += 12 * torch.randn_like(pictures)
        pictures = pictures.flip(-1) if backwards else pictures
        self.pictures = ((pictures - self.MEAN) / self.STD).permute(0, 3, 1, 2).contiguous()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, at: int) -> dict[str, Tensor]:
        return {"pixels": self.pictures[at], "labels": self.labels[at]}


def pictures_read_backwards(fixed: bool) -> Training:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 3))
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        loss=lambda model, batch: F.cross_entropy(model(batch["pixels"]), batch["labels"]),
        data=DataLoader(Leaves(480, backwards=False), batch_size=24, shuffle=True),
        val_data=DataLoader(Leaves(120, backwards=not fixed), batch_size=24),
    )


def columns_of_another_export(fixed: bool) -> Training:
    """Columns of different units; the second file has them by the alphabet."""
    names = {"weight": (2.0, 0.5), "height": (0.4, 1.5), "age": (-1.0, 0.8), "rest": (0.9, 0.2), "speed": (-2.0, 1.0)}
    means, spreads = (torch.tensor(each) for each in zip(*names.values(), strict=True))

    def file(many: int, order: list[str]) -> list[tuple[Tensor, Tensor]]:
        plain = torch.randn(many, len(names))
        target = plain[:, 0] - 1.5 * plain[:, 1] + plain[:, 2] * plain[:, 4] + 0.1 * torch.randn(many)
        table = (means + spreads * plain)[:, [list(names).index(name) for name in order]]
        return list(zip(table.split(40), target[:, None].split(40), strict=True))

    model = nn.Sequential(nn.Linear(5, 48), nn.SiLU(), nn.Linear(48, 1))
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        criterion=nn.MSELoss(),
        data=file(1200, list(names)),
        val_data=file(320, list(names) if fixed else sorted(names)),
    )


class Gestures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(4, 24, batch_first=True), nn.Linear(24, 3)

    def forward(self, signal: Tensor) -> Tensor:
        return self.head(self.gru(signal)[0][:, -1])


def sensors_plugged_in_otherwise(fixed: bool) -> Training:
    """Each channel of the second recording is one further on."""

    def recorded(many: int, shift: int) -> tuple[Tensor, Tensor]:
        labels, time = torch.randint(3, (many,)), torch.linspace(0, 1, 12)
        wave = torch.sin(6.3 * time[None] * (1.0 + labels[:, None]))
        level = torch.tensor([0.0, 1.5, -1.0, 0.4])
        noise = torch.tensor([0.3, 0.6, 0.2, 1.2])
        signal = level + noise * torch.randn(many, 12, 4)
        signal[..., 0] += wave
        return signal.roll(shift, -1), labels

    model = Gestures()
    data, val = recorded(640, 0), recorded(128, 0 if fixed else 1)
    return Training(
        model,
        torch.optim.AdamW(model.parameters(), lr=1e-2),
        loss=lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]),
        data=list(zip(data[0].split(32), data[1].split(32), strict=True)),
        val_data=list(zip(val[0].split(32), val[1].split(32), strict=True)),
    )


PREPARED: list[Make] = [pictures_read_backwards, columns_of_another_export, sensors_plugged_in_otherwise]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", PREPARED, ids=lambda make: make.__name__)
def test_another_order_of_features_is_named(make: Make, seed: int) -> None:
    broken, twin = (verdict_of(lambda fixed=fixed: make(fixed), seed) for fixed in (False, True))
    assert [(each.cause, each.certainty) for each in broken.findings] == [("unnormalized-inputs", "confirmed")]
    assert twin.passed, str(twin)


def another_place_with_other_means(fixed: bool) -> Training:
    """All columns lie elsewhere, and none of them where another one lies: nothing has changed places."""
    shift = torch.tensor([1.0, -0.8, 0.9, 1.2])
    x, val = torch.randn(640, 4), torch.randn(160, 4) + shift
    teacher = torch.tensor([1.0, -1.0, 0.5, 2.0])
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        criterion=nn.MSELoss(),
        data=list(zip(x.split(32), (x @ teacher)[:, None].split(32), strict=True)),
        val_data=list(zip(val.split(32), (val @ teacher)[:, None].split(32), strict=True)),
    )


def pictures_of_other_things(fixed: bool) -> Training:
    """Random labels on pictures of three colours: nothing carries over, and nothing does backwards."""
    x, y = torch.randn(96, 3, 8, 8), torch.randint(3, (96,))
    val, val_y = torch.randn(64, 3, 8, 8), torch.randint(3, (64,))
    model = nn.Sequential(nn.Flatten(), nn.Linear(192, 32), nn.ReLU(), nn.Linear(32, 3))
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        criterion=nn.CrossEntropyLoss(),
        data=list(zip(x.split(16), y.split(16), strict=True)),
        val_data=list(zip(val.split(16), val_y.split(16), strict=True)),
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [another_place_with_other_means, pictures_of_other_things], ids=lambda m: m.__name__)
def test_what_lies_elsewhere_has_not_changed_places(make: Make, seed: int) -> None:
    verdict = verdict_of(lambda: make(True), seed)
    assert not verdict.failed, str(verdict)


# -- in both ---------------------------------------------------------------------------------------------


def rows_drawn_twice(fixed: bool) -> Training:
    """Both halves are drawn from all rows. There are so many that memory makes no difference to this fit."""
    x = torch.randn(2400, 8)
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).long()
    order = torch.randperm(2400)
    rows, held = order[:1920], order[1920:] if fixed else torch.randperm(2400)[:480]
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2))
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        criterion=nn.CrossEntropyLoss(),
        data=DataLoader(TensorDataset(x[rows], y[rows]), batch_size=32, shuffle=True),
        val_data=DataLoader(TensorDataset(x[held], y[held]), batch_size=60),
    )


class Shaken(Dataset[tuple[Tensor, Tensor]]):
    """Each reading of a sample is another one: only its index tells that it is the same."""

    def __init__(self, many: int) -> None:
        self.y = torch.randint(4, (many,))
        self.x = torch.randn(4, 16)[self.y] + torch.randn(many, 16)

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, at: int) -> tuple[Tensor, Tensor]:
        return self.x[at] + 0.3 * torch.randn(16), self.y[at]


def folds_that_overlap(fixed: bool) -> Training:
    samples = Shaken(960)
    begin = 800 if fixed else 640
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    return Training(
        model,
        torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        criterion=nn.CrossEntropyLoss(),
        data=DataLoader(Subset(samples, range(800)), batch_size=32, shuffle=True),
        val_data=DataLoader(Subset(samples, range(begin, 960)), batch_size=32),
    )


def recordings_of_the_same_people(fixed: bool) -> Training:
    """Four recordings of each of 400 people, split by recordings or by people."""
    people = torch.randn(400, 20)
    ill = (people[:, :5].sum(1) > 0).float()
    who = torch.arange(400).repeat_interleave(4)
    x, y = people[who] + 0.05 * torch.randn(1600, 20), ill[who]
    order = torch.randperm(1600)
    held = who >= 340 if fixed else torch.isin(torch.arange(1600), order[:240])
    train, val = order[~held[order]], order[held[order]]
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        loss=lambda model, batch: F.binary_cross_entropy_with_logits(model(batch["x"]), batch["ill"]),
        data=[{"x": x[at], "ill": y[at]} for at in train.split(40)],
        val_data=[{"x": x[at], "ill": y[at]} for at in val.split(40)],
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "make", [rows_drawn_twice, folds_that_overlap, recordings_of_the_same_people], ids=lambda make: make.__name__
)
def test_samples_in_both_halves_are_a_fault_whatever_they_do_to_the_figures(make: Make, seed: int) -> None:
    broken, twin = (verdict_of(lambda fixed=fixed: make(fixed), seed) for fixed in (False, True))
    assert broken.failed, str(broken)
    assert broken.findings[0].cause == "data-leakage", str(broken)
    assert twin.passed, str(twin)
