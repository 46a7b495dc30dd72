"""Graphs that torch.compile makes while a training runs, and why it has to make them again."""

from __future__ import annotations

import sys
from typing import Any

import torch

from ...calls.compiled import compiled_graphs, is_compiled
from ...run.run import Run
from ...run.signal import Cost, Signal


class Compilations(Signal):
    """Graphs that torch.compile has made in each step, read from its own counters once it has been imported.

    This run could reuse graphs of an earlier one, which would hide the time it takes to make them. The compiler can
    only discard all its graphs, whatever they belong to; so that is done only if this training, or one before it, has
    something compiled.
    """

    NAME, COST = "compilations", Cost.SPEED

    #: Whether earlier runs in this process have left graphs.
    left = False

    def __init__(self, run: Run) -> None:
        self._run = run
        if compiled_graphs() and (Compilations.left or any(is_compiled(module) for _, module in run.named_modules())):
            torch.compiler.reset()
            Compilations.left = False
        self._known = compiled_graphs()

    def step_ends(self) -> None:
        now = compiled_graphs()
        if now > self._known:
            self._run.trace.speed.compiled[self._run.step] = now - self._known
        self._known = now

    def run_ends(self) -> None:
        if self._run.trace.speed.compiled:
            self._run.trace.speed.compiled_because = _reason()
            Compilations.left = True


def _reason() -> str:
    """The reason in the compiler's words, without its numbering. Not a public API, so it may disappear."""
    dynamo: Any = sys.modules.get("torch._dynamo.utils")
    known: list[Any] = getattr(dynamo, "get_compilation_metrics", list)()
    message = str(getattr(known[-1], "recompile_reason", None) or "") if known else ""
    return message.partition("\n")[0].partition(": ")[2]
