"""`history(source)`: a log of a finished run, whatever it is kept in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..records.history import History
from .entries import columns_into, entry_into
from .formats import Format, formats
from .log import Log
from .unreadable import UnreadableHistory, shown_path

#: Characters that formats are told apart by. By judgement: one entry of a log is shorter.
_BEGINNING = 4096
_WHAT_IS_READ = (
    "CSV (Lightning's metrics.csv), JSON (Keras' history, Hugging Face's trainer_state.json), JSON lines, "
    "TensorBoard's event files, offline runs of Weights & Biases"
)


def history(source: Any, *, name: str | None = None) -> History:
    """Reads the log of a finished run.

    `source`: a file or folder (CSV, JSON, JSON lines, `trainer_state.json`, TensorBoard, Weights & Biases), a dict of
    lists, a list of dicts, a pandas frame, or the History that Keras' `fit` returns. `name` is what messages call it.
    """
    if isinstance(source, History):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _from_path(Path(source), name or shown_path(source))
    own = getattr(source, "history", None)
    if isinstance(own, Mapping):  # of Keras
        epochs = getattr(source, "epoch", None)
        counted = {"epoch": list(epochs)} if isinstance(epochs, Sequence) and epochs else {}
        return _from_columns({**counted, **own}, name or "the history")
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        return _from_frame(source, name or "the frame")
    if isinstance(source, Mapping):
        return _from_columns(source, name or "the history")
    if isinstance(source, Sequence) and all(isinstance(each, Mapping) for each in source):
        log = Log(name or "the history", "entries")
        for each in source:
            entry_into(log, each)
        return log.history()
    raise UnreadableHistory(
        f"a path, a dict of lists, a list of dicts or a frame is needed, not {type(source).__name__}"
    )


def format_of(path: Path) -> Format | None:
    """None where no reader knows it."""
    beginning = "" if path.is_dir() else _beginning(path)
    return next((each for each in formats() if each.recognises(path, beginning)), None)


def _from_path(path: Path, shown: str) -> History:
    try:
        found = format_of(path)
        if found is None and path.is_dir():
            found, path, shown = _only_one_inside(path, shown)
        if found is None:
            raise UnreadableHistory(f"{shown}: no reader knows this. Known: {_WHAT_IS_READ}")
        return replace(found.read(path, shown), is_file=True)
    except OSError as error:
        raise UnreadableHistory(f"{shown}: {error.strerror or error}") from None


def _only_one_inside(folder: Path, shown: str) -> tuple[Format, Path, str]:
    from .find import runs_in

    runs = runs_in(folder)
    if len(runs) != 1:
        several = f"{len(runs)} logs of runs in it: name one of them" if runs else "no log of a run in it"
        raise UnreadableHistory(f"{shown}: there {'are' if runs else 'is'} {several}")
    found = format_of(runs[0])
    assert found is not None
    return found, runs[0], shown_path(runs[0])


def _beginning(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_BEGINNING).decode("utf-8", "replace")


def _from_columns(columns: Mapping[Any, Any], shown: str) -> History:
    log = Log(shown, "columns")
    lists = {str(name): list(values) for name, values in columns.items() if _is_list(values)}
    if columns and not lists:
        raise UnreadableHistory(f"{shown}: a list for each name was expected, as in {{'loss': [0.9, 0.5]}}")
    columns_into(log, {name: [(value, 0) for value in values] for name, values in lists.items()})
    return log.history()


def _is_list(values: Any) -> bool:
    return hasattr(values, "__iter__") and not isinstance(values, (str, bytes, Mapping))


def _from_frame(frame: Any, shown: str) -> History:
    """Row by row. In a frame, NaN is an empty cell, whatever it was before: see `Log.history` for what that means."""
    log = Log(shown, "frame")
    names = [str(name) for name in frame.columns]
    columns = [frame.iloc[:, at].tolist() for at in range(len(names))]
    for values in zip(*columns, strict=True):
        cells = zip(names, values, strict=True)
        log.entry({name: value for name, value in cells if value is not None and value == value})
    return log.history()
