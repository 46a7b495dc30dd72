"""What is told besides the ratio; and how the comparison's outcome becomes the check's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_trainhealth.analysis.comparison import judge_comparison
from pytest_trainhealth.causes import cause
from pytest_trainhealth.records.comparison import Comparison, OperatorTime
from pytest_trainhealth.records.judgement import CouldNotJudge, Passed
from pytest_trainhealth.records.symptoms import PERFORMANCE
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom
from pytest_trainhealth.revisions.differences import grown_operators, of_files, of_losses, of_memorising

SLOWER = Comparison(
    "origin/main", "slower", 0.1, "", 1.21, 1.17, 1.25, 40, 7, 0.0121, 0.01,
    ("losses differ from step 3 on: 2.310 vs 2.350 at origin/main",), (OperatorTime("aten::mm", 4.0, 2.0),),
)  # fmt: skip


def test_losses() -> None:
    current = [2.31, 2.2, 2.1]
    assert of_losses(current, current, [2.31, 2.2, 2.15], "main") == [
        "losses differ from step 2 on: 2.100 vs 2.150 at main"
    ]
    assert of_losses(current, current, [x * (1 + 1e-5) for x in current], "main") == []
    assert of_losses([1.0, float("nan")], [1.0, float("nan")], [1.0, float("nan")], "main") == []
    assert of_losses([1.0, 2.0], [1.0, 2.0], [1.0, float("inf")], "main") != []


def test_losses_that_are_never_the_same_say_nothing() -> None:
    assert of_losses([2.31, 2.2], [2.31, 2.4], [2.31, 2.9], "main") == []


def test_memorising() -> None:
    assert of_memorising(60, 30, "main") == ["memorises one batch in 60 steps, in 30 at main"]
    assert of_memorising(33, 30, "main") == of_memorising(None, 30, "main") == []


def test_files() -> None:
    assert of_files(0, [], "main") == []
    assert of_files(3, ["uv.lock"], "main") == [
        "compared with uncommitted changes in 3 files",
        "uv.lock differ from main: both sides ran with what is installed now",
    ]


def test_operators() -> None:
    current = {
        "aten::mm": 4.0,
        "aten::add": 1.01,
        "aten::new": 0.5,
        "aten::faster": 0.1,
        "autograd::engine::x": 9.0,
        "Optimizer.step#SGD.step": 5.0,
    }
    current["Optimizer.step#SGD.step"] = 5.0  # as the engine: calls operators, and is none
    current["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"] = 9.0
    other = {"aten::mm": 2.0, "aten::add": 1.0, "aten::faster": 3.0}
    interrupted = {**current, "aten::add": 50.0}
    found = grown_operators([current, interrupted, interrupted], [other, other, other])
    assert found == (OperatorTime("aten::mm", 4.0, 2.0), OperatorTime("aten::new", 0.5, 0.0))


def test_an_operator_has_to_grow_by_a_fifth_of_itself() -> None:
    """One that nobody had touched, and that takes most of the step, had grown by 3 % of the step."""
    current, other = {"aten::mm": 0.931, "aten::sin": 2.0}, {"aten::mm": 0.815, "aten::sin": 0.5}
    assert [row.name for row in grown_operators([current], [other])] == ["aten::sin"]


PASSED = Passed((), {"step_seconds": 0.011})


def test_slower_is_a_symptom() -> None:
    symptom = judge_comparison(SLOWER, PASSED)
    assert isinstance(symptom, Symptom)
    assert symptom.category == PERFORMANCE
    assert (symptom.measured, symptom.limit) == (1.21, 1.1)
    assert symptom.headline == "1.21 x the time of origin/main [1.17, 1.25]"


def test_not_slower_is_a_note() -> None:
    passed = judge_comparison(replace(SLOWER, outcome="not slower", ratio=1.01, low=0.98, high=1.04), PASSED)
    assert isinstance(passed, Passed)
    assert passed.notes == ("1.01 x the time of origin/main [0.98, 1.04]",)
    assert passed.figures["against_ratio"] == 1.01
    assert passed.figures["against_pairs"] == 40


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"outcome": "too wide", "low": 0.9, "high": 1.4},
            "too noisy to tell whether it is slower than origin/main by more than 10 %: "
            "1.21 x [0.90, 1.40] after 40 pairs",
        ),
        (
            {"outcome": "could not compare", "reason": "git is not installed", "pairs": 0},
            "not compared with origin/main: git is not installed",
        ),
    ],
)
def test_what_could_not_be_judged(changes: dict[str, object], reason: str) -> None:
    unjudged = judge_comparison(replace(SLOWER, **changes), PASSED)
    assert isinstance(unjudged, CouldNotJudge)
    assert unjudged.reason == reason


def test_the_cause() -> None:
    symptom = judge_comparison(SLOWER, PASSED)
    assert isinstance(symptom, Symptom)
    trace = Trace.of([1.0] * 20)
    trace.comparison = SLOWER
    suspicion = cause("throughput-regression").look(trace, symptom)
    assert suspicion is not None
    assert not suspicion.cures
    assert suspicion.statement == "a step takes 1.21 x the time of origin/main [1.17, 1.25]"
    assert [e.text for e in suspicion.evidence] == [
        "operators that grew, own time in a step: aten::mm 2 -> 4 ms",
        "12.1 ms a step, 10 ms at origin/main (40 pairs of rounds of 7 steps)",
        "99 % confidence interval 1.17 to 1.25 times the time",
    ]
    trace.comparison = replace(SLOWER, wait_current=0.0053, wait_other=0.0021)
    suspicion = cause("throughput-regression").look(trace, symptom)
    assert suspicion is not None
    assert suspicion.evidence[0].text == "waiting for data 2.1 -> 5.3 ms a step"
    for other in (None, replace(SLOWER, outcome="not slower"), replace(SLOWER, outcome="too wide")):
        trace.comparison = other
        assert cause("throughput-regression").look(trace, symptom) is None
