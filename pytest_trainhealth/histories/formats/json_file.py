"""JSON: a list for each name, as Keras' `History.history`, or an object for each entry; Hugging Face's
`trainer_state.json`, whose entries are under `log_history`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...records.history import History
from ..entries import columns_into, entry_into
from ..log import Log
from ..unreadable import unreadable
from ._json_text import JsonText

TURN = 4  # by judgement, after lines of it
_LOG_HISTORY = "log_history"
#: Of `trainer_state.json`: the steps that were planned, and those that were taken.
_PLANNED, _TAKEN = "max_steps", "global_step"
#: Of Hugging Face's Trainer: its last entry sums up the run, and its `train_loss` is the mean over all steps.
_SUMMARY = "train_runtime"
#: Under which others put their lists.
_NESTED = ("history", "metrics", "logs", "log")


def recognises(path: Path, beginning: str) -> bool:
    return path.suffix.lower() == ".json"


def read(path: Path, shown: str) -> History:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise unreadable(shown, 1, f"is no text: {error.reason}") from None
    log, document = Log(shown, "json", has_lines=True), JsonText(text, shown)
    kind = document.next()
    if kind == "[":
        _entries(document, log)
    elif kind == "{":
        _object(document, log)
    else:
        found = "is empty" if not kind else "holds neither an object nor a list"
        raise unreadable(
            shown, document.line, f"{found}: a history is a list for each name, or an object for each entry"
        )
    document.end()
    return log.history()


def _entries(document: JsonText, log: Log) -> None:
    for line in document.elements():
        found = document.value()
        if not isinstance(found, dict):
            what = f"an object for each entry was expected, not {found!r:.40}"
            raise unreadable(log.source, line, what)
        if _SUMMARY not in found:
            entry_into(log, found, line)


def _object(document: JsonText, log: Log) -> None:
    columns: dict[str, list[tuple[Any, int]]] = {}
    counted: dict[str, Any] = {}
    for name in document.members():
        kind = document.next()
        if name == _LOG_HISTORY and kind == "[":
            log.form = "trainer_state"
            _entries(document, log)
        elif kind == "[":
            columns[name] = [(document.value(), line) for line in document.elements()]
        elif kind == "{" and name in _NESTED:
            _object(document, log)
        else:
            counted[name] = document.value()
    planned, taken = (counted.get(key) for key in (_PLANNED, _TAKEN))
    log.finished = isinstance(planned, int) and isinstance(taken, int) and 0 < planned <= taken
    if log.form != "trainer_state" and columns:
        of_entries = next((c for n, c in columns.items() if n in _NESTED and _all_objects(c)), None)
        if of_entries is not None:
            for found, line in of_entries:
                entry_into(log, found, line)
        else:
            columns_into(log, columns)


def _all_objects(column: list[tuple[Any, int]]) -> bool:
    return bool(column) and all(isinstance(value, dict) for value, _ in column)
