"""The example project is green, and each of its bugs is recognised by name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_trainhealth.causes import cause as known_cause
from pytest_trainhealth.causes import cause_names

from .unified_diff import apply_patch

EXAMPLE = Path(__file__).parents[2] / "example_project"
PATCHES = sorted((EXAMPLE / "bugs").glob("*.patch"))


def cause_of(patch: Path) -> str:
    """`01-frozen-parameters.patch` is about frozen-parameters."""
    return patch.stem.split("-", 1)[1]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    copy = tmp_path / "example_project"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return copy


def check(project: Path, where: Path) -> tuple[int, list[dict[str, Any]], str]:
    """As a user would run it: its own process, nothing of this pytest run in the environment."""
    report = project.parent / "verdicts.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--trainhealth", f"--trainhealth-json={report}", project],
        cwd=where,
        env={**environment, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    verdicts = json.loads(report.read_text(encoding="utf-8"))["verdicts"] if report.exists() else []
    return run.returncode, verdicts, run.stdout


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_the_example_is_green(project: Path, where: str) -> None:
    code, verdicts, output = check(project, project if where == "inside" else project.parent)
    assert code == 0, output
    assert {(v["check"], v["outcome"]) for v in verdicts} == {
        ("overfits_one_batch", "passed"),
        ("gradients_flow", "passed"),
        ("trains_without_nan", "passed"),
        ("uses_its_input", "passed"),
        ("learns_from_data", "passed"),
        ("keeps_throughput", "passed"),
    }, output
    assert len(verdicts) == 7, output  # trains_without_nan twice: the parts, and the script


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_the_bug_is_recognised(project: Path, patch: Path) -> None:
    apply_patch(patch, project)
    code, verdicts, output = check(project, project)
    assert code == 1, output

    cause = cause_of(patch)
    named = [v["findings"][0] for v in verdicts if v["outcome"] == "failed" and v["findings"]]
    stop_when = {"confirmed"} if known_cause(cause).curable else {"confirmed", "likely"}
    assert any(finding["cause"] == cause and finding["certainty"] in stop_when for finding in named), output
    # One bug, one cause: another check may be less sure of it, but must not claim to have shown another one.
    assert {finding["cause"] for finding in named if finding["certainty"] == "confirmed"} <= {cause}, output


def test_every_bug_has_a_cause() -> None:
    assert {cause_of(patch) for patch in PATCHES} <= set(cause_names())
    assert len(PATCHES) >= 17


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_the_patch_says_what_it_is_and_applies(project: Path, patch: Path) -> None:
    header, _, _ = patch.read_text(encoding="utf-8").partition("\n--- a/")
    assert "Where people meet it: " in header
    apply_patch(patch, project)
    for source in (project / "digits").glob("*.py"):
        compile(source.read_text(encoding="utf-8"), source, "exec")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_git_applies_it_the_same_way(tmp_path: Path, project: Path, patch: Path) -> None:
    """The README tells people to use git."""
    ours = shutil.copytree(project, tmp_path / "ours")
    apply_patch(patch, ours)
    # GIT_CEILING_DIRECTORIES: the folder for temporary files may lie inside some repository.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    subprocess.run(["git", "apply", patch], cwd=project, env=environment, check=True)
    for source in (ours / "digits").glob("*.py"):
        assert source.read_text(encoding="utf-8") == (project / "digits" / source.name).read_text(encoding="utf-8")
