"""`--trainhealth-explain NAME` prints a page and stops."""

from __future__ import annotations

import pytest

from pytest_trainhealth.causes import SECTIONS

from .conftest import Project


@pytest.mark.parametrize("name", ["lr-too-high", "overfits_one_batch", "not-learning"])
def test_causes_checks_and_symptoms_have_pages(project: Project, name: str) -> None:
    result = project.runpytest("--trainhealth-explain", name)
    assert result.ret == 0
    assert result.outlines[0].startswith(f"{name}: ")


def test_the_page_of_a_cause_is_whole(project: Project) -> None:
    result = project.runpytest("--trainhealth-explain=lr-too-high")
    result.stdout.fnmatch_lines(list(SECTIONS))


def test_a_symptom_lists_its_causes(project: Project) -> None:
    result = project.runpytest("--trainhealth-explain=plateau")
    result.stdout.fnmatch_lines(["What to ask", "Causes that are looked for, in this order", "    lr-too-high: *"])


def test_a_symptom_leads_further_than_a_list(project: Project) -> None:
    result = project.runpytest("--trainhealth-explain=plateau")
    result.stdout.fnmatch_lines(
        [
            "What to look at first",
            "How to tell its causes apart",
            "    a straight line that never bends",
            "        -> *",
        ]
    )


def test_underscores_and_hyphens_are_the_same(project: Project) -> None:
    assert project.runpytest("--trainhealth-explain=lr_too_high").ret == 0
    assert project.runpytest("--trainhealth-explain=gradients-flow").ret == 0


def test_no_test_is_run(project: Project) -> None:
    project.makepyfile("def test_it(): raise SystemExit(3)")
    result = project.runpytest("--trainhealth-explain=lr-too-high", "-p", "no:terminal")
    assert result.ret == 0


def test_an_unknown_name_shows_near_ones(project: Project) -> None:
    result = project.runpytest("--trainhealth-explain=lr-to-high")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert [line for line in result.errlines if line] == [
        "ERROR: --trainhealth-explain: there is no cause, check or symptom 'lr-to-high'. "
        "Did you mean lr-too-high or lr-too-low?"
    ]
