"""The course of a loss as one line of ASCII."""

from __future__ import annotations

import math

from pytest_trainhealth.reports.sparkline import sparkline, thinned


def test_falls() -> None:
    assert sparkline([4.0, 3.0, 2.0, 1.0, 0.0]) == "4.000 ^*-._ 0.000"


def test_a_long_one_is_thinned_out() -> None:
    drawn = sparkline([float(100 - step) for step in range(100)])
    assert drawn.startswith("100 ^")
    assert drawn.endswith("_ 1.000")
    assert len(drawn) < 50
    assert drawn.isascii()


def test_flat_is_flat_and_what_is_not_finite_is_marked() -> None:
    assert sparkline([2.0, 2.0, 2.0]) == "2.000 --- 2.000"
    assert sparkline([2.0, 1.0, math.nan]) == "2.000 ^_! nan"
    assert sparkline([math.inf, math.nan]) == "inf !! nan"


def test_one_value_has_no_course() -> None:
    assert sparkline([1.0]) == sparkline([]) == ""


def test_first_and_last_are_kept() -> None:
    kept = thinned(range(1000))
    assert len(kept) == 32
    assert (kept[0], kept[-1]) == (0, 999)
