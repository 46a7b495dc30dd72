"""What the README tells people to type is what is tested, with nothing around it that they would not have."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parents[2]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
CI = (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8")
WORKFLOWS = sorted((CHECKOUT / ".github" / "workflows").glob("*.yml"))


def typed(text: str) -> set[str]:
    """The lines that make an environment and run something in it."""
    return {line for line in text.splitlines() if line.startswith("python -m venv ")}


def project(file: str) -> dict[str, Any]:
    return tomllib.loads((CHECKOUT / file).read_text(encoding="utf-8"))


def test_the_ci_runs_the_commands_of_the_readme_letter_for_letter() -> None:
    assert len(typed(README)) == 2
    assert typed(CI) == typed(README)


def test_the_ci_sets_nothing_that_the_readme_does_not() -> None:
    """PYTHON picks the interpreter that the README calls python, and is the script's own."""
    lines = [line for line in CI.splitlines() if not line.startswith("#")]
    assert not [line for line in lines if re.search(r"\b(export|declare|env)\b", line)]
    assert {name for line in lines for name in re.findall(r"(?:^|\s)([A-Z_]+)=", line)} == {"PYTHON"}


@pytest.mark.parametrize("command", sorted(typed(README)))
def test_a_command_takes_the_pinned_torch(command: str) -> None:
    assert " -c constraints.txt " in command
    assert "torch==" in (CHECKOUT / "constraints.txt").read_text(encoding="utf-8")


def test_the_example_needs_the_plugin_alone() -> None:
    (command,) = (line for line in typed(README) if "--trainhealth" in line)
    assert " -e . && " in command


def test_the_example_is_not_run_with_the_options_of_our_own_tests() -> None:
    """They ask for xdist, which its users need not have."""
    assert "-n" in project("pyproject.toml")["tool"]["pytest"]["ini_options"]["addopts"]
    assert "addopts" not in project("example_project/pyproject.toml")["tool"]["pytest"]["ini_options"]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_no_workflow_sets_what_the_tests_set_themselves(file: Path) -> None:
    assert "OMP_NUM_THREADS" not in file.read_text(encoding="utf-8")


def test_the_matrix_has_the_oldest_versions_that_are_promised() -> None:
    workflow = (CHECKOUT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    needs = " ".join(project("pyproject.toml")["project"]["dependencies"])
    torch, runner = re.search(r"torch>=([\d.]+)", needs), re.search(r"pytest>=([\d.]+)", needs)
    python = re.search(r">=([\d.]+)", project("pyproject.toml")["project"]["requires-python"])
    assert torch
    assert runner
    assert python
    assert f'python: "{python[1]}", torch: "{torch[1]}.0", pytest: "=={runner[1]}.*"' in workflow
