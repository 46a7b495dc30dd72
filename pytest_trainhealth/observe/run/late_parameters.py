"""What becomes known of parameters only while training: layers that the first forward pass makes, and thawed ones.

No optimizer that was made before can hold what a forward pass makes. A part that is frozen at first may be trained
later, or at every second step.
"""

from __future__ import annotations

from contextlib import ExitStack

from ..source.creation_sites import module_sites_noted
from .events import Listener
from .run import Run

#: Steps after which models are searched for new parameters. By judgement: a layer that waits for its input's shape is
#: made when it first runs; the second step is for what a condition keeps from the first.
_STEPS = 2
#: Steps at which frozen parameters are asked whether they still are; later, only sampled ones. By judgement: turns
#: are short, and a part that thaws late has many steps left.
_THAWED_AT_FIRST = 8


class LateParameters(Listener):
    """Subscribed before the signals, which then find the new parameters at their next step."""

    ONLY_LOOKS = True

    def __init__(self, run: Run) -> None:
        self._run = run
        self._noting = ExitStack()

    def run_begins(self) -> None:
        if self._run.models and self._run.creation_sites is not None:
            self._noting.enter_context(module_sites_noted(self._run.creation_sites))

    def backward_begins(self, roots: object) -> None:
        if self._run.step < _THAWED_AT_FIRST or self._run.sampled:
            for record in self._run.trace.frozen:
                record.trainable = self._run.parameters[record.name].requires_grad

    def step_ends(self) -> None:
        if self._run.step < _STEPS:
            self._run.add_late_parameters()
        if self._run.step + 1 >= _STEPS:
            self._noting.close()

    def run_ends(self) -> None:
        self._noting.close()
