"""Whether the loss is computed with derivatives of the model: Hamiltonian networks, energies, scores, penalties.

A network that is used only through its gradient has no use for its last bias.
"""

from __future__ import annotations

from typing import Any

import torch

from ...run.run import Run
from ...run.signal import Cost, Signal


class Derivatives(Signal):
    NAME, COST = "derivatives", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._original: Any = None

    def run_begins(self) -> None:
        self._original = torch.autograd.grad

        def grad(*args: Any, **kwargs: Any) -> Any:
            self._run.trace.wiring.through_derivatives |= bool(kwargs.get("create_graph"))
            return self._original(*args, **kwargs)

        torch.autograd.grad = grad

    def run_ends(self) -> None:
        if self._original is not None:
            torch.autograd.grad = self._original
            self._original = None
