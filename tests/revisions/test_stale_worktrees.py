"""What a killed run has left is removed by the next one; what may be somebody's is not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from pytest_trainhealth.revisions import stale_worktrees
from pytest_trainhealth.revisions.worktree import worktree

from .repository import Repository

_LONG_AGO = time.time() - 2 * 3600


@pytest.fixture
def gone() -> int:
    """The id of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def left(repository: Repository, process: int, when: float = _LONG_AGO, name: str = "trainhealth-{}-abc_1") -> Path:
    """A worktree as a run leaves it that is killed while git makes it: without the file by which git knows it."""
    around = Path(tempfile.gettempdir(), name.format(process))
    folder = around / repository.folder.name
    repository.git("worktree", "add", "--detach", str(folder))
    (folder / ".git").unlink()
    (entry,) = (repository.folder / ".git" / "worktrees").iterdir()
    (entry / "locked").write_text("initializing")
    for path in (entry, around):
        os.utime(path, (when, when))
    return around


def made(repository: Repository) -> None:
    with worktree(repository.folder, repository.git("rev-parse", "HEAD")):
        pass


def forget(repository: Repository, around: Path) -> None:
    """So that nothing is left of the test itself."""
    subprocess.run(["rm", "-rf", str(around)], check=True)


def test_what_a_killed_run_has_left(repository: Repository, gone: int) -> None:
    repository.commit()
    around = left(repository, gone)
    made(repository)
    assert not around.exists()
    assert len(repository.worktrees) == 1


def test_where_its_folder_is_gone_already(repository: Repository, gone: int) -> None:
    """The system clears temporary folders now and then, and git keeps its notes."""
    repository.commit()
    forget(repository, left(repository, gone))
    made(repository)
    assert len(repository.worktrees) == 1


@pytest.mark.parametrize("case", ["somebody works in it", "it is new", "it is called otherwise", "it is elsewhere"])
def test_what_may_be_somebodys(
    repository: Repository, gone: int, case: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repository.commit()
    process = os.getpid() if case == "somebody works in it" else gone
    when = time.time() if case == "it is new" else _LONG_AGO
    name = "{}-mine" if case == "it is called otherwise" else "trainhealth-{}-abc_1"
    around = left(repository, process, when, name)
    if case == "it is elsewhere":
        (tmp_path / "other").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "other"))
    made(repository)
    assert (around / repository.folder.name / "pytest.ini").is_file()
    assert len(repository.worktrees) == 2
    forget(repository, around)


def test_the_folder_says_whose_it_is(repository: Repository) -> None:
    with worktree(repository.folder, repository.commit()) as mine:
        assert mine.around.name.startswith(f"trainhealth-{os.getpid()}-")
        assert stale_worktrees._OURS.fullmatch(mine.around.name)
