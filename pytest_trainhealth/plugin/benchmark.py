"""pytest-benchmark: finds out whether it can measure in this run, and if so, lets it time the steps.

Its table, JSON and options then cover them. Code that reads traces is imported late: most callers only ask whether
pytest-benchmark can measure.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from ..records.trace import Trace


def fixture(config: pytest.Config, request: Callable[[], Any] | None) -> tuple[Any, str | None]:
    """The `benchmark` fixture, or the reason why nothing can be measured with it.

    `request` is called only if nothing prevents measuring: a fixture that is requested and not used gives a warning.
    """
    if request is None:
        return None, "it is measured with the benchmark fixture, which only a test function can request"
    reason = why_not(config)
    if reason is not None:
        return None, reason
    benchmark = request()
    if not hasattr(benchmark, "stats"):  # pytest-codspeed has a fixture of the same name
        return None, f"the benchmark fixture of {type(benchmark).__module__.partition('.')[0]} keeps no statistics"
    if not getattr(benchmark, "enabled", True):
        return None, "pytest-benchmark is disabled in this run"
    # It measures once in a test. Any later check is timed without it, and its figures are only in the verdict.
    return (benchmark if getattr(benchmark, "_mode", None) is None else None), None


def why_not(config: pytest.Config) -> str | None:
    if hasattr(config, "workerinput"):
        return "pytest-benchmark does not measure under xdist: run it without -n"
    if not any(config.pluginmanager.has_plugin(name) for name in ("benchmark", "pytest_benchmark.plugin", "codspeed")):
        return "it is measured with pytest-benchmark, which is not installed or is switched off"
    enabled = config.getoption("benchmark_enable", default=False)  # overrides a --benchmark-disable in an ini file
    for option in ("benchmark_skip", *(() if enabled else ("benchmark_disable",))):
        if config.getoption(option, default=False):
            return f"pytest-benchmark measures nothing with --{option.replace('_', '-')}"
    return None


class BenchmarkTimer:
    """A `Timer` that lets pytest-benchmark time the steps of a run."""

    def __init__(self, benchmark: Any, steps: int) -> None:
        self._benchmark, self._steps = benchmark, steps

    def drive(self, once: Callable[[], object], most: int) -> None:
        """Warms up first, then runs each step as one round of `benchmark.pedantic`.

        A watched test is one round as a whole, until `finished` replaces it by its steps.
        """
        from ..analysis.timing import warm_up

        times: list[float] = []
        while len(times) + 1 < most and warm_up(times) is None:
            took = once()
            if not isinstance(took, float):
                break  # the training has ended, and further calls do nothing
            times.append(took)
        overhead: list[float] = []

        def noted() -> object:
            began = time.perf_counter()
            took = once()
            if isinstance(took, float):
                overhead.append(time.perf_counter() - began - took)
            return took

        self._benchmark.pedantic(noted, rounds=max(min(most - len(times), self._steps), 1), iterations=1)
        _take_off(self._benchmark, overhead)

    def finished(self, trace: Trace, *, watched: bool) -> None:
        """Makes the steps of a watched test its rounds: a table that mixes whole tests and steps compares nothing."""
        from ..analysis.timing import measured, step_times, warm_up

        self._benchmark.extra_info.update(measured(trace))
        warm, rounds = warm_up(step_times(trace)), _rounds(self._benchmark)
        if not watched or rounds is None:
            return
        if warm is not None and len(trace.speed.computes) > warm:
            rounds[:] = step_times(trace)[warm:]
        elif not trace.speed.computes:
            _withdraw(self._benchmark, rounds)


def _take_off(benchmark: Any, overhead: list[float]) -> None:
    """Subtracts what the plugin did around each step: listening, and collecting garbage where memory grows, which takes
    half a second. Drops the empty rounds after the time budget was used up."""
    rounds = _rounds(benchmark)
    if rounds is not None and overhead:
        rounds[:] = [max(took - ours, 0.0) for took, ours in zip(rounds, overhead, strict=False)]
    elif rounds is not None:
        _withdraw(benchmark, rounds)


def _withdraw(benchmark: Any, rounds: list[float]) -> None:
    """No step was taken: a row with the time that this took would read like a very fast training.

    A benchmark without data is left out of the table, and one with an error is left out of the JSON as well.
    """
    rounds.clear()
    benchmark.has_error = True


def _rounds(benchmark: Any) -> list[float] | None:
    """The seconds that pytest-benchmark has recorded. Not a public attribute, so a new version may move it."""
    rounds = getattr(getattr(benchmark.stats, "stats", None), "data", None)
    return rounds if isinstance(rounds, list) else None
