"""Who is asked when, and for how long: with sides that only say what they would have measured."""

from __future__ import annotations

import random
import time

import pytest

from pytest_trainhealth.against.pairing import FIRST_LOOK, MOST, WARM_UP, TooFewPairs, paired


class Made:
    """A side whose steps take `seconds`, give or take `spread`."""

    def __init__(self, name: str, log: list[tuple[str, int]], seconds: float, spread: float = 0.0) -> None:
        self.name, self.log, self.seconds, self.spread = name, log, seconds, spread
        self.random = random.Random(name)

    def __call__(self, count: int) -> list[float]:
        self.log.append((self.name, count))
        return [self.seconds * (1 + self.random.uniform(0, self.spread))] * count


def test_turns_alternate_and_rounds_last() -> None:
    log: list[tuple[str, int]] = []
    pairs = paired(Made("A", log, 0.004), Made("B", log, 0.002), 0.1)
    assert log[:2] == [("A", WARM_UP), ("B", WARM_UP)]
    assert "".join(name for name, _ in log[2:10]) == "ABBAABBA"
    assert {count for _, count in log[2:]} == {25} == {pairs.steps_a_round}  # 25 x 2 ms


def test_plain_cases_need_few_pairs() -> None:
    for seconds in (0.01, 0.02, 0.005):
        pairs = paired(Made("A", [], seconds, 0.02), Made("B", [], 0.01, 0.02), 0.1)
        assert len(pairs.here) == len(pairs.there) == FIRST_LOOK
        assert pairs.found().ratio == pytest.approx(seconds / 0.01, rel=0.03)


def test_doubtful_cases_get_more_pairs() -> None:
    assert len(paired(Made("A", [], 0.011, 0.1), Made("B", [], 0.01, 0.1), 0.1).here) == MOST


def test_a_favoured_turn_does_not_matter() -> None:
    """Who comes second in a pair takes a third longer: the four rounds of a turn even that out."""
    turns: list[str] = []

    def side(name: str):
        def steps(count: int) -> list[float]:
            turns.append(name)
            second = len(turns) > 2 and len(turns) % 2 == 0
            return [0.1 * (1.35 if second else 1.0)] * count

        return steps

    found = paired(side("A"), side("B"), 0.1).found()
    assert (found.ratio, found.low, found.high) == pytest.approx((1.0, 1.0, 1.0))


def test_the_budget_ends_it() -> None:
    with pytest.raises(TooFewPairs, match="used up after 0 pairs, at least 12 are needed"):
        paired(Made("A", [], 0.01), Made("B", [], 0.01), 0.1, deadline=time.monotonic() - 1)
