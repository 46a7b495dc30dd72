"""What a signal declares about itself, and how it looks into the user's calls without being noticed."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from torch import nn

from ..source.module_calls import Watching, after_call, before_call
from .events import Listener
from .reading import Reading

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

    ONLY_LOOKS = True
    #: The name by which checks request it. A base class of several signals has none.
    NAME: ClassVar[str]
    COST: ClassVar[Cost]
    #: Whether it receives events after all other signals of a run, whatever their order in the request.
    LAST: ClassVar[bool] = False

    def __init__(self, run: Run) -> None:
        self._run = run

    def _reading(self) -> Reading:
        """Around whatever looks at the user's tensors outside of an event: in a hook, or in a function mode."""
        return Reading(self._run, self)

    def _before_call(
        self, hook: Callable[..., object], module: nn.Module | None = None, *, with_kwargs: bool = False
    ) -> Watching:
        """`hook` looks at each call of this module or, without one, of any. It changes nothing."""
        return before_call(self._looking(hook), module, with_kwargs=with_kwargs)

    def _after_call(
        self,
        hook: Callable[..., object],
        module: nn.Module | None = None,
        *,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> Watching:
        return after_call(self._looking(hook), module, with_kwargs=with_kwargs, always_call=always_call)

    def _looking(self, hook: Callable[..., object]) -> Callable[..., None]:
        def looks(*facts: Any) -> None:
            with self._reading():
                hook(*facts)

        return looks
