from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_trainhealth.revisions import child_process

from .repository import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "project")


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process, no worktree and no temporary folder outlives a test, however it went."""
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    started: list[subprocess.Popen[str]] = []
    original = subprocess.Popen

    class Noted(original):  # type: ignore[misc, valid-type]
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            started.append(self)

    monkeypatch.setattr(child_process.subprocess, "Popen", Noted)
    yield
    monkeypatch.undo()
    for process in started:
        assert process.poll() is not None
        assert not running(process.pid)
    assert list(temporary.glob("trainhealth-*")) == []


def running(group: int) -> list[str]:
    """The processes of a group, but for those that are dead and whose parent has not asked how they died."""
    return [row[-1] for row in processes() if row[2] == str(group) and not row[3].startswith("Z")]


def processes() -> list[list[str]]:
    """Of every process: its id, its parent's, its group, its state and its command."""
    command = ["ps", "-A", "-ww", "-o", "pid=,ppid=,pgid=,stat=,args="]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split(None, 4) for line in told.splitlines()]
