"""What a signal declares about itself: its name, its cost, and whether it has to receive events last."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from .events import Listener

if TYPE_CHECKING:
    from .run import Run


class Cost(Enum):
    """What it costs to record a signal, which decides the runs that record it."""

    #: A few numbers at each update or backward pass: every run has it.
    ALWAYS = "always"
    #: Stops after the first steps, so that a check can afford it; a closer look uses the signal that continues.
    BRIEF = "brief"
    #: Norms, copies or hooks, usually at sampled steps: for the checks that name it, and for every closer look.
    CLOSE = "close"
    #: Measures time and memory, and may slow down the steps it measures: only for runs that name it.
    SPEED = "speed"
    #: Fingerprints of everything, for comparing whole runs: only for runs that name it.
    STATE = "state"


class Signal(Listener):
    """A listener that writes into the trace. Each signal has its own file, which has the signal's name."""

    #: The name by which checks request it. A base class of several signals has none.
    NAME: ClassVar[str]
    COST: ClassVar[Cost]
    #: Whether it receives events after all other signals of a run, whatever their order in the request.
    LAST: ClassVar[bool] = False

    def __init__(self, run: Run) -> None:
        self._run = run
