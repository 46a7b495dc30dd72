"""One chart for each cause of a training, whatever the order in which verdicts arrive."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from pytest_trainhealth.records.verdict import Place, Verdict
from pytest_trainhealth.reports.one_chart import Chart, one_chart_each

from .made_up import HEAD, SLOW, VERDICTS, WHOLE

FIRST = replace(WHOLE, check="overfits_one_batch")
SECOND = replace(WHOLE, check="gradients_flow")
THIRD = replace(WHOLE, check="trains_without_nan", findings=(replace(HEAD, certainty="likely"),))


def test_the_check_that_is_listed_first_gets_it_in_any_order() -> None:
    for order in permutations([FIRST, SECOND, THIRD]):
        (chart,) = one_chart_each([("test", verdict) for verdict in order])
        assert order[chart.shown] is FIRST
        assert len(chart.pointing) == 2


def test_the_surest_gets_it() -> None:
    unsure = replace(FIRST, findings=(replace(HEAD, certainty="possible"),))
    assert one_chart_each([("test", unsure), ("test", SECOND)]) == [Chart(1, (0,))]


def test_another_training_has_its_own() -> None:
    assert one_chart_each([("a", FIRST), ("b", SECOND)]) == [Chart(0), Chart(1)]


def test_another_cause_has_its_own() -> None:
    assert one_chart_each([("a", FIRST), ("a", replace(SECOND, findings=(SLOW,)))]) == [Chart(0), Chart(1)]


def test_the_same_cause_at_another_line_has_its_own() -> None:
    elsewhere = replace(SECOND, findings=(replace(HEAD, places=(Place("train.py", 99, "x = 1"),)),))
    assert one_chart_each([("a", FIRST), ("a", elsewhere)]) == [Chart(0), Chart(1)]


def test_without_a_cause_every_check_has_its_own() -> None:
    unknown = VERDICTS["no_cause"]
    assert len(one_chart_each([("a", unknown), ("a", replace(unknown, check="gradients_flow"))])) == 2


def test_what_did_not_fail_has_none() -> None:
    passed = Verdict("gradients_flow", "test", "passed")
    assert one_chart_each([("a", passed), ("a", VERDICTS["could_not_judge"])]) == []
