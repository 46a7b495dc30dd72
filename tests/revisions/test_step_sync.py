"""Steps that do not all cost the same, the same ones every time: both sides have to time the very same of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pytest

from pytest_trainhealth.revisions import compare
from pytest_trainhealth.revisions.decision import decide
from pytest_trainhealth.revisions.pairing import FEWEST, paired
from pytest_trainhealth.revisions.step_sync import Pace, Taken, Untimed, together

#: As of a training that waits for its last batch; and fast ones, of which a round has many.
LONG, SHORT = 0.06, 0.004


class Periodic:
    """A side whose steps cost these seconds, over and over, and that was at another step before."""

    computes_itself = True

    def __init__(self, seconds: Sequence[float], before: int = 0, pace: Pace | None = None, ends: int = 200) -> None:
        self.seconds, self.taken, self.own = seconds, before, pace or Pace(max_steps=200)
        #: How far its schedule reaches.
        self.ends = ends
        self.timed: list[int] = []
        self.begun: list[Pace] = []

    def begin(self, pace: Pace) -> Pace:
        self.own = Pace(self.own.workers, max(self.own.ahead, pace.ahead), min(self.own.max_steps, pace.max_steps))
        self.taken = 3 + self.own.ahead
        self.begun.append(pace)
        return self.own

    def use_threads(self, count: int) -> None:
        pass

    def steps(self, untimed: int, count: int) -> Taken:
        taken: list[float] = []
        broke_off = False
        for n in range(untimed + count):
            if self.taken >= self.own.max_steps:
                self.taken = 3 + self.own.ahead
            if self.taken >= self.ends:
                self.own, self.taken, broke_off = Pace(max_steps=self.ends - 10), 3, True
            if n >= untimed:
                self.timed.append(self.taken)
                taken.append(self.seconds[self.taken % len(self.seconds)])
            self.taken += 1
        return Taken(taken, [0.0] * count, broke_off)


def costs(period: int, step: float, dear: int = 0) -> list[float]:
    return [step * (1.5 if n == dear else 1.0) for n in range(period)]


@pytest.mark.parametrize("step", [LONG, LONG / 2, SHORT])
@pytest.mark.parametrize("before", range(5))
@pytest.mark.parametrize("period", [2, 3, 4, 5])
def test_the_same_code(period: int, before: int, step: float) -> None:
    """With the far side at another step before, and numbers of threads that are tried first."""
    current, other = Periodic(costs(period, step)), Periodic(costs(period, step), before)
    terms = compare.Terms("main", 0.1, math.inf, "keeps_throughput", seed=0, threads=2, device=None, promised=45)
    pairs, _ = compare._timed(current, other, terms)  # type: ignore[arg-type]
    found = pairs.found()
    assert (found.ratio, found.low, found.high) == pytest.approx((1.0, 1.0, 1.0))
    assert current.timed == other.timed


@pytest.mark.parametrize("step", [LONG, 0.45 * LONG, SHORT])
@pytest.mark.parametrize("period", [2, 4])
@pytest.mark.parametrize("dear", [0, 1])
def test_every_second_step_has_become_slower(period: int, dear: int, step: float) -> None:
    """60 and 90 ms, then 60 and 150: in all, 1.40 times as long."""
    dears = [n % 2 == dear for n in range(period)]
    current = Periodic([step * (2.5 if each else 1.0) for each in dears])
    other = Periodic([step * (1.5 if each else 1.0) for each in dears], before=1)
    found = paired(current, other, 0.1).found()
    assert found.ratio == pytest.approx(1.4, rel=0.01)
    assert decide(found, 0.1) == "slower"


@pytest.mark.parametrize("period", [3, 5])
def test_one_step_of_a_few_has_become_slower(period: int) -> None:
    other = [LONG / 2] * period
    current = [LONG / 2 + (LONG if n == 1 else 0.0) for n in range(period)]
    assert paired(Periodic(current), Periodic(other), 0.1).found().ratio == pytest.approx(1 + 2 / period, rel=0.1)


@pytest.mark.parametrize("period", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("timed", [1, 2, 3, 5])
@pytest.mark.parametrize("workers", [0, 3])
def test_every_step_of_an_epoch_is_timed_as_often(period: int, timed: int, workers: int) -> None:
    pace = Pace(workers)
    untimed, at, seen = Untimed(pace, pace.timed(timed)), 0, Counter[int]()
    for _ in range(5000):
        for skipped in untimed.of_a_turn():
            assert skipped >= max(1, workers)
            seen.update((at + skipped + n) % period for n in range(pace.timed(timed)))
            at += skipped + pace.timed(timed)
    assert len(seen) == period
    assert max(seen.values()) < 1.2 * min(seen.values())


def test_sides_with_other_numbers_of_workers() -> None:
    """As many steps on both, and as many batches thrown away: the larger number."""
    current = Periodic(costs(3, SHORT), pace=Pace(workers=0, ahead=0, max_steps=200))
    other = Periodic(costs(3, SHORT), pace=Pace(workers=4, ahead=8, max_steps=200))
    assert together(current, other) == Pace(4, 8, 200)
    assert current.taken == other.taken
    pairs = paired(current, other, 0.1)
    assert pairs.found().high == pytest.approx(1.0)
    assert pairs.steps_a_round % 4 == 0
    assert Counter(current.timed) == Counter(other.timed)


def test_who_starts_alike_begins_once() -> None:
    current, other = Periodic([SHORT]), Periodic([SHORT])
    together(current, other)
    assert current.begun == other.begun == [Pace()]


def test_a_schedule_that_ends_earlier_on_one_side() -> None:
    """It has begun again where the other side has not: both begin again, and that turn does not count."""
    current, other = Periodic(costs(3, SHORT)), Periodic(costs(3, SHORT), ends=70)
    pairs = paired(current, other, 0.1)
    assert len(pairs.current) >= FEWEST
    assert pairs.ratios == pytest.approx([1.0] * len(pairs.ratios))
    assert current.own.max_steps == other.own.max_steps == 60
