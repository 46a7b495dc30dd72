"""`print(diagnose(...))`: how every check went, then one chart for every cause."""

from __future__ import annotations

from dataclasses import replace

from pytest_trainhealth.records.verdict import Report, Verdict
from pytest_trainhealth.reports.text import verdict_text

from .made_up import HEAD, VERDICTS, WHOLE

HEALTHY = Verdict("trains_without_nan", "Classifier", "passed", seconds=0.9)


def test_a_healthy_training_is_short() -> None:
    assert str(Report("Classifier", (HEALTHY,))) == "Classifier: 1 passed\n\n  trains_without_nan  passed    0.9 s"


def test_a_cause_is_told_once_by_the_surest_check() -> None:
    only_if_confirmed = replace(
        WHOLE, check="gradients_flow", findings=(replace(HEAD, certainty="likely"),), seconds=0.4
    )
    text = str(Report("Classifier", (only_if_confirmed, WHOLE, HEALTHY)))
    table, _, chart = text.partition("\n\nparameters-not-in-optimizer")
    assert table.splitlines() == [
        "Classifier: 2 failed, 1 passed",
        "",
        "  gradients_flow      failed  parameters-not-in-optimizer (likely)     0.4 s",
        "  overfits_one_batch  failed  parameters-not-in-optimizer (confirmed)  2.1 s",
        "  trains_without_nan  passed                                           0.9 s",
    ]
    assert f"parameters-not-in-optimizer{chart}" == f"{verdict_text(WHOLE)}\n  same in   gradients_flow"


def test_what_could_not_be_judged_is_said() -> None:
    text = str(Report("Classifier", (VERDICTS["could_not_judge"],)))
    assert text.splitlines() == [
        "Classifier: 1 could not judge",
        "",
        "  overfits_one_batch  not judged  the time budget of 300 s is used up  0.0 s",
    ]


def test_long_reasons_and_notes_stand_below_the_table() -> None:
    why = "there are no data (data=None): what the step learns from changes with what it does, and its loss with it"
    noted = replace(HEALTHY, notes=("the step keeps state",))
    text = str(Report("Agent", (replace(VERDICTS["could_not_judge"], reason=why), noted)))
    assert text.splitlines() == [
        "Agent: 1 passed, 1 could not judge",
        "",
        "  overfits_one_batch  not judged  (see below)  0.0 s",
        "  trains_without_nan  passed                   0.9 s",
        "  not judged: there are no data (data=None): what the step learns from changes with what it does,",
        "    and its loss with it (overfits_one_batch)",
        "  note: the step keeps state (trains_without_nan)",
    ]


def test_failures_without_a_cause_are_all_shown() -> None:
    unknown = VERDICTS["no_cause"]
    text = str(Report("Classifier", (unknown, replace(unknown, check="gradients_flow"))))
    assert "overfits_one_batch: loss stuck" in text
    assert "gradients_flow: loss stuck" in text
