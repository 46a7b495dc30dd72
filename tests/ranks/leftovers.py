"""Processes of this machine that were started as ranks."""

from __future__ import annotations

import time
from pathlib import Path


def ranks_of(parent: int) -> list[int]:
    """Those that a process has started, and what they have started, by their environment; not those that are dead."""
    mark, found = f"TRAINHEALTH_RANK_OF={parent}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def gone_within(parent: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while ranks_of(parent):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True
