"""Finds worktrees of runs that were killed before they or their processes could remove them.

Finds only those that certainly nobody uses: in the temporary folder, with a name like ours, made by a process that is
gone, and older than any comparison takes.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .git import CannotCompare, git

#: Only folders whose name begins like this are ever deleted.
PREFIX = "trainhealth-"
_OURS = re.compile(rf"{PREFIX}(\d+)-\w+")
#: A comparison has 0.6 of a budget of 300 s. Much longer than that, because a process in another container looks as if
#: it were gone.
_OLD_SECONDS = 3600.0


def prefix() -> str:
    """The prefix of the temporary folder's name, which says which process made it."""
    return f"{PREFIX}{os.getpid()}-"


def leftovers(top: Path) -> Iterator[tuple[Path, Path]]:
    """The folders of such worktrees, each with the place where git keeps its notes about it.

    Goes by these notes: git writes them before the `.git` file of the folder, so they exist even if it was stopped in
    between.
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
        except OSError:  # another run is removing it at this moment
            continue


def _is_nobodys(around: Path, entry: Path) -> bool:
    ours = _OURS.fullmatch(around.name)
    if ours is None or around.parent.resolve() != Path(tempfile.gettempdir()).resolve():
        return False
    newest = max(path.stat().st_mtime for path in (around, entry) if path.exists())
    return time.time() - newest > _OLD_SECONDS and _is_gone(int(ours[1]))


def _is_gone(process: int) -> bool:
    if os.name != "posix":  # other systems have no signal that only asks
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False
