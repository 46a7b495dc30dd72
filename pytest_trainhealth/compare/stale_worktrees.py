"""Worktrees of runs that were killed before they could remove them, or tell anybody else to.

Only those that are certainly nobody's: in the temporary folder, called as ours are, made by a process that is gone, and
older than any comparison lasts.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .git import CannotCompare, git

#: Nothing is ever deleted that is not called so.
PREFIX = "trainhealth-"
_OURS = re.compile(rf"{PREFIX}(\d+)-\w+")
#: A comparison has 0.6 of a budget of 300 s; and a process id of another container may look like that of nobody.
_OLD_SECONDS = 3600.0


def prefix() -> str:
    """Of the temporary folder's name: whose it is."""
    return f"{PREFIX}{os.getpid()}-"


def leftovers(top: Path) -> Iterator[tuple[Path, Path]]:
    """Folders with the files of such a worktree, and where git keeps its notes about each.

    By these notes: git writes them before the folder's own file, so they are there also where it was stopped between.
    """
    try:
        common = Path(top, git(top, "rev-parse", "--git-common-dir"))
    except CannotCompare:
        return
    for entry in sorted(common.glob("worktrees/*")):
        try:
            folder = Path((entry / "gitdir").read_text().strip()).parent
            if _is_nobodys(folder.parent, entry):
                yield folder, entry.resolve()
        except OSError:  # removed at this moment, by another run
            continue


def _is_nobodys(around: Path, entry: Path) -> bool:
    ours = _OURS.fullmatch(around.name)
    if ours is None or around.parent.resolve() != Path(tempfile.gettempdir()).resolve():
        return False
    newest = max(path.stat().st_mtime for path in (around, entry) if path.exists())
    return time.time() - newest > _OLD_SECONDS and _is_gone(int(ours[1]))


def _is_gone(process: int) -> bool:
    if os.name != "posix":  # elsewhere there is no signal that only asks
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False
