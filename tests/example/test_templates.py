"""What teams copy from the example project: it parses, and every command in it is one that this release takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_trainhealth.settings import SETTINGS

EXAMPLE = Path(__file__).parents[2] / "example_project"
ACTION = EXAMPLE / ".github" / "actions" / "trainhealth" / "action.yml"
TEMPLATES = [
    ACTION,
    EXAMPLE / ".github" / "workflows" / "training.yml",
    EXAMPLE / ".gitlab-ci.yml",
    EXAMPLE / ".pre-commit-config.yaml",
]
FLAGS = {setting.flag for setting in SETTINGS if setting.option}


def texts(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [text for value in node.values() for text in texts(value)]
    if isinstance(node, list):
        return [text for value in node for text in texts(value)]
    return [node] if isinstance(node, str) else []


def commands(file: Path) -> list[list[str]]:
    """Every call of pytest, as a shell splits it."""
    found = []
    for text in texts(yaml.safe_load(file.read_text(encoding="utf-8"))):
        for line in text.replace("\\\n", " ").splitlines():
            if line.strip().startswith("pytest "):
                found.append(shlex.split(re.sub(r"\$\{\{.*?\}\}", "x", line).partition("||")[0]))
    return found


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_every_option_exists(file: Path) -> None:
    calls = commands(file)
    assert calls or file.name == "training.yml"
    for call in calls:
        used = {word.partition("=")[0] for word in call if word.startswith("--trainhealth")}
        assert "--trainhealth" in used
        assert used <= FLAGS


def test_the_workflow_calls_the_action_with_inputs_that_it_has() -> None:
    workflow = yaml.safe_load((EXAMPLE / ".github" / "workflows" / "training.yml").read_text(encoding="utf-8"))
    (used,) = [step for step in workflow["jobs"]["trainhealth"]["steps"] if "trainhealth" in step.get("uses", "")]
    assert EXAMPLE / used["uses"] / "action.yml" == ACTION
    assert set(used["with"]) <= set(yaml.safe_load(ACTION.read_text(encoding="utf-8"))["inputs"])


def test_every_step_of_the_action_names_its_shell() -> None:
    """A composite action without one is refused by GitHub, and only when it is used."""
    steps = yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"]
    assert all("shell" in step for step in steps if "run" in step)


def test_the_battery_and_the_throughput_select_every_test_once(pytester: pytest.Pytester) -> None:
    """A test may have both markers: each of its checks is an item of its own, with its own marker."""
    pytester.makepyfile("""
        import pytest

        @pytest.mark.gradients_flow
        @pytest.mark.keeps_throughput
        def test_it():
            pass
    """)
    expressions = [call[call.index("-m") + 1] for call in commands(ACTION)]
    selected = [
        pytester.runpytest("--trainhealth", "--collect-only", "-q", "-m", each).outlines for each in expressions
    ]
    found = [[line.partition("::")[2] for line in lines if "::" in line] for lines in selected]
    assert found == [["test_it[gradients_flow]"], ["test_it[keeps_throughput]"]]
