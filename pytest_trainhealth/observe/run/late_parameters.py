"""Parameters of layers that the first forward pass makes: no optimizer that was made before can hold them."""

from __future__ import annotations

from contextlib import ExitStack

from ..source.creation_sites import module_sites_noted
from .events import Listener
from .run import Run

#: Steps after which models are searched for new parameters. By judgement: a layer that waits for its input's shape is
#: made when it first runs; the second step is for what a condition keeps from the first.
_STEPS = 2


class LateParameters(Listener):
    """Subscribed before the signals, which then find the new parameters at their next step."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._noting = ExitStack()

    def run_begins(self) -> None:
        if self._run.models and self._run.creation_sites is not None:
            self._noting.enter_context(module_sites_noted(self._run.creation_sites))

    def step_ends(self) -> None:
        if self._run.step < _STEPS:
            self._run.add_late_parameters()
        if self._run.step + 1 >= _STEPS:
            self._noting.close()

    def run_ends(self) -> None:
        self._noting.close()
