"""A wrong setting ends the run before it starts, in one line that says what was given, where, and what is possible."""

from __future__ import annotations

import pytest

from .conftest import Project


def complaint(result: pytest.RunResult) -> str:
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line.strip()]
    return line


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--trainhealth-seed=abc", "ERROR: --trainhealth-seed: 'abc' is not a whole number"),
        ("--trainhealth-seed=-1", "ERROR: --trainhealth-seed: '-1' is too small, at least 0 is needed"),
        (
            "--trainhealth-json=tests/test_it.py",
            "ERROR: --trainhealth-json: tests/test_it.py is a Python file, and would be overwritten",
        ),
        ("--trainhealth-budget=soon", "ERROR: --trainhealth-budget: 'soon' is not a number"),
        (
            "--trainhealth-checks=overfit_one_batch",
            "ERROR: --trainhealth-checks: there is no check 'overfit_one_batch'. Did you mean overfits_one_batch?",
        ),
        (
            "--trainhealth-checks=,",
            "ERROR: --trainhealth-checks: names no check. Possible: overfits_one_batch, gradients_flow, "
            "trains_without_nan, uses_its_input, learns_from_data, data_is_healthy, generalizes, keeps_throughput, "
            "is_reproducible, resumes_exactly, keeps_precision, accumulates_exactly, evaluates_cleanly, ranks_agree, "
            "history_is_healthy, matches_baseline, improves_on",
        ),
    ],
)
def test_on_the_command_line(project: Project, option: str, said: str) -> None:
    assert complaint(project.runpytest("--trainhealth", option)) == said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("trainhealth_seed = -3", "ERROR: tox.ini: trainhealth_seed: -3 is too small, at least 0 is needed"),
        (
            "trainhealth_checks = gradient_flow",
            "ERROR: tox.ini: there is no check 'gradient_flow'. Did you mean gradients_flow?",
        ),
    ],
)
def test_in_the_ini_file(project: Project, line: str, said: str) -> None:
    project.makeini(f"[pytest]\n{line}")
    assert complaint(project.runpytest()) == said


def test_wrong_type_in_the_ini_file(project: Project) -> None:
    project.makeini("[pytest]\ntrainhealth_seed = abc")
    said = complaint(project.runpytest())
    assert said.startswith("ERROR: tox.ini: trainhealth_seed: ")
    assert "'abc'" in said


def test_override_on_the_command_line_is_named(project: Project) -> None:
    said = complaint(project.runpytest("-o", "trainhealth_budget=0"))
    assert said == "ERROR: -o trainhealth_budget: 0.0 is too small, at least 0.1 is needed"


def test_json_without_anything_to_write(project: Project) -> None:
    said = complaint(project.runpytest("--trainhealth-json=out.json"))
    assert said == "ERROR: --trainhealth-json: nothing is judged without --trainhealth, so there is nothing to write"


def test_json_that_cannot_be_written(project: Project) -> None:
    project.makefile(".txt", in_the_way="")
    said = complaint(project.runpytest("--trainhealth", "--trainhealth-json=in_the_way.txt/out.json"))
    assert said.startswith("ERROR: --trainhealth-json: cannot write ")


def test_json_that_is_a_folder(project: Project) -> None:
    project.mkdir("folder")
    said = complaint(project.runpytest("--trainhealth", "--trainhealth-json=folder"))
    assert said.startswith("ERROR: --trainhealth-json: cannot write ")
    assert said.endswith("Is a directory")


def test_also_under_xdist(project: Project) -> None:
    assert complaint(project.runpytest("-n2", "--trainhealth", "--trainhealth-steps=0")) == (
        "ERROR: --trainhealth-steps: '0' is too small, at least 1 is needed"
    )
