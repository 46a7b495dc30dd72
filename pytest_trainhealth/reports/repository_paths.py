"""Paths as a code host knows them: from the root of the repository, with slashes.

Places are told from the working directory, as a terminal needs them. Annotations, SARIF and code quality are read by a
server that knows the repository only, and drops, without a word, what lies at a path that it does not have.
"""

from __future__ import annotations

import os
from pathlib import Path

#: Where GitHub and GitLab have checked out the repository.
_TOLD_BY_THE_SERVER = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def repository_root(start: Path | None = None) -> Path:
    """The folder that a server says it is, if we are inside; else the next one with a `.git`; else the start."""
    start = Path(os.path.realpath(start or Path.cwd()))
    for name in _TOLD_BY_THE_SERVER:
        folder_named = os.environ.get(name)
        if folder_named and start.is_relative_to(os.path.realpath(folder_named)):
            return Path(os.path.realpath(folder_named))
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)


def in_repository(file: str, root: Path | None = None) -> str | None:
    """The file's path from the root of the repository, or None if it lies elsewhere."""
    root = root or repository_root()
    whole = Path(os.path.realpath(file))
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else None
