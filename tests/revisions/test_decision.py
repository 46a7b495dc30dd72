"""The rule on made-up ratios: what a busy machine does to the same code is no regression."""

from __future__ import annotations

import math
import random

import pytest

from pytest_trainhealth.revisions.decision import Interval, decide, interval, settled

NOISE = {
    "quiet": lambda r: math.exp(r.gauss(0, 0.03)),
    # a fifth of the rounds are interrupted, some for as long as they last
    "loaded": lambda r: math.exp(r.gauss(0, 0.08)) * (1 + (r.uniform(0, 0.6) if r.random() < 0.2 else 0)),
    # Student's t with two degrees of freedom: no variance
    "heavy tails": lambda r: math.exp(0.06 * max(-12, min(12, r.gauss(0, 1) / math.sqrt(r.expovariate(0.5) / 2)))),
}
TIMES = 20


def made_up(slowdown: float, noise: str, seed: int, count: int = 100) -> list[float]:
    own = random.Random(f"{seed} {noise}")
    return [(1 + slowdown) * NOISE[noise](own) / NOISE[noise](own) for _ in range(count)]


def slower(slowdown: float, noise: str) -> int:
    return [decide(interval(made_up(slowdown, noise, seed)), 0.1) for seed in range(TIMES)].count("slower")


@pytest.mark.parametrize("noise", NOISE)
def test_the_same_code_is_never_slower(noise: str) -> None:
    assert slower(0.0, noise) == 0


@pytest.mark.parametrize("noise", NOISE)
def test_three_percent_are_within_the_tolerance(noise: str) -> None:
    assert slower(0.03, noise) == 0


@pytest.mark.parametrize("noise", NOISE)
def test_a_fifth_is_found(noise: str) -> None:
    assert slower(0.2, noise) >= 19


def test_a_machine_that_cannot_tell() -> None:
    own = random.Random(0)
    ratios = [1.2 * math.exp(0.6 * own.gauss(0, 1)) for _ in range(50)]
    assert decide(interval(ratios), 0.1) == "too wide"


@pytest.mark.parametrize(
    ("ratio", "low", "high", "outcome", "enough"),
    [
        (1.00, 0.97, 1.03, "not slower", True),
        (0.50, 0.49, 0.51, "not slower", True),
        (1.08, 1.05, 1.12, "not slower", False),
        (1.20, 1.15, 1.25, "slower", True),
        (1.12, 1.11, 1.13, "slower", True),
        (1.12, 1.09, 1.16, "too wide", False),
        (1.00, 0.85, 1.15, "too wide", False),
        (1.50, 1.11, 1.90, "slower", True),
        (0.70, 0.55, 0.90, "not slower", True),
    ],
)
def test_the_rule(ratio: float, low: float, high: float, outcome: str, enough: bool) -> None:
    found = Interval(ratio, low, high, 30)
    assert decide(found, 0.1) == outcome
    assert settled(found, 0.1) is enough


def test_the_same_ratios_give_the_same_interval() -> None:
    ratios = made_up(0.1, "loaded", 0)
    found = interval(ratios)
    assert found == interval(ratios)
    assert found.low < found.ratio < found.high


def test_twice_as_slow_and_twice_as_fast_are_mirror_images() -> None:
    ratios = made_up(0.3, "quiet", 1, count=15)
    found, mirrored = interval(ratios), interval([1 / ratio for ratio in ratios])
    assert mirrored.ratio == pytest.approx(1 / found.ratio)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 / found.high, 1 / found.low))


@pytest.mark.parametrize(
    ("count", "outside"),
    [(8, 0), (11, 0), (12, 1), (15, 2), (100, 36)],  # the tables of the sign test
)
def test_as_many_are_left_out_as_may_be(count: int, outside: int) -> None:
    found = interval([float(n) for n in range(1, count + 1)])
    assert 1 + outside <= found.low < 2 + outside
    assert count - outside >= found.high > count - outside - 1


@pytest.mark.parametrize(("ratio", "low", "high"), [(1.5, 1.3, 1.7), (3.0, 2.0, 4.0), (1.2, 1.11, 1.6)])
def test_a_wide_interval_beyond_the_tolerance_is_slower_all_the_same(ratio: float, low: float, high: float) -> None:
    found = Interval(ratio, low, high, 40)
    assert decide(found, 0.1) == "slower"
    assert settled(found, 0.1)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_fewer_than_eight_ratios_have_no_interval(count: int) -> None:
    found = interval([1.5] * count)
    assert decide(found, 0.1) == "too wide"
    assert not settled(found, 0.1)


@pytest.mark.parametrize("count", [8, 15])
def test_few_ratios_miss_as_rarely_as_many(count: int) -> None:
    """Of a thousand samples that have no slowdown, ten may say otherwise."""
    found = [interval(made_up(0.0, "heavy tails", seed, count)) for seed in range(1000)]
    assert sum(not each.low <= 1 <= each.high for each in found) <= 16
