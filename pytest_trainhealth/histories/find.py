"""The runs below a folder: every log that somebody would call one, and none twice."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from .formats import event_file, wandb_run

#: Names of logs. Other CSV and JSON files are data, settings or results until somebody names them.
_NAMES = {"metrics.csv", "history.csv", "history.json", "trainer_state.json", "history.jsonl", "metrics.jsonl"}
_WORDS = ("history", "metrics", "train_log", "training_log")
_SUFFIXES = (".csv", ".json", ".jsonl")
#: Where no run is kept.
_PASSED_OVER = {"node_modules", "__pycache__", "site-packages"}
_CHECKPOINT = "checkpoint-"


def runs_in(folder: Path) -> list[Path]:
    """Files, or folders where a run is kept in one. Sorted; hidden folders are passed over."""
    return sorted(_walk(folder))


def _walk(folder: Path) -> Iterator[Path]:
    if event_file.recognises(folder, "") or wandb_run.recognises(folder, ""):
        yield folder
        has_own = True
    else:
        has_own = False
    inner = sorted(os.scandir(folder), key=lambda entry: entry.name)
    checkpoints = [entry for entry in inner if entry.is_dir() and entry.name.startswith(_CHECKPOINT)]
    latest = max(checkpoints, key=_step, default=None)
    final = any(entry.name == "trainer_state.json" for entry in inner)
    for entry in inner:
        path = Path(entry.path)
        if entry.is_file():
            if _is_log(path) and not has_own:
                yield path
        elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".") and entry.name not in _PASSED_OVER:
            if entry in checkpoints and (entry is not latest or final):
                continue  # each holds the history of the same run up to its step
            if has_own and (event_file.is_part(path) or wandb_run.recognises(folder, "")):
                continue
            yield from _walk(path)


def _is_log(path: Path) -> bool:
    name = path.name.lower()
    return name in _NAMES or (path.suffix.lower() in _SUFFIXES and any(word in name for word in _WORDS))


def _step(entry: os.DirEntry[str]) -> int:
    number = entry.name.removeprefix(_CHECKPOINT)
    return int(number) if number.isdecimal() else -1
