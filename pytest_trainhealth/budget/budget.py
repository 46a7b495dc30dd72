"""The seconds that one check and its diagnosis may take. Only a runaway is cut: what is judged is planned in steps.

Time is looked at lap by lap. A lap is a piece of work that is not divided: a step, one call of a model, the building of
a training. No lap begins after the budget is used up, so a check ends within its budget and one lap more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import wording
from ..progress.progress import Progress, Show
from . import monotonic
from .one_time import FirstTimes

#: Seconds of one-time costs that do not count. By judgement: importing a large framework and compiling a model take up
#: to half a minute each on a busy runner; what imports or compiles for longer than a minute does so again and again.
MOST_FREE = 60.0
#: The fewest seconds after which a step is said to hang. By judgement: below a second a busy machine may be the reason.
_LEAST_HANGING = 1.0


class Budget:
    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds
        self._first_times = FirstTimes()
        self._began = self._lap_began = monotonic.now()
        #: Seconds of one-time costs: all of them, and those that do not count.
        self._one_time = self._free = 0.0
        #: How far the check has come, where somebody shows it, and when they are told next.
        self._progress: Progress | None = None
        self._tell_at = math.inf

    def shown_on(self, show: Show, check: str, training: str) -> None:
        """From now on, at the end of a lap, `show` is told how far the check has come."""
        self._progress = Progress(show, check, training, monotonic.now())
        self._tell_at = self._progress.tell_at

    def next_run(self, phase: str) -> None:
        if self._progress is not None:
            self._progress.begins(phase)

    def follows(self, losses: Sequence[float], steps: int | None = None) -> None:
        """The run that has begun adds a loss to this list in each step; `steps`: it takes no more than these."""
        if self._progress is not None:
            self._progress.follows(losses, steps, monotonic.now())

    @property
    def left(self) -> float:
        return self.seconds - (monotonic.now() - self._began - self._free)

    def over(self) -> bool:
        """Ends the current lap, begins the next one, and says whether the budget is used up."""
        now = monotonic.now()
        if self._first_times.any_since():
            self._set_free(now - self._lap_began)
        self._lap_began = now
        if now >= self._tell_at and self._progress is not None:
            self._progress.tell(now, self.left)
            self._tell_at = self._progress.tell_at
        return self.left < 0

    def hangs(self) -> bool:
        """The current lap alone has taken as long as the whole budget, and none of that is a one-time cost.

        What was imported or compiled meanwhile begins a new lap: it is on its way, as long as there is time for that.
        """
        if self._first_times.any_since() and self._one_time < MOST_FREE:
            now = monotonic.now()
            self._set_free(now - self._lap_began)
            self._lap_began = now
        return self.until_hanging <= 0

    @property
    def until_hanging(self) -> float:
        """Seconds until the current lap hangs."""
        return self.hanging_after - (monotonic.now() - self._lap_began)

    @property
    def hanging_after(self) -> float:
        return max(self.seconds, _LEAST_HANGING)

    def _set_free(self, seconds: float) -> None:
        self._one_time += seconds
        self._free = min(self._one_time, MOST_FREE)

    def used_up(self, undone: str) -> str:
        """The sentence for it, with what was left undone."""
        return f"budget of {wording.short(self.seconds)} s used up: {undone}"

    @property
    def remark(self) -> str:
        """For the report, where one-time costs were too high to be left out altogether."""
        if self._one_time <= MOST_FREE:
            return ""
        took, free = wording.short(self._one_time), wording.short(MOST_FREE)
        return f"steps that imported or compiled took {took} s, of which {free} s do not count towards the budget"
