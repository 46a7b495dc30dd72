"""What is said of repositories as they come: none at all, a shallow one, one with changes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from pytest_trainhealth.revisions.git import CannotCompare, commit_of, dependencies_differ, git, top_of, uncommitted
from pytest_trainhealth.settings import WrongSetting

from .repository import Repository


def test_top_and_commit(repository: Repository) -> None:
    commit = repository.commit()
    inside = repository.folder / "a" / "b"
    inside.mkdir(parents=True)
    assert top_of(inside) == repository.folder.resolve()
    assert commit_of(repository.folder, "main") == commit == commit_of(repository.folder, commit[:8])


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(CannotCompare, match="is not in a git repository"):
        top_of(tmp_path)


def test_no_git(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CannotCompare, match="git is not installed, or not on the PATH"):
        top_of(repository.folder)


@pytest.mark.parametrize("revision", ["orign/main", "--all", "HEAD~7", ""])
def test_no_such_revision(repository: Repository, revision: str) -> None:
    repository.commit()
    with pytest.raises(WrongSetting, match=f"there is no revision {re.escape(repr(revision))}"):
        commit_of(repository.folder, revision)


def test_a_shallow_clone(repository: Repository, tmp_path: Path) -> None:
    first = repository.commit()
    repository.commit()
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.folder}", str(tmp_path / "shallow"))
    with pytest.raises(CannotCompare, match=f"this shallow clone does not hold {first}: fetch more of it"):
        commit_of(tmp_path / "shallow", first)


def test_changes_that_are_not_committed(repository: Repository) -> None:
    repository.write("a.py", "")
    repository.commit()
    assert uncommitted(repository.folder) == 0
    repository.write("a.py", "1")
    repository.write("b.py", "1")
    assert uncommitted(repository.folder) == 2
    for name in ("c.py", "d.py"):
        repository.write(f"new/{name}", "")  # each file of a new folder counts
    assert uncommitted(repository.folder) == 4


def test_looking_does_not_write(repository: Repository) -> None:
    """Files that were touched and not changed: git would note that in the index, which is the user's."""
    repository.write("a.py", "")
    commit = repository.commit()
    os.utime(repository.folder / "a.py", (1, 1))
    index = repository.folder / ".git" / "index"
    before = index.read_bytes()
    assert uncommitted(repository.folder) == 0
    assert dependencies_differ(repository.folder, commit) == []
    assert index.read_bytes() == before


def test_changed_dependencies(repository: Repository) -> None:
    names = ("pyproject.toml", "requirements-dev.txt", "constraints.txt", "a.py")
    for name in names:
        repository.write(name, "")
    commit = repository.commit()
    assert dependencies_differ(repository.folder, commit) == []
    for name in names:
        repository.write(name, "x")
    assert dependencies_differ(repository.folder, commit) == sorted(names[:3])


def test_inside_of_a_hook(repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A test run before a push: git tells its hooks by the environment which repository is meant."""
    commit = repository.commit()
    other = Repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    assert git(repository.folder, "rev-parse", "HEAD") == commit
