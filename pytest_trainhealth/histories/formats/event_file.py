"""TensorBoard's event files, through TensorBoard's own reader: a file, or a folder with what one run has written.

Keras writes `train` and `validation` into folders of these names, and both are one run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from importlib import import_module
from math import nan
from pathlib import Path
from typing import Any

from ...records.history import History
from ..log import Log
from ..unreadable import UnreadableHistory, unreadable

TURN = 0  # by judgement, by its name
#: In the name of every file that a SummaryWriter makes.
MARK = "tfevents"
#: Folders that are parts of the run beside them, and what their names become in the names of series.
_PARTS = {"train": "train", "validation": "val", "val": "val", "eval": "val", "test": "test"}
#: Bytes around each record: its length, and two checksums, 8 + 4 + 4.
_FRAME = 16
_SIZES = {1: "<f", 2: "<d", 3: "<i", 9: "<q"}  # the types of TensorFlow: float, double, int32, int64


def recognises(path: Path, beginning: str) -> bool:
    return MARK in path.name or (path.is_dir() and bool(_files(path)))


def read(path: Path, shown: str) -> History:
    log = Log(shown, "event_file")
    files = _files(path) if path.is_dir() else [path]
    for file in sorted(files, key=lambda each: (each.parent != path, each.name)):
        part = _PARTS.get(file.parent.name.lower(), "") if file.parent != path else ""
        _read_one(file, log, f"{part}_" if part else "")
    return log.history()


def is_part(folder: Path) -> bool:
    return folder.name.lower() in _PARTS


def _files(folder: Path) -> list[Path]:
    own = [file for file in folder.iterdir() if MARK in file.name and file.is_file()]
    parts = [inner for inner in folder.iterdir() if inner.is_dir() and is_part(inner)]
    return own + [file for inner in parts for file in inner.iterdir() if MARK in file.name]


def _read_one(file: Path, log: Log, prefix: str) -> None:
    for event in _events(file, log):
        if not event.HasField("summary"):
            continue
        for value in event.summary.value:
            number = _number(value)
            builder = None if number is None else log.builder(prefix + value.tag)
            if builder is not None and number is not None:
                builder.add(number, float(event.step), nan, 0, -1)
                log.clocked(event.wall_time, float(event.step), nan, 0)
    log.rows += 1


def _events(file: Path, log: Log) -> Iterator[Any]:
    """TensorBoard's reader stops at a record that is cut off or damaged without a word: so the bytes are counted."""
    try:
        loader = import_module("tensorboard.backend.event_processing.event_file_loader")
        event = import_module("tensorboard.compat.proto.event_pb2").Event
    except ImportError:
        raise UnreadableHistory(
            f"{log.source}: to read event files, install TensorBoard: pip install pytest-trainhealth[tensorboard]"
        ) from None
    read, size = 0, file.stat().st_size
    try:
        for record in loader.RawEventFileLoader(str(file)).Load():
            yield event.FromString(record)
            read += _FRAME + len(record)
    except Exception as error:  # whatever its reader raises about a damaged file
        raise unreadable(log.source, 0, f"{file.name} is damaged: {type(error).__name__}: {error}") from None
    if size and not read:
        raise unreadable(log.source, 0, f"{file.name} is no event file, or is damaged from its first byte on")
    if read < size:
        log.notes.append(f"{file.name} is damaged or cut off at byte {read:,} of {size:,}: what follows does not count")


def _number(value: Any) -> float | None:
    """Of a scalar, old style or new; None for images, histograms and texts."""
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return float(value.simple_value)
    if kind != "tensor" or value.tensor.tensor_shape.dim:
        return None
    tensor = value.tensor
    for field in (tensor.float_val, tensor.double_val, tensor.int_val, tensor.int64_val):
        if len(field):
            return float(field[0])
    layout = _SIZES.get(tensor.dtype)
    if layout is None or len(tensor.tensor_content) != struct.calcsize(layout):
        return None
    return float(struct.unpack(layout, tensor.tensor_content)[0])
