"""Lets pytest-benchmark keep the time of the steps, so that its table, JSON and options show them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .checks.keeps_throughput import WARM_UP, measured
from .trace import Trace


def measured_by(benchmark: Any) -> Callable[[Callable[[], object], int], None]:
    """Drives a run through `benchmark.pedantic`: each step is one round, the warm-up is not counted.

    A watched test is one round as a whole: its steps are its own business.
    """

    def drive(once: Callable[[], object], most: int) -> None:
        warm_up = min(WARM_UP, most - 1)
        benchmark.pedantic(once, rounds=most - warm_up, iterations=1, warmup_rounds=warm_up)

    return drive


def note_speed(benchmark: Any, trace: Trace) -> None:
    if len(trace.computes) > WARM_UP:
        benchmark.extra_info.update(measured(trace))
