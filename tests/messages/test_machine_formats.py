"""SARIF, code quality and GitHub's annotations: one entry for each cause and place, at paths that a server knows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_trainhealth.records.verdict import Place, Symptom, Verdict
from pytest_trainhealth.reports import RunResults, code_quality, json_file, sarif
from pytest_trainhealth.reports.github import annotation_lines, step_summary
from pytest_trainhealth.reports.json_schema import json_schema
from pytest_trainhealth.reports.problems import problems
from pytest_trainhealth.reports.repository_paths import in_repository, repository_root

from .made_up import HEAD, SLOW, WHOLE

ELSEWHERE = replace(WHOLE, check="learns_from_data")
UNEXPLAINED = replace(WHOLE, check="uses_its_input", findings=())
NOT_JUDGED = Verdict("trains_without_nan", "test_finetune", "could not judge", reason="the data is too small")
ERROR = {"nodeid": "tests/test_it.py::test_crash", "outcome": "worker died", "message": "worker gw0 crashed"}


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose tests are run in its folder `project`."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def told(verdict: Verdict, test: str = "test_finetune", **more: Any) -> dict[str, Any]:
    nodeid = f"tests/test_it.py::{test}[{verdict.check}]"
    place = {"file": "tests/test_it.py", "line": 12}
    return {"nodeid": nodeid, "place": place, "expected": False, **verdict.to_json(), **more}


def results(*verdicts: dict[str, Any], **more: Any) -> RunResults:
    return RunResults(**{"complete": True, "interrupted": False, "verdicts": verdicts, **more})


def test_one_cause_at_one_place_is_one_problem_whoever_noticed_it() -> None:
    found = problems([told(WHOLE), told(ELSEWHERE), told(WHOLE, "test_other")])
    assert [(problem.name, problem.file, problem.line) for problem in found] == [
        ("parameters-not-in-optimizer", "project/train.py", 27)
    ]
    assert found[0].related == (("project/train.py", 26, "optimizer = AdamW(trainable, lr=3e-3)"),)
    assert len(found[0].tests) == 3


def test_the_surest_comes_first_and_the_surer_words_are_kept() -> None:
    unsure = replace(WHOLE, findings=(replace(HEAD, certainty="possible", why="perhaps"),))
    other = replace(WHOLE, findings=(replace(SLOW, places=(Place("train.py", 5),)),))
    found = problems([told(other), told(unsure), told(ELSEWHERE)])
    assert [problem.certainty for problem in found] == ["confirmed", "possible"]
    assert "confirmed: head was replaced after the optimizer was made" in found[0].message


def test_where_no_line_is_known_the_test_is_the_place() -> None:
    library = replace(WHOLE, findings=(replace(HEAD, places=(Place("/usr/lib/python3/torch/nn.py", 3),)),))
    for verdict in (UNEXPLAINED, library):
        (found,) = problems([told(verdict)])
        assert (found.file, found.line) == ("project/tests/test_it.py", 12)


def test_what_is_expected_or_did_not_fail_is_no_problem() -> None:
    assert (
        problems([told(WHOLE, expected=True), told(NOT_JUDGED), told(Verdict("uses_its_input", "t", "passed"))]) == []
    )


def test_the_fingerprint_survives_a_line_above() -> None:
    moved = replace(HEAD, places=tuple(replace(place, line=place.line + 40) for place in HEAD.places))
    (one,), (other,) = problems([told(WHOLE)]), problems([told(replace(WHOLE, findings=(moved,)))])
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != problems([told(UNEXPLAINED)])[0].fingerprint


def test_paths_are_told_from_the_root_that_the_server_names(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_repository("train.py") == "project/train.py"
    assert in_repository("/usr/lib/nn.py") is None
    monkeypatch.setenv("CI_PROJECT_DIR", str(repository / "project"))
    assert in_repository("train.py") == "train.py"
    monkeypatch.setenv("GITHUB_WORKSPACE", "/somewhere/else")  # of another container
    assert repository_root() == (repository / "project").resolve()


def test_json_keeps_to_its_published_schema() -> None:
    nan = replace(
        WHOLE, symptom=Symptom("loss nan", "nan", float("nan"), 0.0), figures={"loss": float("inf"), "x": None}
    )
    whole = json.loads(json_file.text(results(told(nan), told(NOT_JUDGED), told(UNEXPLAINED), errors=[ERROR])))
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(whole, schema)
    del whole["verdicts"][0]["findings"][0]["cause"]
    with pytest.raises(jsonschema.ValidationError, match="'cause' is a required property"):
        jsonschema.validate(whole, schema)


def test_sarif_has_a_result_a_rule_with_its_page_and_related_places() -> None:
    (run,) = json.loads(sarif.text(results(told(WHOLE), told(ELSEWHERE), told(UNEXPLAINED))))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["parameters-not-in-optimizer", "uses_its_input"]
    assert "What not to do" in rules[0]["help"]["text"]
    first, second = run["results"]
    assert (rules[first["ruleIndex"]]["id"], first["level"]) == (first["ruleId"], "error")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "project/train.py", "uriBaseId": "SRCROOT"}
    assert place["region"]["startLine"] == 27
    assert first["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 26
    assert first["properties"]["certainty"] == "confirmed"
    assert second["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "project/tests/test_it.py"
    assert run["invocations"][0] == {"executionSuccessful": True, "toolExecutionNotifications": []}


def test_in_sarif_what_was_not_judged_and_who_died_are_notifications() -> None:
    text = sarif.text(results(told(NOT_JUDGED), errors=[ERROR], complete=False, interrupted=True))
    (run,) = json.loads(text)["runs"]
    assert run["results"] == []
    invocation = run["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert [(each["level"], each["message"]["text"]) for each in invocation["toolExecutionNotifications"]] == [
        ("note", "tests/test_it.py::test_finetune[trains_without_nan]: could not judge: the data is too small"),
        ("error", "tests/test_it.py::test_crash: worker died: worker gw0 crashed"),
        ("error", "the run was interrupted"),
    ]


def test_a_path_in_sarif_is_a_uri() -> None:
    strange = replace(WHOLE, findings=(replace(HEAD, places=(Place("my model/tr%in#1.py", 3),)),))
    (run,) = json.loads(sarif.text(results(told(strange))))["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "project/my%20model/tr%25in%231.py"


def test_code_quality_as_gitlab_reads_it() -> None:
    (entry,) = json.loads(code_quality.text(results(told(WHOLE), told(ELSEWHERE), told(NOT_JUDGED))))
    assert entry["description"].startswith("parameters-not-in-optimizer: the optimizer never updates")
    assert (entry["check_name"], entry["severity"]) == ("parameters-not-in-optimizer", "critical")
    assert entry["location"] == {"path": "project/train.py", "lines": {"begin": 27}}


def test_an_annotation_is_one_line_at_the_place_that_is_to_blame() -> None:
    (line,) = annotation_lines([told(WHOLE), told(ELSEWHERE)])
    assert line.startswith("::error file=project/train.py,line=27,title=parameters-not-in-optimizer%3A the optimizer ")
    assert "%0Afix: make the optimizer after" in line
    assert line.endswith("seen by tests/test_it.py::test_finetune[overfits_one_batch] and 1 more")
    assert "\n" not in line


def test_the_words_of_an_annotation_cannot_end_it() -> None:
    sly = replace(HEAD, statement="50 % of a,b:c", places=(Place("a,b:c.py", 3),))
    (line,) = annotation_lines([told(replace(WHOLE, findings=(sly,)))])
    fields, _, message = line.removeprefix("::error ").partition("::")
    assert fields == ("file=project/a%2Cb%3Ac.py,line=3,title=parameters-not-in-optimizer%3A 50 %25 of a%2Cb%3Ac")
    assert message


def test_the_summary_of_a_step_is_a_table_of_what_is_not_well() -> None:
    text = step_summary([told(NOT_JUDGED), told(WHOLE), told(ELSEWHERE, expected=True)], [ERROR], complete=True)
    lines = text.splitlines()
    assert lines[:3] == ["### Training health", "", "2 failed, 1 could not judge in 1 test, 4.2 s"]
    assert lines[6].startswith(
        r"| tests/test\_it.py::test\_finetune\[overfits\_one\_batch\] | failed | parameters-not-in-"
    )
    assert "| train.py:27 | make the optimizer after the last change to the model model.head = nn.Linear" in lines[6]
    assert "| failed (expected) |" in lines[7]
    assert "| could not judge | the data is too small |" in lines[8]
    assert "| worker died | worker gw0 crashed |" in lines[9]


def test_names_cannot_break_the_table_and_it_does_not_grow_without_end() -> None:
    hostile = told(replace(NOT_JUDGED, reason="a | b `c` [d](e) @f"))
    text = step_summary([hostile] * 400, [], complete=False)
    assert r"a \| b \`c\` \[d\](e) \@f" in text
    assert "**The run did not end: not every test has its outcome.**" in text
    assert text.endswith("and 100 more\n\n")


def test_a_healthy_run_is_one_line() -> None:
    text = step_summary([told(Verdict("uses_its_input", "t", "passed", seconds=1.0))], [], complete=True)
    assert text == "### Training health\n\n1 passed in 1 test, 1.0 s\n\n"
