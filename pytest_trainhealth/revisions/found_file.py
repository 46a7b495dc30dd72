"""The file in which a process that was started for it looks for a training. It is imported, so that its last lines run.

A script that calls `diagnose()` below its functions, without `if __name__ == "__main__":`, would call it again in every
process that `diagnose()` starts, and each of these would start its own: their number grows without end.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

_imported: list[Path] = []


class Unguarded(Exception):
    """The file examines a training while it is imported; the message says what to change."""


def function_in(file: Path, name: str) -> Any:
    """A function of a file that need not be on the import path; None if there is no such file or function."""
    if not file.is_file():
        return None
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)  # pickle looks for classes there
    _imported.append(file)
    try:
        spec.loader.exec_module(module)
    finally:
        _imported.pop()
    return getattr(module, name, None)


def refuse_while_imported(call: str) -> None:
    """What examines a training says so here, before it starts anything."""
    if _imported:
        raise Unguarded(
            f"{_imported[-1].name} calls {call}() when it is imported, as a process of its own has to import it: "
            'put the call under `if __name__ == "__main__":`'
        )
