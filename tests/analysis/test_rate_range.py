"""Which rates are tried, and which of them work, on runs that are made up."""

from __future__ import annotations

from collections.abc import Callable

from pytest_trainhealth.analysis.rate_range import Run, factor, next_rate, peak, range_of
from pytest_trainhealth.records.rate_range import RateRange

START = 2.0


def searched(of: Callable[[float], Run], rate: float) -> tuple[RateRange, int]:
    runs: dict[int, Run] = {}
    while (at := next_rate(START, runs)) is not None:
        runs[at] = of(rate * factor(at))
        assert len(runs) < 30
    return range_of(rate, 40, START, runs), len(runs)


def training(rate: float) -> Run:
    """Gets anywhere between 1e-4 and 1e-1, breaks at 10."""
    if rate >= 10:
        return None, float("inf")
    if rate > 0.11:
        return 5.0, 6.0
    return (0.1, START) if rate >= 0.99e-4 else (START - 1e3 * rate, START)


def test_a_rate_in_the_range_is_told_so() -> None:
    found, runs = searched(training, 1e-3)
    assert found.works
    assert runs <= 9
    assert found.words == "your rate 0.001 lies in the range that works, 0.0001 to 0.1"


def test_how_far_above_is_told() -> None:
    found, _ = searched(training, 1.0)
    assert not found.works
    assert found.words == "your rate 1 lies 10 x above the range that works, 0.0001 to 0.1"


def test_how_far_below_is_told() -> None:
    found, _ = searched(training, 1e-6)
    assert found.words == "your rate 1e-06 lies 100 x below the range that works, 0.0001 to 0.1"


def test_a_rate_that_breaks_at_once() -> None:
    found, _ = searched(training, 1000.0)
    assert 0.09 <= (found.high or 0.0) <= 0.11


def test_half_powers_of_ten_sharpen_the_ends() -> None:
    found, _ = searched(lambda rate: (0.1, START) if 3e-4 < rate < 4e-2 else (START, START), 1e-2)
    assert (f"{found.low:.3g}", f"{found.high:.3g}") == ("0.001", "0.03")


def test_a_loss_that_leaps_first_does_not_work_wherever_it_ends() -> None:
    found, _ = searched(lambda rate: (0.0, 50.0 if rate > 0.5 else START) if rate > 1e-3 else (START, START), 0.1)
    assert 0.1 <= (found.high or 0.0) < 0.5


def test_where_no_rate_gets_anywhere_there_is_no_range() -> None:
    found, _ = searched(lambda rate: (START, START), 0.1)
    assert (found.low, found.works) == (None, False)
    assert "gets anywhere in 40 steps" in found.words


def test_negative_losses_have_a_way_down_too() -> None:
    stays: Run = (-1.0, -1.0)
    found = range_of(0.1, 40, -1.0, {-2: stays, -1: (-4.0, -1.0), 0: (-5.0, -1.0), 1: stays, 2: (None, float("inf"))})
    assert (found.works, f"{found.low:.3g}") == (True, "0.03")


def test_the_curve_marks_the_rate_of_the_training() -> None:
    found, _ = searched(training, 1.0)
    lines = found.curve.splitlines()
    assert len(lines) == len(found.points)
    assert [line for line in lines if line.endswith("<- your rate")] == [lines[-1]]
    assert "not finite" in searched(training, 1000.0)[0].curve
    assert "##############################" in found.curve
    assert str(found).startswith("your rate 1 lies 10 x above the range that works, 0.0001 to 0.1 (40 steps each)\n")


def test_one_odd_batch_is_no_leap() -> None:
    assert peak([2.0, 1.9, 30.0, 1.8, 1.7, 1.6, 1.5]) < 2.0
    assert peak([3.0]) == 3.0
