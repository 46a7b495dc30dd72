"""Lets pytest-benchmark keep the time of the steps, so that its table, JSON and options show them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .pace import measured, step_times, warm_up
from .trace import Trace


def measured_by(benchmark: Any, steps: int) -> Callable[[Callable[[], object], int], None]:
    """Drives a run through `benchmark.pedantic`: each step is one round. The warm-up goes before, until it is over.

    A watched test is one round as a whole until its steps are known (`note_speed`).
    """

    def drive(once: Callable[[], object], most: int) -> None:
        times: list[float] = []
        while len(times) + 1 < most and warm_up(times) is None:
            took = once()
            if not isinstance(took, float):
                break  # the training ended, and what comes now is empty
            times.append(took)
        aside: list[float] = []

        def noted() -> object:
            began = time.perf_counter()
            took = once()
            if isinstance(took, float):
                aside.append(time.perf_counter() - began - took)
            return took

        benchmark.pedantic(noted, rounds=max(min(most - len(times), steps), 1), iterations=1)
        _take_off(benchmark, aside)

    return drive


def _take_off(benchmark: Any, aside: list[float]) -> None:
    """What we did beside the steps is no time of theirs: listening, and collecting garbage where memory grows, which
    takes half a second. Nor are rounds in which nothing was done any more, after the time budget was used up."""
    rounds = _rounds(benchmark)
    if rounds is not None and aside:
        rounds[:] = [max(took - ours, 0.0) for took, ours in zip(rounds, aside, strict=False)]
    elif rounds is not None:
        del rounds[1:]


def note_speed(benchmark: Any, trace: Trace, *, watched: bool) -> None:
    """With the steps of a watched test as rounds: whole tests and steps in one table would compare nothing."""
    benchmark.extra_info.update(measured(trace))
    warm, rounds = warm_up(step_times(trace)), _rounds(benchmark)
    if watched and rounds is not None and warm is not None and len(trace.computes) > warm:
        rounds[:] = step_times(trace)[warm:]


def _rounds(benchmark: Any) -> list[float] | None:
    """The seconds that pytest-benchmark has noted. Not public, so they may be elsewhere one day."""
    rounds = getattr(getattr(benchmark.stats, "stats", None), "data", None)
    return rounds if isinstance(rounds, list) else None
