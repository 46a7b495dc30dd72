"""The summary's lines on speed."""

from __future__ import annotations

from pytest_trainhealth.records.verdict import Verdict
from pytest_trainhealth.reports.speed_bar import speed_lines

KNOWN = {"step_seconds": 0.01, "samples_per_second": 1600.0, "forward_ms": 4.0, "backward_ms": 6.0}


def test_one_line_for_each_training() -> None:
    verdict = Verdict("keeps_throughput", "test_it", "passed", figures=KNOWN)
    assert list(speed_lines([("test_it", verdict)])) == [
        "test_it   1,600 samples/s   10 ms a step   |ffffffffffbbbbbbbbbbbbbb|  forward 40 %, backward 60 %"
    ]


def test_what_one_run_of_two_showed_is_told() -> None:
    """Else a test passes beside a bar that shows what it is to fail for."""
    notes = ("in one of two runs: 66 % of a step is waiting for data",)
    verdict = Verdict("keeps_throughput", "test_it", "passed", figures=KNOWN, notes=notes)
    assert list(speed_lines([("test_it", verdict)]))[1:] == [
        "          in one of two runs: 66 % of a step is waiting for data"
    ]


def test_a_comparison_that_passed_is_told() -> None:
    """It is what was asked for, and nothing else on the screen says it."""
    notes = ("0.78 x the time of HEAD [0.76, 0.79]", "timed with one thread")
    verdict = Verdict("keeps_throughput", "test_it", "passed", figures={**KNOWN, "against_ratio": 0.78}, notes=notes)
    assert list(speed_lines([("test_it", verdict)]))[1:] == [f"          {note}" for note in notes]
