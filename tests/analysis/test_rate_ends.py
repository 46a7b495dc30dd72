"""Rates that go on past the end of their course, and rates that compound; and schedules, which do neither."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate
from math import cos, exp, pi
from operator import mul

import pytest
import torch
from torch.optim import lr_scheduler as schedulers

from pytest_trainhealth.analysis.rate_ends import coming_back, compounds, past_its_end

N = 160


def course(rate: Callable[[int], float], steps: int = N) -> list[float]:
    return [0.1 * rate(step) for step in range(steps)]


def half_cosine(step: int, total: int) -> float:
    return 0.5 * (1 + cos(pi * step / total))


def compounded(factors: Iterable[float]) -> list[float]:
    return list(accumulate(factors, mul, initial=0.1))


def of_torch(make: Callable[[torch.optim.Optimizer], schedulers.LRScheduler]) -> list[float]:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1)
    scheduler, rates = make(optimizer), []
    for _ in range(N):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


TORCHS = {
    "polynomial": lambda o: schedulers.PolynomialLR(o, 40, 2.0),
    "linear": lambda o: schedulers.LinearLR(o, 1.0, 0.0, 40),
    "cosine": lambda o: schedulers.CosineAnnealingLR(o, 40),
    "long cosine": lambda o: schedulers.CosineAnnealingLR(o, 85),
    "warm restarts": lambda o: schedulers.CosineAnnealingWarmRestarts(o, 20, 2),
    "cyclic": lambda o: schedulers.CyclicLR(o, 0.0, 0.1, step_size_up=25, cycle_momentum=False),
    "exponential": lambda o: schedulers.ExponentialLR(o, 0.95),
    "steps": lambda o: schedulers.StepLR(o, 20),
    "one cycle": lambda o: schedulers.OneCycleLR(o, 0.5, total_steps=N + 1),
    "inverse": lambda o: schedulers.LambdaLR(o, lambda step: 1 / (1 + step)),
    "warm-up and cosine": lambda o: schedulers.LambdaLR(
        o, lambda step: min(step / 20, 1.0) * half_cosine(max(step - 20, 0), N)
    ),
}


@pytest.mark.parametrize("make", TORCHS.values(), ids=TORCHS)
def test_schedules_neither_go_past_their_end_nor_compound(make) -> None:
    rates = of_torch(make)
    for end in range(20, N + 1):  # wherever a look comes
        assert past_its_end(rates[:end]) is None
        assert not compounds(rates[:end])


@pytest.mark.parametrize(
    "rates",
    [
        course(lambda step: 1 - step / 180),
        course(lambda step: (1 - step / 170) ** 2),
        course(lambda step: (1 - step / 170) ** 4),
        course(lambda step: half_cosine(step, 180)),
        course(lambda step: 0.02 + 0.98 * half_cosine(step, N)),
        course(lambda step: 0.3**step),
        course(lambda step: 1 / (1 + exp((step - 80) / 12))),
        course(lambda step: 1.0),
        course(lambda step: step / 20),
        [],
    ],
)
def test_schedules_by_hand(rates: list[float]) -> None:
    assert past_its_end(rates) is None
    assert not compounds(rates)


@pytest.mark.parametrize(
    ("rates", "end"),
    [
        (course(lambda step: (1 - step / 25) ** 2, 80), 25),
        (course(lambda step: (1 - step / 25) ** 4, 80), 25),
        (course(lambda step: (1 - step / 25) ** 2, 60), None),  # less than twice what it was
        (course(lambda step: abs(1 - step / 25), 100), None),  # a straight line
        (course(lambda step: 1 - step / 40, 80), 41),  # below 0
    ],
)
def test_what_goes_on_past_its_end(rates: list[float], end: int | None) -> None:
    assert past_its_end(rates) == end
    assert coming_back(rates)


def test_a_cycle_that_has_turned_is_not_on_its_way_up() -> None:
    assert coming_back(of_torch(TORCHS["cosine"])[:75])
    assert not coming_back(of_torch(TORCHS["cosine"])[:90])
    assert not coming_back(of_torch(TORCHS["warm restarts"])[:30])
    assert not coming_back(of_torch(TORCHS["polynomial"]))


@pytest.mark.parametrize(
    "rates",
    [
        compounded(half_cosine(step, 1200) for step in range(N)),
        compounded(half_cosine(step, 300) for step in range(N)),
        compounded(1 - step / 1200 for step in range(N)),
        compounded(1 / (1 + 0.001 * step) for step in range(N)),
        compounded(0.9995**step for step in range(N)),
        [rate for rate in compounded(half_cosine(step, 300) for step in range(80)) for _ in range(4)],  # in stages
    ],
)
def test_what_is_multiplied_again_and_again_compounds(rates: list[float]) -> None:
    assert compounds(rates)
