"""Another revision's files, in a temporary folder that is gone afterwards whatever happens."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .git import CannotCompare, git, run


@contextmanager
def worktree(top: Path, commit: str) -> Iterator[Path]:
    """The user's own working copy, index and branches are not touched: a worktree has its own."""
    around = Path(tempfile.mkdtemp(prefix="trainhealth-")).resolve()
    # the name of the checkout's own folder: it may be that of a package
    folder = around / top.name
    try:
        git(top, "worktree", "add", "--detach", "--force", str(folder), commit)
        yield folder
    finally:
        remove(top, folder)


def remove(top: Path, folder: Path) -> None:
    """Step by step, each also where the one before it failed."""
    try:
        with suppress(CannotCompare):
            run(top, "worktree", "remove", "--force", "--force", str(folder))
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)
        with suppress(CannotCompare):
            run(top, "worktree", "prune")
