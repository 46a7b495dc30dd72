"""Outlets, one file each. They read records only: no torch, and no judgement of their own."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol


class FileReport(Protocol):
    """What a module must offer if a row of the settings names it as its `report`."""

    def write(self, path: Path, verdicts: Sequence[dict[str, Any]], *, complete: bool, interrupted: bool) -> None:
        """All verdicts so far: before the first test, after each one, and when the run ends."""


def file_report(name: str) -> FileReport:
    module: Any = import_module(f".{name}", __name__)
    return module  # type: ignore[no-any-return]
