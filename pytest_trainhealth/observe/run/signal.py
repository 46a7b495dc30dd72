"""What a signal declares of itself: its name, what it costs, and whether it has to be told last."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from .events import Listener

if TYPE_CHECKING:
    from .run import Run


class Cost(Enum):
    """What taking a signal costs, and so who takes it."""

    #: A few numbers at each update or backward pass: every run has it.
    ALWAYS = "always"
    #: It leaves off after the first steps, so that a check can afford it; a closer look has the one that goes on.
    BRIEF = "brief"
    #: Norms, copies or hooks, at sampled steps as a rule: for the checks that name it, and for every closer look.
    CLOSE = "close"
    #: It is about time and memory, and may slow the steps that it looks at: only where it is asked for by its name.
    SPEED = "speed"


class Signal(Listener):
    """A listener that writes into the trace. It has a file of its own, which is called what the signal is called."""

    #: What checks ask for it by. A base that other signals are made of has none.
    NAME: ClassVar[str]
    COST: ClassVar[Cost]
    #: Told after all others of a run, in whichever order they were asked for.
    TOLD_LAST: ClassVar[bool] = False

    def __init__(self, run: Run) -> None:
        self._run = run
