"""What a slow step spends its time on: the user's lines and their calls, torch's operators, waiting for the device."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor
from torch.optim import Optimizer
from torch.profiler import profile, supported_activities

from ....records.comparison import NO_OPERATORS
from ....records.speed import SyncRecord
from ....tensors.function_modes import FunctionMode
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place
from .call_times import CallTimes
from .kept_graphs import LAST
from .line_times import LineTimes, slowest_line, slowest_loop

#: The steps that each of the three measures: one after the other, because each would show up in the others.
CALLS, OPERATORS, SYNCS = range(LAST + 1, LAST + 4), range(LAST + 4, LAST + 5), range(LAST + 5, LAST + 6)
LINES, UNTRACED = range(LAST + 6, LAST + 9), range(LAST + 9, LAST + 12)
STEPS = UNTRACED.stop
#: Most operators shown to the reader: 3 lines, by judgement.
_MOST_OPERATORS = 3
#: Functions that make Python wait until the device has caught up.
_WAITS = {"item", "tolist", "cpu", "numpy", "nonzero", "__bool__", "__float__", "__int__", "__index__"}


def device_of(tensor: Tensor) -> str:
    return tensor.device.type


class SlowCalls(Signal):
    NAME, COST = "slow_calls", Cost.SPEED

    def __init__(self, run: Run) -> None:
        self._run = run
        self._open = ExitStack()
        self._times = CallTimes()
        self._lines, self._untraced = LineTimes(), LineTimes(traced=False)
        self._profile: Any = None
        self._syncs = Syncs()

    def step_begins(self, batch: object) -> None:
        self._open.close()
        step = self._run.step
        if step in CALLS:
            self._open.enter_context(self._times)
        elif step in OPERATORS:
            self._profile = profile(activities=supported_activities())  # type: ignore[no-untyped-call]
            with _quietly():
                self._profile.__enter__()
            self._open.callback(self._stop_profile)
        elif step in SYNCS:
            self._open.enter_context(self._syncs)
        elif step in LINES:
            self._open.enter_context(self._lines)
        elif step in UNTRACED:
            self._open.enter_context(self._untraced)

    def backward_begins(self, roots: list[Tensor]) -> None:
        self._phase_begins()

    def backward_ends(self) -> None:
        self._phase_ends()

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if not has_closure:
            self._phase_begins()

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if not has_closure:
            self._phase_ends()

    def _phase_begins(self) -> None:
        for times in (self._lines, self._untraced):
            times.phase_begins()

    def _phase_ends(self) -> None:
        for times in (self._lines, self._untraced):
            times.phase_ends()

    def step_ends(self) -> None:
        self._open.close()

    def _complete(self, steps: range) -> bool:
        """Whether all of these steps were taken. A watched test may end sooner: when its last step ended is unknown."""
        return self._run.step >= steps.stop + (self._run.feed is None)

    def _stop_profile(self) -> None:
        with _quietly():
            self._profile.__exit__(None, None, None)

    def run_ends(self) -> None:
        self._open.close()
        speed = self._run.trace.speed
        # profiling makes a step longer, so shares are relative to a step that was not profiled
        whole = self._untraced.whole if self._complete(UNTRACED) else None
        if self._complete(CALLS):
            speed.calls = self._times.records(steps=len(CALLS), whole=whole)
        if self._complete(UNTRACED):  # otherwise the time that tracing takes is unknown
            speed.line = slowest_line(self._lines, self._untraced)
            speed.loop = slowest_loop(self._lines, self._untraced)
        if self._profile is not None:
            speed.operators = _slowest(self._profile.key_averages())
            self._profile = None
        speed.syncs = self._syncs.records()


class Syncs(FunctionMode):
    """Counts, line by line, the calls that wait for the device. For a tensor on the CPU there is no wait."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: Counter[tuple[str, str, Any]] = Counter()

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in _WAITS and args and isinstance(args[0], Tensor) and device_of(args[0]) not in ("cpu", "meta"):
            self._seen[name, device_of(args[0]), user_place()] += 1
        return func(*args, **(kwargs or {}))

    def records(self) -> list[SyncRecord]:
        return [
            SyncRecord(name, count / len(SYNCS), device, place)
            for (name, device, place), count in self._seen.most_common()
            if place is not None  # otherwise a call by torch itself, or by us
        ]


@contextmanager
def _quietly() -> Iterator[None]:
    """Some builds of torch print a line at each start and stop of the profiler, bypassing Python's own streams."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _slowest(events: Any) -> list[tuple[str, float]]:
    """Operators by their own time, measured on the device if they ran there."""
    own = {
        e.key: max(e.self_cpu_time_total, getattr(e, "self_device_time_total", 0.0))
        for e in events
        if not e.key.startswith(NO_OPERATORS)
    }
    total = max(sum(own.values()), 1e-12)
    slowest = sorted(own.items(), key=lambda item: -item[1])[:_MOST_OPERATORS]
    return [(name, seconds / total) for name, seconds in slowest]
