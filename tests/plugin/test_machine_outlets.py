"""The same verdicts for every machine: complete with workers, and after one of them has died."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from .conftest import Project, ReadJson

TESTS = """
    import os
    import pytest
    from pytest_trainhealth import Training

    @pytest.mark.trainhealth(checks="overfits_one_batch gradients_flow trains_without_nan")
    def test_sick():
        return Training(overfits_one_batch="failed", gradients_flow="failed", trains_without_nan="could not judge")

    @pytest.mark.gradients_flow
    def test_dies():
        if "DIE" in os.environ:
            os._exit(3)
        return Training()
"""
FILES = ("--trainhealth-json=out.json", "--trainhealth-sarif=out.sarif", "--trainhealth-code-quality=quality.json")


@pytest.fixture
def ci(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.path))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "summary.md"))
    (project.path / "summary.md").write_text("what another step wrote\n")
    project.makepyfile(test_it=TESTS)
    return project


def read(path: Path) -> object:
    return json.loads(path.read_text())


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_all_outlets_tell_the_same(ci: Project, read_json: ReadJson, workers: str) -> None:
    result = ci.runpytest("--trainhealth", *FILES, "--junitxml=junit.xml", workers)
    assert len(read_json()["verdicts"]) == 4
    (run,) = read(ci.path / "out.sarif")["runs"]  # type: ignore[index]
    (found,) = run["results"]
    assert found["ruleId"] == "parameters-not-in-optimizer"
    assert len(found["properties"]["tests"]) == 2
    place = found["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("test_it.py", 5)
    assert run["invocations"][0]["executionSuccessful"] is True
    (entry,) = read(ci.path / "quality.json")  # type: ignore[misc]
    assert entry["location"] == {"path": "test_it.py", "lines": {"begin": 5}}
    (line,) = [line for line in result.outlines if line.startswith("::")]
    assert line.startswith("::error file=test_it.py,line=5,title=parameters-not-in-optimizer%3A ")
    summary = (ci.path / "summary.md").read_text()
    assert summary.startswith("what another step wrote\n### Training health\n")
    assert summary.count("| failed |") == 2
    cases = {case.get("name"): case for case in ElementTree.parse(ci.path / "junit.xml").iter("testcase")}
    sick = {p.get("name"): p.get("value") for p in cases["test_sick[gradients_flow]"].iter("property")}
    assert sick["trainhealth_cause"] == "parameters-not-in-optimizer"
    assert (sick["trainhealth_outcome"], sick["trainhealth_certainty"]) == ("failed", "confirmed")
    unjudged = {p.get("name"): p.get("value") for p in cases["test_sick[trains_without_nan]"].iter("property")}
    assert unjudged["trainhealth_reason"] == "the data is too small"


def test_a_worker_that_died_is_told_and_takes_nothing_with_it(ci: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIE", "1")
    ci.runpytest("--trainhealth", *FILES, "-n2")
    (run,) = read(ci.path / "out.sarif")["runs"]  # type: ignore[index]
    assert len(run["results"]) == 1
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "| worker died |" in (ci.path / "summary.md").read_text()


def test_expected_failures_are_in_the_table_only(ci: Project, read_json: ReadJson) -> None:
    ci.makepyfile(
        test_it=TESTS.replace("    @pytest.mark.trainhealth", "    @pytest.mark.xfail\n    @pytest.mark.trainhealth")
    )
    result = ci.runpytest("--trainhealth", *FILES)
    assert not [line for line in result.outlines if line.startswith("::")]
    assert read(ci.path / "quality.json") == []
    assert [verdict["expected"] for verdict in read_json()["verdicts"]] == [True, True, False, False]
    assert "| failed (expected) |" in (ci.path / "summary.md").read_text()


def test_a_summary_that_cannot_be_written_is_one_line(ci: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    ci.makepyfile(test_it=TESTS.replace('"failed"', '"passed"'))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(ci.path))
    result = ci.runpytest("--trainhealth")
    assert f"GITHUB_STEP_SUMMARY: cannot write {ci.path}: Is a directory" in result.outlines
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("turned_off", ["by the ini file", "elsewhere than on GitHub"])
def test_github_is_told_nothing(ci: Project, monkeypatch: pytest.MonkeyPatch, turned_off: str) -> None:
    if turned_off == "by the ini file":
        ci.makeini("[pytest]\ntrainhealth_github = false")
    else:
        monkeypatch.delenv("GITHUB_ACTIONS")
    result = ci.runpytest("--trainhealth")
    assert not [line for line in result.outlines if line.startswith("::")]
    assert (ci.path / "summary.md").read_text() == "what another step wrote\n"
