"""Outlets, one file each. They read records only: no torch, and no judgement of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class RunResults:
    """What a run has found so far."""

    #: Every test that was selected has its outcome.
    complete: bool
    interrupted: bool
    #: As JSON, each with the node id of its test, its place, and whether the test is expected to fail.
    verdicts: Sequence[dict[str, Any]] = ()
    #: Tests that raised, or whose worker died: node id, outcome and message.
    errors: Sequence[dict[str, str]] = ()
    #: The run is over, and this is the last time that it is written.
    ended: bool = False


class FileReport(Protocol):
    """What a module must offer if a row of the settings names it as its `report`."""

    def text(self, results: RunResults) -> str:
        """The whole content of its file: asked before the first test, after each one, and when the run ends."""


@runtime_checkable
class GrowingReport(FileReport, Protocol):
    """A report that need not be written as a whole after each test: verdicts are added before its end."""

    def added(self, verdicts: Sequence[Mapping[str, Any]], *, first: bool) -> str:
        """What stands there for these verdicts; `first`: no other ones come before."""

    def end(self, results: RunResults) -> str:
        """What `text` ends with, after the verdicts."""


def file_report(name: str) -> FileReport:
    module: Any = import_module(f".{name}", __name__)
    return module  # type: ignore[no-any-return]
