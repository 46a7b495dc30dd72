"""CSV: Lightning's `metrics.csv`, Keras' CSVLogger, frames that were written to a file, exports of TensorBoard.

Training and validation may stand in different rows, with empty cells for the rest. The file is read a thousand rows at
a time, and never held as a whole.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import nan
from pathlib import Path

from ... import wording
from ...records.history import History
from ..column_names import Role, normalised, role_of
from ..log import Log, number_of
from ..unreadable import unreadable

TURN = 5  # by judgement, last, whatever else has commas in it
_SUFFIXES = (".csv", ".tsv")
_DELIMITERS = ",;\t"
#: What TensorBoard's own export has instead of a name, which stands in the file's.
_EXPORT = ("wall_time", "step", "value")
#: Rows that are taken together. By judgement: enough for the loops of the interpreter to matter little, and few enough
#: to hold.
_AT_ONCE = 1024


@dataclass
class _Column:
    name: str
    role: Role
    #: None until its first value is seen.
    numeric: bool | None = None


@dataclass
class _Rows:
    """Some rows that follow one another, with the line of each."""

    cells: list[list[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def recognises(path: Path, beginning: str) -> bool:
    return path.suffix.lower() in _SUFFIXES


def read(path: Path, shown: str) -> History:
    reader = _Reader(Log(shown, "csv", has_lines=True), path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader.read(file)
    except UnicodeDecodeError as error:
        raise unreadable(shown, reader.line + 1, f"is no text: {error.reason}") from None
    return reader.log.history()


class _Reader:
    def __init__(self, log: Log, path: Path) -> None:
        self.log, self._path = log, path
        self.line = 0
        self._columns: list[_Column] = []
        self._by_part = self._decimal_comma = False
        #: The last row, where something is wrong with it: an error, unless it is the very last of the file.
        self._broken: tuple[int, str] | None = None

    def read(self, file: Iterator[str]) -> None:
        first = next(file, "")
        delimiter = max(_DELIMITERS, key=first.count)
        header = next(csv.reader([first], delimiter=delimiter), [])
        if not any(name.strip() for name in header):
            raise unreadable(self.log.source, 1, "has no header: its first row has to name the columns")
        self._columns, self._decimal_comma = _columns(header, self._path), delimiter == ";"
        self._by_part = any(column.role == "part" for column in self._columns)
        rows, several = csv.reader(file, delimiter=delimiter), _Rows()
        try:
            for row in rows:
                if not row or row == header:  # appended by a later run
                    continue
                self.line = rows.line_num + 1
                several.cells.append(row)
                several.lines.append(self.line)
                if len(several.cells) >= _AT_ONCE:
                    self._take(several)
                    several = _Rows()
        except csv.Error as error:
            raise unreadable(self.log.source, rows.line_num + 1, str(error)) from None
        self._take(several)
        self._end()

    def _end(self) -> None:
        if self._broken is None:
            return
        line, why = self._broken
        if not self.log.rows:
            raise unreadable(self.log.source, line, why)
        self.log.notes.append(f"the last line ({line}) is cut off, and does not count: {why}")

    def _take(self, several: _Rows) -> None:
        if self._broken is None and not self._by_part and self._all_at_once(several):
            return
        for row, line in zip(several.cells, several.lines, strict=True):
            if self._broken is not None:
                raise unreadable(self.log.source, *self._broken)
            why = self._misfit(row) or (self._by_names(row, line) if self._by_part else self._one(row, line))
            self._broken = (line, why) if why else None

    def _misfit(self, row: list[str]) -> str:
        if len(row) == len(self._columns):
            return ""
        named = wording.plural(len(self._columns), "column")
        return f"has {wording.plural(len(row), 'value')} where the header names {named}"

    def _all_at_once(self, several: _Rows) -> bool:
        """Column by column, which is several times as fast. False where anything about these rows is unusual."""
        width, count = len(self._columns), len(several.cells)
        if any(len(row) != width for row in several.cells) or any(c.numeric is False for c in self._columns):
            return False
        where = {"step": [nan] * count, "epoch": [nan] * count, "clock": [nan] * count}
        values: list[tuple[str, list[float], list[int] | None]] = []
        for column, texts in zip(self._columns, zip(*several.cells, strict=True), strict=True):
            rows = None if all(texts) else [row for row, text in enumerate(texts) if text]
            try:
                numbers = list(map(float, texts if rows is None else [texts[row] for row in rows]))
            except ValueError:
                return False
            if column.role == "value":
                values.append((column.name, numbers, rows))
            elif rows is not None:
                return False
            else:
                where[column.role] = numbers
        if not any(rows is None for _, _, rows in values) or where["clock"][0] == where["clock"][0]:
            return False
        self.log.columns(values, where["step"], where["epoch"], several.lines)
        return True

    def _one(self, row: list[str], line: int) -> str:
        """One row. Says what is wrong with it, if anything is."""
        where = {"step": nan, "epoch": nan, "clock": nan}
        numbers = []
        for text, column in zip(row, self._columns, strict=True):
            if not text.strip() or column.numeric is False:
                continue
            number = self._number(text)
            if number is None:
                if column.numeric:
                    return f"{text.strip()!r} under {column.name} is no number"
                column.numeric = False
                continue
            column.numeric = True
            if column.role == "value":
                numbers.append((column.name, number))
            elif where[column.role] != where[column.role]:
                where[column.role] = number
        self.log.numbers(numbers, where["step"], where["epoch"], where["clock"], line)
        return ""

    def _by_names(self, row: list[str], line: int) -> str:
        """One row of a log with a column that says 'train' or 'val'; one without a name is a frame's own count."""
        named: dict[str, object] = {}
        for text, column in zip(row, self._columns, strict=True):
            if column.name and text.strip():
                number = None if column.role == "part" else self._number(text)
                named[column.name] = text if number is None else number
        self.log.entry(named, line)
        return ""

    def _number(self, text: str) -> float | None:
        try:
            return float(text.replace(",", ".") if self._decimal_comma else text)
        except ValueError:
            return number_of(text)


def _columns(header: list[str], path: Path) -> list[_Column]:
    if tuple(map(normalised, header)) == _EXPORT:
        own = path.stem.rpartition("tag-")[2] or path.stem
        return [_Column("Wall time", "clock"), _Column("Step", "step"), _Column(own, "value")]
    return [_Column(name.strip(), role_of(name)) if name.strip() else _Column("", "part") for name in header]
