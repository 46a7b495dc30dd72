"""Weights & Biases' offline runs: the folder `offline-run-*`, or its `run-*.wandb`.

That file is a log of LevelDB's kind with protocol buffers in it. Its frames are read here, and what is in them by the
`wandb` package, if it is installed. Older versions keep `files/wandb-history.jsonl` beside it, which needs nothing.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from ...records.history import History
from ..entries import entry_into
from ..log import Log
from ..unreadable import UnreadableHistory, unreadable
from . import json_lines

TURN = 1  # by judgement, by its name
_SUFFIX = ".wandb"
_LINES = "wandb-history.jsonl"
_MAGIC = b":W&B"
#: Of LevelDB's format, 32 KB: bytes of a block, of the header of the file (wandb's own), and of a piece of a record.
_BLOCK, _FILE_HEADER, _PIECE_HEADER = 32768, 7, 7
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4  # kinds of pieces, 1 to 4
_EXPORT = (
    "to read runs of Weights & Biases, install wandb, or export the history: "
    "wandb.Api().run(...).history().to_csv('history.csv')"
)


def recognises(path: Path, beginning: str) -> bool:
    return path.suffix == _SUFFIX or (path.is_dir() and _inside(path) is not None)


def read(path: Path, shown: str) -> History:
    file = _inside(path) if path.is_dir() else path
    assert file is not None
    if file.name == _LINES:
        return json_lines.read(file, shown if file == path else f"{shown}/{file.relative_to(path)}")
    record = _record(shown)
    log = Log(shown, "wandb_run")
    for number, data in enumerate(_records(file, shown, log), 1):
        found = record()
        try:
            found.ParseFromString(data)
        except Exception as error:  # whatever protobuf raises about a damaged record
            raise unreadable(shown, 0, f"record {number} is damaged: {error}") from None
        if found.HasField("history"):
            entry_into(log, dict(_items(found.history.item)))
    return log.history()


def _inside(folder: Path) -> Path | None:
    """The history in a run's folder: lines first, which anybody can read."""
    lines = [folder / _LINES, folder / "files" / _LINES]
    return next((file for file in (*lines, *sorted(folder.glob(f"run-*{_SUFFIX}"))) if file.is_file()), None)


def _record(shown: str) -> Any:
    try:
        return import_module("wandb.proto.wandb_internal_pb2").Record
    except ImportError:
        raise UnreadableHistory(f"{shown}: {_EXPORT}") from None


def _items(items: Any) -> Iterator[tuple[str, Any]]:
    for item in items:
        name = "/".join(item.nested_key) if item.nested_key else item.key
        try:
            value = json.loads(item.value_json)
        except json.JSONDecodeError:
            continue
        yield name, value


def _records(file: Path, shown: str, log: Log) -> Iterator[bytes]:
    """Whole records, put together from their pieces. A run that was killed may end in the middle of one."""
    with file.open("rb") as opened:
        if opened.read(_FILE_HEADER)[:4] != _MAGIC:
            raise unreadable(shown, 0, "is no run of Weights & Biases: it begins differently")
        gathered = b""
        while True:
            left = _BLOCK - opened.tell() % _BLOCK
            if left < _PIECE_HEADER:
                opened.read(left)
                continue
            header = opened.read(_PIECE_HEADER)
            if len(header) < _PIECE_HEADER:
                break
            _, length, kind = struct.unpack("<IHB", header)
            data = opened.read(length)
            if len(data) < length:
                gathered = b"..."
                break
            if kind not in (_WHOLE, _FIRST, _MIDDLE, _LAST):
                raise unreadable(shown, 0, f"is damaged at byte {opened.tell()}: there is no piece of kind {kind}")
            gathered = data if kind in (_WHOLE, _FIRST) else gathered + data
            if kind in (_WHOLE, _LAST):
                yield gathered
                gathered = b""
    if gathered:
        log.notes.append("the file ends in the middle of a record, which does not count")
