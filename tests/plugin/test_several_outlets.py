"""One more file of verdicts is a module of `reports/` and a row of the settings; nothing else knows it by name."""

from __future__ import annotations

import pytest

from .conftest import Project, ReadJson

#: Loaded before the plugin declares its options, as if both had always been there.
WITH_A_SECOND_OUTLET = """
import sys, types
from pytest_trainhealth import reports, settings

def write(path, verdicts, *, complete, interrupted):
    if path.name == "full" and verdicts:
        raise OSError("no space left")
    path.write_text(" ".join(verdict["check"] for verdict in verdicts) + (" ." if complete else " ..."))

sys.modules["pytest_trainhealth.reports.names"] = types.SimpleNamespace(write=write)
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
    said = run(second, "--trainhealth", "--trainhealth-names=nowhere/names.txt").stderr.str()
    assert "ERROR: --trainhealth-names: cannot write " in said


def test_one_that_cannot_be_written_does_not_keep_the_other_from_it(second: Project, read_json: ReadJson) -> None:
    result = run(second, "--trainhealth", "--trainhealth-json=out.json", "--trainhealth-names=full")
    assert "no space left" in result.stdout.str() + result.stderr.str()
    assert read_json()["complete"] is True
