"""One headline everywhere; the chart whole where there is room for it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from .conftest import Project

HEADLINE = "parameters-not-in-optimizer: the optimizer never updates head.weight and head.bias"
CHART = [
    HEADLINE,
    "",
    "  symptom   loss 2.303 -> 2.303 in 200 steps (has to fall below 0.230)",
    "  cause     confirmed: head was replaced after the optimizer was made",
    "  more      pytest --trainhealth-explain parameters-not-in-optimizer",
]


@pytest.fixture
def broken(project: Project) -> Project:
    project.makepyfile(
        test_it="""
        import pytest
        from pytest_trainhealth import Training

        @pytest.mark.overfits_one_batch
        def test_finetune():
            return Training(overfits_one_batch="failed")
    """
    )
    return project


STYLES = ["auto", "long", "short", "native"]
if pytest.version_tuple >= (9, 2):  # before, --tb=line was the line of the crash alone
    STYLES.append("line")


@pytest.mark.parametrize("style", STYLES)
def test_the_chart_is_whole_in_every_style(broken: Project, style: str) -> None:
    result = broken.runpytest("--trainhealth", f"--tb={style}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(CHART)
    result.stdout.no_fnmatch_line("*running.py*")
    result.stdout.no_fnmatch_line("*traceback entries are hidden*")


def test_the_bar_names_the_check(broken: Project) -> None:
    broken.runpytest("--trainhealth").stdout.fnmatch_lines(["_* test_finetune[[]overfits_one_batch] _*", HEADLINE])


def test_tb_no_leaves_the_headline(broken: Project) -> None:
    result = broken.runpytest("--trainhealth", "--tb=no")
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_finetune[[]overfits_one_batch] - parameters-not-in-optim*"])
    result.stdout.no_fnmatch_line("  symptom *")


def test_on_ci_the_summary_has_one_line_for_it(broken: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    result = broken.runpytest("--trainhealth")
    assert f"FAILED test_it.py::test_finetune[overfits_one_batch] - {HEADLINE}" in result.outlines
    assert result.outlines.count(HEADLINE) == 1


def test_the_crash_is_at_the_test(broken: Project) -> None:
    broken.runpytest("--trainhealth", "--tb=line").stdout.fnmatch_lines([f"*test_it.py:4: {HEADLINE}"])


def test_junit(broken: Project) -> None:
    broken.runpytest("--trainhealth", "--junitxml=out.xml")
    failure = ElementTree.parse(broken.path / "out.xml").find(".//failure")
    assert failure is not None
    assert failure.get("message") == HEADLINE
    assert (failure.text or "").splitlines()[: len(CHART) - 1] == CHART[:-1]


def test_a_narrow_terminal_wraps_the_chart(broken: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    result = broken.runpytest("--trainhealth")
    result.stdout.fnmatch_lines(
        ["  symptom   loss 2.303 -> 2.303 in 200 steps (has to fall", "            below 0.230)"]
    )


def test_an_error_of_the_users_own_keeps_its_traceback(project: Project) -> None:
    project.makepyfile("""
        import pytest

        @pytest.mark.gradients_flow
        def test_it():
            raise ValueError("no such dataset")
    """)
    result = project.runpytest("--trainhealth")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([">*raise ValueError*", "E*ValueError: no such dataset"])
    result.stdout.no_fnmatch_line("*running.py*")
