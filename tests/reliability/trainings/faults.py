"""What is raised, where, and at which passage.

The passages are counted in an object of pytest's, which the package does not look into: a count that was put back with
everything else would raise in the first run or never.
"""

from __future__ import annotations

import asyncio
import unittest
from typing import Any

import pytest


class OwnInterrupt(BaseException):
    """Derives from nothing that anybody catches."""


class Unprintable(RuntimeError):
    """An error that fails to say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")

    __repr__ = __str__


class WithArguments(Exception):
    """Cannot be made again from its `args`, as copying and pickling would."""

    def __init__(self, code: int, *, where: str) -> None:
        super().__init__(f"{code} {where}")
        self.code, self.where = code, where


def _endless(depth: int = 0) -> int:
    return _endless(depth + 1) + 1


def _really_recursive() -> BaseException:
    try:
        _endless()
    except RecursionError as error:
        return error
    raise AssertionError


FAULTS: dict[str, Any] = {
    "RuntimeError": lambda: RuntimeError("out of cheese"),
    "ValueError": lambda: ValueError(""),
    "KeyError": lambda: KeyError(("a", 1)),
    "AssertionError": lambda: AssertionError(),
    "OSError": lambda: OSError(28, "No space left on device"),
    "StopIteration": lambda: StopIteration(3),
    "MemoryError": lambda: MemoryError(),
    "RecursionError": _really_recursive,
    "KeyboardInterrupt": lambda: KeyboardInterrupt(),
    "SystemExit": lambda: SystemExit(3),
    "GeneratorExit": lambda: GeneratorExit(),
    "CancelledError": lambda: asyncio.CancelledError(),
    "OwnInterrupt": lambda: OwnInterrupt(),
    "Skipped": lambda: pytest.skip.Exception("not today"),
    "SkipTest": lambda: unittest.SkipTest("not today"),
    "Unprintable": lambda: Unprintable(),
    "WithArguments": lambda: WithArguments(3, where="here"),
    "Warning": lambda: UserWarning("turned into an error"),
    "ExceptionGroup": lambda: ExceptionGroup("several", [ValueError(1), KeyError(2)]),
}
_LEFT, _RAISED = pytest.StashKey[int](), pytest.StashKey[list[BaseException]]()
POINTS = (
    "step begins", "forward", "forward hook", "after forward", "backward", "after backward", "optimizer hook",
    "after update", "schedule", "loader begins", "loader goes on", "end of life",
)  # fmt: skip


class Trip:
    """Raises when its point is passed for the n-th time: once, or from then on."""

    __slots__ = ("_fault", "_kept", "_point", "_stays")

    def __init__(self, fault: str, point: str, at: int, stays: bool) -> None:
        self._fault, self._point, self._stays = fault, point, stays
        self._kept = pytest.Stash()
        self._kept[_LEFT], self._kept[_RAISED] = at, []

    def __call__(self, point: str) -> None:
        if point != self._point:
            return
        self._kept[_LEFT] -= 1
        left = self._kept[_LEFT]
        if left == 0 or (left < 0 and self._stays):
            error = FAULTS[self._fault]()
            self._kept[_RAISED].append(error)
            raise error from None

    def raised(self) -> list[BaseException]:
        """What was raised, taken out of here: an error holds the frames that it passed."""
        found, self._kept[_RAISED] = self._kept[_RAISED], []
        return found


class Mortal:
    """Raises when it is dropped."""

    def __init__(self, trip: Trip) -> None:
        self._trip = trip

    def __del__(self) -> None:
        self._trip("end of life")
