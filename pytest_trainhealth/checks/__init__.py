"""One file per check, named like its marker; its docstring is its page. Checks read traces only: no torch here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

from ..records.judgement import FailedRun, Judgement
from ..records.trace import Trace


class Check(Protocol):
    """What a check's module offers. `settings` are the values that apply to this item."""

    #: Files of `observe/` whose signals it needs.
    SIGNALS: tuple[str, ...]
    #: One batch again and again, or one after the other.
    ONE_BATCH: bool
    #: How many steps it takes as a rule.
    STEPS: int
    #: Whether a learning rate may be what it has found.
    ABOUT_HYPERPARAMETERS: bool

    def max_steps(self, settings: Mapping[str, Any]) -> int:
        """The most steps that a run may take."""

    def stop_when(self, trace: Trace, settings: Mapping[str, Any]) -> bool:
        """Asked after every step: is the promise kept, or is it plain that it will not be?"""

    def judge(self, trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = ...) -> Judgement:
        """`controls` are the traces of those asked for so far, by the label of their cure."""

    def result(self, trace: Trace, failed_run: FailedRun | None = None) -> str:
        """A run in a few characters, for the table of re-runs: '2.303 -> 0.021'."""


@functools.cache
def check(name: str) -> Check:
    module: Any = import_module(f".{name}", __name__)
    return module  # type: ignore[no-any-return]


def check_page(name: str) -> str:
    return inspect.getdoc(import_module(f".{name}", __name__)) or ""
