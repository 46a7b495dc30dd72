"""JSON lines: an object for each entry, one a line; also `wandb-history.jsonl`, as older versions of wandb keep it."""

from __future__ import annotations

import json
from pathlib import Path

from ...records.history import History
from ..entries import entry_into
from ..log import Log
from ..unreadable import unreadable

TURN = 3  # by judgement, before JSON, whose first line may look the same
_SUFFIXES = (".jsonl", ".ndjson", ".jsonlines")


def recognises(path: Path, beginning: str) -> bool:
    """Some write such lines to a file of another name."""
    if path.suffix.lower() in _SUFFIXES:
        return True
    first, newline, second = beginning.partition("\n")
    one_a_line = first.startswith("{") and first.rstrip().endswith("}") and second.lstrip().startswith("{")
    return path.suffix.lower() in (".json", ".log", ".txt", "") and bool(newline) and one_a_line


def read(path: Path, shown: str) -> History:
    log = Log(shown, "json_lines", has_lines=True)
    broken: tuple[int, str] | None = None
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for line, text in enumerate(file, 1):
            if not text.strip():
                continue
            if broken is not None:
                raise unreadable(shown, *broken)
            why = _take(text, log, line)
            broken = (line, why) if why else None
    if broken is not None:
        if not log.rows:
            raise unreadable(shown, *broken)
        log.notes.append(f"the last line ({broken[0]}) is cut off, and does not count: {broken[1]}")
    return log.history()


def _take(text: str, log: Log, line: int) -> str:
    """One line. Says what is wrong with it, if anything is."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        return f"is no JSON: {error.msg} (column {error.colno})"
    except RecursionError:
        return "is nested too deeply"
    if not isinstance(found, dict):
        return f"an object for each entry was expected, not {found!r:.40}"
    entry_into(log, found, line)
    return ""
