"""Another revision's files come and go, and nothing else does: not on errors, and not in odd places."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from pytest_trainhealth.revisions import worktree as module
from pytest_trainhealth.revisions.git import CannotCompare
from pytest_trainhealth.revisions.worktree import Worktree, worktree

from .repository import Repository


def test_a_worktree_holds_the_other_revision(repository: Repository) -> None:
    repository.write("a.py", "old")
    commit = repository.commit()
    repository.write("a.py", "new")
    with worktree(repository.folder, commit) as made:
        assert (made.folder / "a.py").read_text() == "old"
        assert len(repository.worktrees) == 2
    assert len(repository.worktrees) == 1
    assert not made.around.exists()
    assert (repository.folder / "a.py").read_text() == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_a_worktree_is_removed_whatever_happens(repository: Repository, error: type[BaseException]) -> None:
    def fails(folder: Path) -> None:
        (folder / "written by a test").mkdir()
        raise error

    commit = repository.commit()
    with pytest.raises(error), worktree(repository.folder, commit) as made:
        fails(made.folder)
    assert len(repository.worktrees) == 1
    assert not made.around.exists()


def test_a_terminated_process_clears_up(repository: Repository) -> None:
    """What a CI does to a job that it cancels; afterwards the signal means what it meant before."""
    commit = repository.commit()
    with pytest.raises(KeyboardInterrupt), worktree(repository.folder, commit) as made:
        signal.raise_signal(signal.SIGTERM)
    assert len(repository.worktrees) == 1
    assert not made.around.exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_handler_of_the_user_stays(repository: Repository) -> None:
    seen: list[int] = []

    def own(number: int, frame: object) -> None:
        seen.append(number)

    signal.signal(signal.SIGTERM, own)
    try:
        with worktree(repository.folder, repository.commit()):
            signal.raise_signal(signal.SIGTERM)
        assert seen == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_a_worktree_that_cannot_be_made_leaves_nothing(repository: Repository) -> None:
    repository.commit()
    with pytest.raises(CannotCompare, match="git worktree: "), worktree(repository.folder, "0" * 40):
        raise AssertionError("never comes here")
    assert len(repository.worktrees) == 1


def test_hooks_of_the_repository_do_not_run(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit()
    hook = repository.folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    os.chmod(hook, 0o755)
    with worktree(repository.folder, commit):
        pass
    assert not (tmp_path / "ran").exists()


def test_a_repository_at_the_root_of_a_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose folder has no name: what is deleted is never the folder of all temporary files."""
    asked: list[str] = []
    monkeypatch.setattr(module, "git", lambda top, *arguments: asked.append(arguments[-2]))
    monkeypatch.setattr(module, "run", lambda *_: None)
    temporary = Path(tempfile.gettempdir()).resolve()
    (temporary / "somebody else's").touch()
    with worktree(Path("/"), "HEAD") as made:
        assert Path(asked[0]) == made.folder == made.around / "checkout"
        assert made.around.parent == temporary
    assert list(temporary.iterdir()) == [temporary / "somebody else's"]


def test_only_what_was_made_for_it_is_deleted(repository: Repository, tmp_path: Path) -> None:
    """Whatever an order says: a folder of another name, and the notes about another worktree, stay."""
    repository.commit()
    repository.git("worktree", "add", "--detach", str(tmp_path / "theirs"))
    entry = repository.folder / ".git" / "worktrees" / "theirs"
    told = Worktree(repository.folder, tmp_path, tmp_path / "nowhere", entry).to_json()
    Worktree.of(told).remove()
    assert (tmp_path / "theirs" / "pytest.ini").is_file()
    assert len(repository.worktrees) == 2


def test_worktrees_on_a_disk_that_is_not_there(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit()
    repository.git("worktree", "add", "--detach", str(tmp_path / "disk"))
    (tmp_path / "disk").rename(tmp_path / "unplugged")
    with worktree(repository.folder, commit):
        pass
    (tmp_path / "unplugged").rename(tmp_path / "disk")
    subprocess.run(["git", "status"], cwd=tmp_path / "disk", check=True, capture_output=True)
    assert len(repository.worktrees) == 2


@pytest.mark.parametrize("spoilt", [".git", "pytest.ini"])
def test_a_worktree_that_git_cannot_remove(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, spoilt: str
) -> None:
    """A test deleted the file by which git knows it; or git itself fails."""
    commit = repository.commit()
    with worktree(repository.folder, commit) as made:
        (made.folder / spoilt).unlink()
        if spoilt != ".git":
            monkeypatch.setattr(module, "run", lambda *_: None)
    assert len(repository.worktrees) == 1
    assert not made.around.exists()
    assert not (repository.folder / ".git" / "worktrees").exists()
