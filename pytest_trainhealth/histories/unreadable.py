"""A log that cannot be read: one line, with the file and the line in it."""

from __future__ import annotations

import os


class UnreadableHistory(ValueError):
    """What was given is no log of a run, or is damaged. The message says where, and what would help."""


def unreadable(source: str, line: int, why: str) -> UnreadableHistory:
    return UnreadableHistory(f"{source}:{line}: {why}" if line else f"{source}: {why}")


def shown_path(path: str | os.PathLike[str]) -> str:
    """Relative where that is shorter, as in every message."""
    full = os.fspath(path)
    try:
        relative = os.path.relpath(full)
    except ValueError:  # another drive
        return full
    return relative if len(relative) < len(full) else full
