"""Notes and reasons: each sentence once, with the checks that it is about."""

from __future__ import annotations

from dataclasses import replace

from pytest_trainhealth.records.verdict import Verdict
from pytest_trainhealth.reports.remarks import notes, reasons, remark_lines, short_reason

from .made_up import VERDICTS

WHY = "the labels look like noise, and no training can learn noise from other batches"
UNJUDGED = replace(VERDICTS["could_not_judge"], reason=WHY)
NOTED = Verdict("gradients_flow", "test_a", "passed", notes=("the step keeps state: re-runs start from a copy of it",))


def test_a_short_reason_stands_beside_its_check_and_a_long_one_below() -> None:
    assert short_reason(VERDICTS["could_not_judge"]) == VERDICTS["could_not_judge"].reason
    assert reasons([("test_a", VERDICTS["could_not_judge"])]) == {}
    assert short_reason(UNJUDGED) == "(see below)"
    assert reasons([("test_a", UNJUDGED)]) == {WHY: ["test_a[overfits_one_batch]"]}


def test_a_sentence_is_told_once() -> None:
    found = notes([("test_a", NOTED), ("test_b", NOTED), ("TestIt::test_c[1]", NOTED)])
    assert list(remark_lines("note", found, width=60)) == [
        "note: the step keeps state: re-runs start from a copy of it",
        "  (test_a[gradients_flow] and 2 more)",
    ]


def test_what_a_chart_or_a_bar_shows_is_not_told_again() -> None:
    assert notes([("test_a", VERDICTS["notes"])]) == {}
    assert notes([("test_a", replace(NOTED, figures={"step_seconds": 0.1}))]) == {}


def test_only_a_handful_unless_all_are_asked_for() -> None:
    found = {f"sentence {number}": ["test_a[gradients_flow]"] for number in range(9)}
    assert list(remark_lines("note", found, width=100))[-1] == "note: 3 others, with -v"
    assert len(list(remark_lines("note", found, width=100, all_of_them=True))) == 9
