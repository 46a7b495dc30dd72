"""Lets pytest-benchmark keep the time of the steps, so that its table, JSON and options show them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .checks.keeps_throughput import WARM_UP


def measured_by(benchmark: Any) -> Callable[[Callable[[], None], int], None]:
    """Drives a run's steps through `benchmark.pedantic`: each step is one round, the warm-up is not counted."""

    def drive(once: Callable[[], None], most: int) -> None:
        benchmark.pedantic(once, rounds=max(1, most - WARM_UP), iterations=1, warmup_rounds=WARM_UP)

    return drive
