"""The shapes of loss curves, at their limits."""

from __future__ import annotations

import math

import pytest

from pytest_trainhealth.analysis import course, loss_curve
from pytest_trainhealth.records.trace import Trace


def test_a_curve_ends_at_the_median_of_its_last_tenth_and_of_five_at_least() -> None:
    assert loss_curve.level([9.0] * 180 + [1.0] * 11 + [5.0] * 9) == 1.0
    assert loss_curve.level([9.0] * 180 + [1.0] * 9 + [5.0] * 11) == 5.0
    assert loss_curve.level([9.0, 9.0, 1.0, 1.0, 1.0, 9.0, 9.0][:5]) == 1.0
    assert loss_curve.level([9.0] * 20 + [1.0] * 3 + [9.0] * 2) == 1.0
    assert loss_curve.level([9.0] * 20 + [1.0] * 2) == 9.0


def test_half_of_the_other_is_clearly_below() -> None:
    assert loss_curve.clearly_below(0.5, 1.0)
    assert not loss_curve.clearly_below(0.51, 1.0)
    assert loss_curve.clearly_below(0.67, 1.0, share=0.67)


def test_the_spread_is_the_median_jump_of_the_last_half() -> None:
    assert loss_curve.spread([0.0, 9.0, 0.0, 9.0, 1.0, 2.0, 1.0, 3.0]) == 1.0
    assert loss_curve.spread([1.0]) == 0.0


def eighths(*levels: float, length: int = 4) -> list[float]:
    return [level for level in levels for _ in range(length)]


@pytest.mark.parametrize(
    ("losses", "floor", "falls"),
    [
        (eighths(2, 1, 1, 1, 1, 1, 0.521, 0.5), None, False),  # by 2 % of the whole fall, 0.03
        (eighths(2, 1, 1, 1, 1, 1, 0.531, 0.5), None, True),
        (eighths(2, 1, 1, 1, 1, 1, 0.511, 0.5), 0.0, True),  # by 2 % of what is left
        (eighths(2, 1, 1, 1, 1, 1, 0.5099, 0.5), 0.0, False),
        (eighths(2, 1, 1, 1, 1, 1, 0.511, 0.5), -0.2, False),
        (eighths(2, 3, 3, 3, 3, 3, 3, 2.5), None, False),  # above where it started
        (eighths(2, 2, 2, 2, 2, 2, 2, 2, length=3), None, False),
        (eighths(2, 2, 2, 2, 2, 2, 2, 2, length=2), None, True),  # too short to tell
    ],
)
def test_it_is_still_falling(losses: list[float], floor: float | None, falls: bool) -> None:
    assert loss_curve.still_falling(losses, floor) is falls


@pytest.mark.parametrize(
    ("losses", "straight"),
    [
        ([2.0 - 0.01 * step for step in range(100)], True),
        ([2.0, 2.0, 2.0, 1.9, 1.8, 1.7, 1.2, 1.1, 1.0, 0.9], True),
        ([2.0, 2.0, 2.0, 1.9, 1.8, 1.7, 1.2, 1.1, 1.0], False),  # too short
        ([2.0 * 0.95**step for step in range(100)], False),
        ([2.0 + 0.01 * step for step in range(100)], False),
        ([2.0] * 20 + [1.0] * 20 + [0.31] * 10, True),
        ([2.0] * 20 + [1.0] * 20 + [0.35] * 10, False),
        ([1.0] * 20 + [1.0] * 20 + [0.35] * 10, False),
        ([2.0] * 20 + [1.0] * 20 + [1.0] * 10, False),
    ],
)
def test_a_creep_is_a_straight_line(losses: list[float], straight: bool) -> None:
    assert loss_curve.is_straight(losses) is straight


