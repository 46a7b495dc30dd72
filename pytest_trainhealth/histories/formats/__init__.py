"""One file per format, found by its name. Each defines

``recognises``  ``(path, beginning) -> bool``: by the file's name and its first characters; empty for a folder
``read``        ``(path, shown) -> History``; raises `UnreadableHistory` with the line
``TURN``        its place among the others, where a file could be of several formats; the lowest is asked first
"""

from __future__ import annotations

import functools
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from ...records.history import History


class Format(Protocol):
    TURN: int

    def recognises(self, path: Path, beginning: str) -> bool: ...

    def read(self, path: Path, shown: str) -> History: ...


@functools.cache
def formats() -> tuple[Format, ...]:
    names = [found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_")]
    modules = [cast(Format, import_module(f".{name}", __name__)) for name in names]
    return tuple(sorted(modules, key=lambda each: each.TURN))
