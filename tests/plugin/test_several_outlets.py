"""One more file of verdicts is a module of `reports/` and a row of the settings; nothing else knows it by name."""

from __future__ import annotations

import pytest

from .conftest import Project, ReadJson

#: Loaded before the plugin declares its options, as if both had always been there.
WITH_A_SECOND_OUTLET = """
import os, sys, types
from pytest_trainhealth import reports, settings

def text(results):
    if "FULL" in os.environ and results.verdicts:
        raise OSError(28, "No space left on device")
    return " ".join(verdict["check"] for verdict in results.verdicts) + (" ." if results.complete else " ...")

sys.modules["pytest_trainhealth.reports.names"] = types.SimpleNamespace(text=text)
settings.SETTINGS += (settings.Setting("names", str, None, "names of checks", metavar="FILE", report="names"),)
settings.OUTLETS += settings.SETTINGS[-1:]
"""
TEST = """
    import pytest
    from pytest_trainhealth import Training

    @pytest.mark.gradients_flow
    def test_it():
        return Training()
"""


@pytest.fixture
def second(project: Project) -> Project:
    project.makepyfile(second_outlet=WITH_A_SECOND_OUTLET, test_it=TEST)
    project.syspathinsert()
    return project


def run(project: Project, *options: str) -> pytest.RunResult:
    return project.runpytest_subprocess("-p", "second_outlet", *options)


def test_both_are_written(second: Project, read_json: ReadJson) -> None:
    run(second, "--trainhealth", "--trainhealth-json=out.json", "--trainhealth-names=names.txt")
    assert [verdict["check"] for verdict in read_json()["verdicts"]] == ["gradients_flow"]
    assert (second.path / "names.txt").read_text() == "gradients_flow ."


def test_the_same_rules_hold_for_both(second: Project) -> None:
    said = "ERROR: --trainhealth-names: nothing is judged without --trainhealth, so there is nothing to write"
    assert said in run(second, "--trainhealth-names=names.txt").errlines
    said = run(second, "--trainhealth", "--trainhealth-names=test_it.py/names.txt").stderr.str()
    assert "ERROR: --trainhealth-names: cannot write " in said


def test_one_that_cannot_be_written_does_not_keep_the_other_from_it(
    second: Project, read_json: ReadJson, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FULL", "1")
    result = run(second, "--trainhealth", "--trainhealth-json=out.json", "--trainhealth-names=names.txt")
    result.stdout.fnmatch_lines(["--trainhealth-names: cannot write *names.txt: No space left on device"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert read_json()["complete"] is True
