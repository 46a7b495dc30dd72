"""Lets pytest-benchmark keep the time of the steps, so that its table, JSON and options show them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .pace import measured, warm_up
from .trace import Trace


def measured_by(benchmark: Any, steps: int) -> Callable[[Callable[[], object], int], None]:
    """Drives a run through `benchmark.pedantic`: each step is one round. The warm-up goes before, until it is over.

    A watched test is one round as a whole: its steps are its own business.
    """

    def drive(once: Callable[[], object], most: int) -> None:
        times: list[float] = []
        while len(times) + 1 < most and warm_up(times) is None:
            took = once()
            if not isinstance(took, float):
                break  # the training ended, and what comes now is empty
            times.append(took)
        benchmark.pedantic(once, rounds=max(min(most - len(times), steps), 1), iterations=1)

    return drive


def note_speed(benchmark: Any, trace: Trace) -> None:
    benchmark.extra_info.update(measured(trace))
