"""Records travel through JSON, and through xdist, unchanged."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, replace

import pytest

from pytest_trainhealth.records.verdict import Evidence, Finding, Report, Symptom, Verdict

from ..messages.made_up import HEAD, SLOW, VERDICTS, WHOLE


@pytest.mark.parametrize("verdict", VERDICTS.values(), ids=VERDICTS)
def test_there_and_back(verdict: Verdict) -> None:
    text = json.dumps(verdict.to_json(), allow_nan=False)
    assert Verdict.from_json(json.loads(text)) == verdict


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_that_json_does_not_know(value: float) -> None:
    symptom = Symptom("loss", "explosion", value, 1.0)
    finding = Finding("lr-too-high", "s", "likely", evidence=(Evidence("e", value),), symptom=symptom)
    verdict = replace(WHOLE, symptom=symptom, findings=(finding,), figures={"loss": value, "none": None})
    back = Verdict.from_json(json.loads(json.dumps(verdict.to_json(), allow_nan=False)))
    assert back.symptom is not None
    assert back.findings[0].symptom is not None
    numbers = [back.symptom.measured, back.findings[0].symptom.measured, back.findings[0].evidence[0].measured]
    assert [str(number) for number in (*numbers, back.figures["loss"])] == [str(value)] * 4
    assert back.figures["none"] is None


def test_only_builtin_types_come_out() -> None:
    class Number(float):
        """As numpy's and torch's scalars are: a number, but none that an xdist worker can send."""

    plain = replace(WHOLE, figures={"loss": Number(2.0)}).to_json()
    kinds = set()
    todo: list[object] = [plain]
    while todo:
        value = todo.pop()
        kinds.add(type(value))
        todo += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    assert kinds <= {dict, list, str, int, float, bool, type(None)}


def test_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        WHOLE.outcome = "passed"  # type: ignore[misc]


def test_findings_of_a_report_best_first_and_each_cause_once() -> None:
    likely = replace(HEAD, certainty="likely")
    report = Report("m", (replace(WHOLE, findings=(SLOW, likely)), replace(WHOLE, findings=(HEAD,))))
    assert [(f.cause, f.certainty) for f in report.findings] == [
        ("parameters-not-in-optimizer", "confirmed"),
        ("lr-too-low", "possible"),
    ]


def test_healthy_needs_a_check_that_could_judge() -> None:
    passed, unclear = VERDICTS["passed"], VERDICTS["could_not_judge"]
    assert Report("m", (passed, unclear)).healthy
    assert not Report("m", (unclear,)).healthy
    assert not Report("m", (passed, WHOLE)).healthy


def test_the_place_to_look_at_first_is_where_the_harm_was_done() -> None:
    assert str(HEAD.location) == "train.py:27"
    assert SLOW.location is None


def test_a_verdict_out_of_a_file_with_its_node_id() -> None:
    data = {"nodeid": "test_x.py::test_x[gradients_flow]", **WHOLE.to_json()}
    assert Verdict.from_json(data) == WHOLE
