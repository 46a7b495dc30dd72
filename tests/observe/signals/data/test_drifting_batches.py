"""Finds writes into a list of batches that add up from epoch to epoch, and lets all others be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.observe.signals.data.drifting_batches import adds_up

Prepare = Callable[[Tensor], tuple[Tensor, Tensor]]
FOUND, NOT_FOUND = [("in-place-modification", "confirmed")], []


def found(make: Callable[[], Training]) -> list[tuple[str, str]]:
    verdict = examine(make, Request("gradients_flow", "loop", 0, {}))
    assert verdict.failed is bool(verdict.findings)
    return [(finding.cause, finding.certainty) for finding in verdict.findings]


def denoising(prepare: Prepare, data: Callable[[Tensor], Any] = lambda x: list(x.split(16))) -> Callable[[], Training]:
    def make() -> Training:
        model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 12))
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)

        def step(x: Tensor) -> Tensor:
            given, target = prepare(x)
            loss = F.mse_loss(model(given), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        return Training(model, optimizer, step=step, data=data(torch.randn(64, 12) + 0.5))

    return make


def blank(x: Tensor) -> Tensor:
    x[torch.rand_like(x) < 0.2] = 0.0
    return x


def target_too(x: Tensor) -> tuple[Tensor, Tensor]:
    return blank(x), x


def target_kept(x: Tensor) -> tuple[Tensor, Tensor]:
    target = x.clone()
    return blank(x), target


def scaled(x: Tensor) -> tuple[Tensor, Tensor]:
    x /= 4.0
    return x, x


def noise_added(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.add_(0.1 * torch.randn_like(x)), x


def negated(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.neg_(), x


def twice_logarithm(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.abs_().log_(), x


def copied_before(x: Tensor) -> tuple[Tensor, Tensor]:
    kept = x.clone()  # of what the epoch before has left
    x.add_(1.0)
    return kept, kept


ADD_UP = [target_too, target_kept, scaled, noise_added, negated, twice_logarithm, copied_before]


@pytest.mark.parametrize("prepare", ADD_UP)
def test_writes_that_add_up(prepare: Prepare) -> None:
    assert found(denoising(prepare)) == FOUND


def copied(x: Tensor) -> tuple[Tensor, Tensor]:
    return blank(x.clone()), x


def cut_off(x: Tensor) -> tuple[Tensor, Tensor]:
    x[x < -1.0] = -1.0
    return x, x


def standardised(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.sub_(x.mean()).div_(x.std()), x


def undone(x: Tensor) -> tuple[Tensor, Tensor]:
    noisy = x.add_(1.0).clone()
    return noisy, x.sub_(1.0)


def sometimes_flipped(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.mul_(torch.randint(0, 2, (len(x), 1)) * 2.0 - 1), x


@pytest.mark.parametrize("prepare", [copied, cut_off, standardised, undone, sometimes_flipped])
def test_writes_that_do_not(prepare: Prepare) -> None:
    assert found(denoising(prepare)) == NOT_FOUND


@pytest.mark.parametrize(
    "data",
    [
        lambda x: DataLoader(x, batch_size=16),
        lambda x: list(DataLoader(x, batch_size=16)),
        lambda x: x[:16],
    ],
    ids=["a loader", "a list from a loader", "one batch"],
)
def test_only_a_list_of_ones_own_is_the_data(data: Callable[[Tensor], Any]) -> None:
    assert found(denoising(scaled, data)) == NOT_FOUND


def rows(change: Callable[[nn.Module, dict[str, Tensor]], Tensor]) -> Callable[[], Training]:
    def make() -> Training:
        model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
        x, y = torch.randn(64, 6), torch.randint(1, 4, (64,))
        weight, state, buffer = torch.ones(64), torch.zeros(64, 3), torch.zeros(64, 6)
        parts = {"x": x, "y": y, "weight": weight, "state": state, "buffer": buffer}
        data = [{name: part[at : at + 16].clone() for name, part in parts.items()} for at in range(0, 64, 16)]
        return Training(model, torch.optim.Adam(model.parameters(), 1e-3), change, data)

    return make


def labels_shifted(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    batch["y"] -= 1  # the second time some are -1, which cross_entropy refuses
    return F.cross_entropy(model(batch["x"]), batch["y"])


def after_the_model(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    output = model(batch["x"])
    target = F.one_hot(batch["y"] - 1, 3).float()
    batch["state"].add_(1.0)
    return F.mse_loss(output, target + batch["state"])


@pytest.mark.parametrize("change", [labels_shifted, after_the_model])
def test_parts_of_a_batch(change: Callable[[nn.Module, dict[str, Tensor]], Tensor]) -> None:
    assert found(rows(change)) == FOUND


def weights_annealed(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    batch["weight"] *= 0.9
    return (batch["weight"] * F.cross_entropy(model(batch["x"]), batch["y"] - 1, reduction="none")).mean()


def remembered(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    output = model(batch["x"]) + batch["state"]
    batch["state"].copy_(output.detach() + 1.0)
    return F.cross_entropy(output, batch["y"] - 1)


def remembered_as_a_number(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    output = model(batch["x"])
    batch["state"] += output.mean().item() + 1.0
    return F.cross_entropy(output + batch["state"].clone(), batch["y"] - 1)


def never_read(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    batch["buffer"] += 1.0
    return F.cross_entropy(model(batch["x"]), batch["y"] - 1)


def filled_anew(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    batch["buffer"].copy_(batch["x"]).add_(0.1 * torch.randn(16, 6))
    return F.cross_entropy(model(batch["buffer"]), batch["y"] - 1)


@pytest.mark.parametrize("change", [weights_annealed, remembered, remembered_as_a_number, never_read, filled_anew])
def test_parts_that_are_meant_to_change(change: Callable[[nn.Module, dict[str, Tensor]], Tensor]) -> None:
    assert found(rows(change)) == NOT_FOUND


def test_values_that_are_drawn_with_other_random_numbers_each_time() -> None:
    """By a generator of the user's, which is not rewound: around the same centre, or added to what was there."""
    fresh, noise = torch.zeros(1000), torch.randn(3, 1000)
    assert not adds_up(fresh, fresh + noise[0], fresh + noise[1], fresh + noise[2])
    left = fresh + noise[0]
    assert adds_up(fresh, left, left + noise[1], fresh + noise[2])


def test_the_data_are_left_as_they_were() -> None:
    training = denoising(scaled)()
    before = [batch.clone() for batch in training.data]
    assert found(lambda: training) == FOUND
    assert all(map(torch.equal, training.data, before))