@pytest.mark.parametrize(
    ("losses", "found"),
    [
        ([1.0, 1.3] * 20, True),
        ([1.0, 1.3] * 8, True),
        ([1.0, 1.3] * 7, False),  # too few to tell
        ([1.0, 1.2] * 20, False),  # 0.2 of a level of 1.1
        ([1.0, 1.25] * 20, True),
        ([1.5**step for step in range(40)], False),  # it turns never
        ([1.0] * 20 + [1.0, 1.3] * 10, True),
        ([1.0, 1.3] * 10 + [1.0] * 20, False),
        ([-1.0, -1.3] * 20, True),
        ([1.0, 1.3] * 20 + [math.nan], True),
        ([0.0] * 40, False),
        ([0.0, 1e-9] * 20, True),
    ],
)
def test_up_and_down_by_a_fifth_is_an_oscillation(losses: list[float], found: bool) -> None:
    assert loss_curve.oscillates(losses) is found


def turning(period: int) -> list[float]:
    """Up and down by half, turning every `period` steps."""
    values, value = [], 10.0
    for step in range(80):
        value += 5.0 if (step // period) % 2 == 0 else -5.0
        values.append(value)
    return values


def test_what_turns_seldom_does_not_oscillate() -> None:
    assert loss_curve.oscillates(turning(2))
    assert loss_curve.oscillates(turning(3))
    assert not loss_curve.oscillates(turning(4))


@pytest.mark.parametrize(
    ("quarters", "stays"),
    [
        ((4.0, 1.0, 1.0, 1.0), True),
        ((4.0, 1.0, 1.0, 0.81), True),
        ((4.0, 1.0, 1.0, 0.79), False),
        ((4.0, 1.0, 0.71, 0.7), True),
        ((4.0, 1.0, 0.69, 0.69), False),
        ((4.0, 1.9, 1.9, 1.9), True),
        ((4.0, 2.1, 2.1, 2.1), False),
        ((-4.0, -5.0, -5.0, -5.0), False),
        ((4.0, 1.0, 1.0, math.inf), False),
    ],
)
def test_it_fell_and_stays(quarters: tuple[float, ...], stays: bool) -> None:
    assert loss_curve.stays(eighths(*quarters, length=5)) is stays
    assert not loss_curve.stays(eighths(*quarters))


@pytest.mark.parametrize(("jump", "found"), [(0.11, True), (0.09, False)])
def test_it_stays_and_bounces_by_a_tenth(jump: float, found: bool) -> None:
    assert loss_curve.bounces([4.0] * 10 + [1.0 + jump, 1.0, 1.0 - jump] * 10) is found
    assert not loss_curve.bounces([4.0] * 10 + [3.0 + jump, 3.0, 3.0 - jump] * 10)


# -- over several batches -----------------------------------------------------------------------------------------


def test_the_end_over_several_batches_is_the_middle_of_the_last_third() -> None:
    assert course.end(Trace.of([9.0] * 20 + [1.0] * 6 + [3.0] * 4)) == 1.0
    assert course.end(Trace.of([9.0] * 5 + [1.0] * 3)) == 1.0
    single = Trace.of([9.0] * 20 + [1.0] * 6 + [3.0] * 4)
    single.batch_size = 1
    assert course.end(single) == pytest.approx(1.8)


@pytest.mark.parametrize(("last", "left"), [(1.0, 0.5), (2.0, 1.0), (0.0, 0.0)])
def test_how_much_of_the_way_is_left(last: float, left: float) -> None:
    assert course.way_left(Trace.of([2.0] + [last] * 29)) == left


def test_without_a_known_floor_a_loss_below_zero_has_no_way() -> None:
    assert course.way_left(Trace.of([-1.0] + [-2.0] * 29)) == 1.0
    assert course.way_left(Trace.of([0.0] + [-2.0] * 29)) == 1.0


@pytest.mark.parametrize(("last", "falls"), [(0.94, True), (0.96, False)])
def test_large_steps_that_go_the_right_way(last: float, falls: bool) -> None:
    assert course.falls_on([2.0] * 20 + [1.0] * 10 + [last] * 10) is falls
    assert course.falls_on([-2.0] * 20 + [-1.0] * 10 + [-2 + last] * 10) is falls


@pytest.mark.parametrize(
    ("first", "last", "grows"), [(1.0, 1.21, True), (1.0, 1.19, False), (-1.0, -0.79, True), (-1.0, -0.81, False)]
)
def test_a_loss_that_grows_by_a_fifth(first: float, last: float, grows: bool) -> None:
    assert course.grows(Trace.of([first] + [last] * 29)) is grows
