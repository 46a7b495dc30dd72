"""Another revision's files, in a temporary folder that is removed afterwards, whatever happens."""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .git import CannotCompare, git, run
from .stale_worktrees import PREFIX, leftovers, prefix


@dataclass(frozen=True)
class Worktree:
    """Where it is, and everything that has to be removed afterwards."""

    #: The top folder of the repository that it belongs to.
    top: Path
    #: The temporary folder around it.
    around: Path
    #: The folder with the files, inside `around`.
    folder: Path
    #: Where git keeps its notes about it, below `.git/worktrees`; known once the worktree exists.
    entry: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """For another process, which may have to remove the worktree."""
        return {name: None if path is None else str(path) for name, path in asdict(self).items()}

    @classmethod
    def of(cls, to_json: dict[str, Any]) -> Worktree:
        entry = None if to_json["entry"] is None else Path(to_json["entry"])
        return cls(Path(to_json["top"]), Path(to_json["around"]), Path(to_json["folder"]), entry)

    def remove(self) -> None:
        """Each step is taken even if the one before it failed. Notes about other worktrees stay, even if their folder
        is missing at the moment: it may be on a disk that comes back."""
        entry = self.entry or _entry(self.folder)
        try:
            with suppress(CannotCompare):
                run(self.top, "worktree", "remove", "--force", "--force", str(self.folder))
        finally:
            if self.around.name.startswith(PREFIX):
                shutil.rmtree(self.around, ignore_errors=True)
            if entry is not None and _points_at(entry, self.folder):
                shutil.rmtree(entry, ignore_errors=True)
                with suppress(OSError):  # there are other worktrees
                    entry.parent.rmdir()


@contextmanager
def worktree(top: Path, commit: str) -> Iterator[Worktree]:
    """Does not touch the user's own working copy, index or branches: a worktree has its own."""
    with _terminated_like_interrupted():
        for folder, entry in leftovers(top):
            Worktree(top, folder.parent, folder, entry).remove()
        around = Path(tempfile.mkdtemp(prefix=prefix())).resolve()
        # keeps the name of the checkout's folder: it may be that of a package. The root of a file system has none.
        made = Worktree(top, around, around / (top.name or "checkout"))
        try:
            git(top, "worktree", "add", "--detach", "--force", str(made.folder), commit)
            made = replace(made, entry=_entry(made.folder))
            yield made
        finally:
            made.remove()


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """CI ends a job with SIGTERM, on which Python would exit without cleaning up. Treats it like Ctrl-C."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _entry(folder: Path) -> Path | None:
    """Where git keeps its notes about a worktree: its `.git` is a file that says so."""
    try:
        message = (folder / ".git").read_text()
    except OSError:
        return None
    return (folder / message.removeprefix("gitdir:").strip()).resolve() if message.startswith("gitdir:") else None


def _points_at(entry: Path, folder: Path) -> bool:
    """These notes are about this worktree and no other."""
    if entry.parent.name != "worktrees":
        return False
    try:
        return (entry / (entry / "gitdir").read_text().strip()).resolve() == (folder / ".git").resolve()
    except OSError:
        return False
