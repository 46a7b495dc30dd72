"""Who is asked when, and for how long: with sides that only say what they would have measured."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from pytest_trainhealth.revisions.decision import decide
from pytest_trainhealth.revisions.git import CannotCompare, OutOfTime
from pytest_trainhealth.revisions.pairing import FEWEST, FIRST_LOOK, MOST, WARM_UP, Pairs, TooFewPairs, paired
from pytest_trainhealth.revisions.step_sync import Pace, Taken

from .test_decision import NOISE


class Made:
    """A side whose steps take `seconds`, give or take `spread`."""

    def __init__(self, name: str, log: list[tuple[str, int]], seconds: float, spread: float = 0.0) -> None:
        self.name, self.log, self.seconds, self.spread = name, log, seconds, spread
        self.random = random.Random(name)
        self.pace = Pace()

    def begin(self, pace: Pace) -> Pace:
        return self.pace.joined(pace)

    def steps(self, untimed: int, count: int) -> Taken:
        self.log.append((self.name, count))
        return Taken([self.seconds * (1 + self.random.uniform(0, self.spread))] * count, [0.0] * count)


class Saying(Made):
    """A side whose rounds are whatever this says."""

    def __init__(self, says: Callable[[int], list[float]]) -> None:
        super().__init__("it", [], 0.0)
        self.says = says

    def steps(self, untimed: int, count: int) -> Taken:
        return Taken(self.says(count))


def test_turns_alternate_and_rounds_last() -> None:
    log: list[tuple[str, int]] = []
    pairs = paired(Made("A", log, 0.004), Made("B", log, 0.002), 0.1)
    assert log[:2] == [("A", WARM_UP), ("B", WARM_UP)]
    assert "".join(name for name, _ in log[2:10]) == "ABBAABBA"
    assert {count for _, count in log[2:]} == {25} == {pairs.steps_a_round}  # 25 x 2 ms


def test_plain_cases_need_few_pairs() -> None:
    for seconds in (0.01, 0.02, 0.005):
        pairs = paired(Made("A", [], seconds, 0.02), Made("B", [], 0.01, 0.02), 0.1)
        assert len(pairs.current) == len(pairs.other) == FIRST_LOOK
        assert pairs.found().ratio == pytest.approx(seconds / 0.01, rel=0.03)


def test_doubtful_cases_get_more_pairs() -> None:
    assert len(paired(Made("A", [], 0.011, 0.1), Made("B", [], 0.01, 0.1), 0.1).current) == MOST


def test_a_favoured_turn_does_not_matter() -> None:
    """Who comes second in a pair takes a third longer: the four rounds of a turn even that out."""
    turns: list[str] = []

    def side(name: str) -> Saying:
        def steps(count: int) -> list[float]:
            turns.append(name)
            second = len(turns) > 2 and len(turns) % 2 == 0
            return [0.1 * (1.35 if second else 1.0)] * count

        return Saying(steps)

    found = paired(side("A"), side("B"), 0.1).found()
    assert (found.ratio, found.low, found.high) == pytest.approx((1.0, 1.0, 1.0))


def test_the_budget_ends_it() -> None:
    with pytest.raises(TooFewPairs, match="used up after 0 pairs, at least 16 are needed"):
        paired(Made("A", [], 0.01), Made("B", [], 0.01), 0.1, deadline=time.monotonic() - 1)


def test_what_is_complete_when_the_time_is_up_stands() -> None:
    """The end of the budget nearly always falls into a round, which is never answered then."""
    log: list[tuple[str, int]] = []
    made = Made("A", log, 0.01)

    def late(count: int) -> list[float]:
        if len(log) == 2 + 2 * FEWEST + 3:
            raise OutOfTime("the process here did not answer in time")
        return list(made.steps(1, count).seconds)

    pairs = paired(Saying(late), Made("B", log, 0.01), 0.1)
    assert len(pairs.current) == len(pairs.other) == FEWEST


def test_no_turn_is_begun_that_cannot_be_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[tuple[str, int]] = []
    monkeypatch.setattr(time, "monotonic", lambda: float(len(log)))  # a round takes a second
    pairs = paired(Made("A", log, 0.01), Made("B", log, 0.01), 0.1, deadline=2 + 2 * FEWEST + 3)
    assert len(pairs.current) == FEWEST
    assert len(log) == 2 + 2 * FEWEST


def test_a_side_that_dies_is_told() -> None:
    def dies(count: int) -> list[float]:
        raise CannotCompare("the process here ended by itself: killed by SIGKILL")

    with pytest.raises(CannotCompare, match="killed by SIGKILL"):
        paired(Saying(dies), Made("B", [], 0.01), 0.1)


@pytest.mark.parametrize(("seconds", "left", "steps"), [(0.1, 300, 3), (0.1, 27, 2), (0.1, 10, 1), (0.02, 300, 3)])
def test_slow_steps(seconds: float, left: float, steps: int) -> None:
    """At least three a round, where there is time for a first look with so many."""
    sides = Made("A", [], seconds), Made("B", [], seconds)
    assert paired(*sides, 0.1, time.monotonic() + left).steps_a_round == steps


def test_waiting_is_kept_apart() -> None:
    current, other = Made("A", [], 0.01), Made("B", [], 0.01)
    current.steps = lambda untimed, count: Taken([0.01] * count, [0.004] * count)  # type: ignore[method-assign]
    assert paired(current, other, 0.1).waits == (pytest.approx(0.004), 0.0)


def noisy(seconds: float, noise: str, own: random.Random) -> Saying:
    return Saying(lambda count: [seconds * NOISE[noise](own)] * count)


def outcomes(slowdown: float, noise: str) -> list[str]:
    found = []
    for seed in range(20):
        own = random.Random(f"{seed} {noise}")
        pairs = paired(noisy(0.05 * (1 + slowdown), noise, own), noisy(0.05, noise, own), 0.1)
        found.append(decide(pairs.found(), 0.1))
    return found


@pytest.mark.parametrize("noise", NOISE)
def test_with_every_look_on_the_way(noise: str) -> None:
    assert "slower" not in outcomes(0.0, noise) + outcomes(0.03, noise)
    assert outcomes(0.2, noise).count("slower") >= 19


@pytest.mark.parametrize("count", [40, 42])
def test_the_times_have_the_ratio_that_is_told(count: int) -> None:
    """A machine that slows down, and a side that is hit more often while it is slow."""
    own = random.Random(count)
    level = [1 + n / 10 for n in range(count)]
    current = [0.01 * slow * (1.2 if n % 3 else 2) * NOISE["loaded"](own) for n, slow in enumerate(level)]
    other = [0.01 * slow * NOISE["loaded"](own) for slow in level]
    pairs = Pairs(current, other)
    near, far = pairs.typical
    assert near / far == pytest.approx(pairs.found().ratio)
    assert min(current) < near < max(current)
    assert min(other) < far < max(other)
