from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Project = pytest.Pytester
ReadJson = Callable[[], dict[str, Any]]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A folder whose trainings are judged by the fake engine, without plugins that a test does not ask for."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:benchmark")
    for outer in ("CI", "PYTEST_XDIST_WORKER", "GITHUB_ACTIONS", "GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(outer, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    pytester.makeconftest(Path(__file__).with_name("fake_engine.py").read_text())
    return pytester


@pytest.fixture
def read_json(project: Project) -> ReadJson:
    """What a run with `--trainhealth-json out.json` has written."""
    return lambda: json.loads((project.path / "out.json").read_text())
