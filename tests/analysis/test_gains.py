"""How much sooner the same loss is reached: on made-up curves, whose gains are known."""

from __future__ import annotations

import math
import random

import pytest

from pytest_trainhealth.analysis import gains
from pytest_trainhealth.records.advice import PairOfRuns, TimedRun


def falling(rate: float, steps: int = 100, noise: float = 0.0, seed: int = 0) -> tuple[float, ...]:
    drawn = random.Random(seed)
    return tuple(1 + math.exp(-rate * step) + noise * drawn.gauss(0, 1) for step in range(steps))


def pair(before: tuple[float, ...], after: tuple[float, ...], seconds: tuple[float, float] = (1.0, 1.0)) -> PairOfRuns:
    return PairOfRuns(1, TimedRun(before, seconds[0]), TimedRun(after, seconds[1]))


@pytest.mark.parametrize("times", [2.0, 4.0])
def test_fewer_steps_are_counted(times: float) -> None:
    found = gains.gain(pair(falling(0.01), falling(0.01 * times)), learns=True, timed=False)
    assert found.total == pytest.approx(times, rel=0.15)


def test_the_same_run_gains_nothing() -> None:
    same = falling(0.02, noise=0.05)
    assert gains.gain(pair(same, same), learns=True, timed=True).total == 1


def test_steps_and_seconds_are_multiplied() -> None:
    found = gains.gain(pair(falling(0.01), falling(0.02), (1.0, 0.5)), learns=True, timed=True)
    assert (found.speed, found.total) == (2, pytest.approx(4, rel=0.15))


@pytest.mark.parametrize(
    "after",
    [
        TimedRun(falling(0.04), 1.0, broken="raises ValueError"),
        TimedRun(falling(0.04)[:50], 1.0),
        TimedRun((*falling(0.04)[:99], math.nan), 1.0),
        TimedRun((*falling(0.04)[:50], *([3.0] * 50)), 1.0),
    ],
    ids=["raises", "ends early", "nan", "sooner and then worse"],
)
@pytest.mark.parametrize("learns", [True, False])
def test_what_is_no_gain_however_fast_it_is(after: TimedRun, learns: bool) -> None:
    found = gains.gain(PairOfRuns(1, TimedRun(falling(0.01), 1.0), after), learns=learns, timed=False)
    assert found.total < 0.1


def test_a_change_that_is_to_be_faster_may_end_a_little_higher_and_no_more() -> None:
    before = falling(0.03)
    little, much = (tuple(loss + above for loss in before) for above in (0.02, 0.2))
    assert gains.gain(pair(before, little, (3.0, 1.0)), learns=False, timed=True).total == 3
    assert gains.gain(pair(before, much, (3.0, 1.0)), learns=False, timed=True).total < 0.1


def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    drawn, inside = random.Random(0), 0
    for _ in range(400):
        found = gains.estimate([math.exp(drawn.gauss(0.3, 0.2)) for _ in range(5)])
        inside += found.low <= math.exp(0.3) <= found.high
    assert inside / 400 == pytest.approx(0.95, abs=0.03)


def test_what_is_chosen_by_luck_is_not_shown_on_other_seeds() -> None:
    """Of 17 changes that do nothing but make noise, and 200 trainings, none is claimed for more than a handful."""
    drawn, chosen, claimed = random.Random(0), 0, 0
    for _ in range(200 * 17):
        values = [math.exp(drawn.gauss(0, 0.3)) for _ in range(8)]
        chosen += gains.promising(values[:3])
        claimed += gains.promising(values[:3]) and gains.shown(values[3:])
    assert chosen > 50
    assert claimed <= 3


def test_a_real_gain_is_shown() -> None:
    assert gains.promising([1.4, 1.6, 1.5])
    assert gains.shown([1.4, 1.6, 1.5, 1.45, 1.55])
    assert not gains.shown([1.4, 1.6, 0.9, 1.45, 1.55])
    assert not gains.shown([1.1, 1.1, 1.1, 1.1, 1.1])
    assert not gains.shown([])


def test_a_loss_that_is_a_sum_cannot_be_compared_on_larger_batches() -> None:
    before = falling(0.01)
    assert gains.comparable(pair(before, before), 4)
    assert not gains.comparable(pair(before, tuple(4 * loss for loss in before)), 4)


def test_seeds_that_make_no_difference_are_noticed() -> None:
    assert gains.same_course([TimedRun(falling(0.1)), TimedRun(falling(0.1))])
    assert not gains.same_course([TimedRun(falling(0.1)), TimedRun(falling(0.2))])
    assert not gains.same_course([TimedRun(falling(0.1))])
