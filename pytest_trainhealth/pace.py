"""From the times of the steps to figures: what was warm-up, how fast it was after, and what a step consists of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from statistics import median

from .facts import Symptom
from .records.speed import CallRecord
from .trace import Trace

#: Warm-up lasts until three steps bring no new best time by more than a tenth: memory pools fill, code paths warm up,
#: a DataLoader starts its workers. The best, because other work on the machine only ever makes steps slower.
_LOOK, _STILL_FALLS = 3, 0.9
LEAST_WARM_UP, MOST_WARM_UP = 5, 15

#: Of the time that the watched steps take, forward pass only: with its backward pass it is the larger part.
_DOMINANT = 0.4
#: These run the whole backward pass; they are not a line of their own.
_WHOLE_PHASES = {"run_backward"}

PHASES = ("wait", "transfer", "forward", "backward", "optimizer", "rest")


def warm_up(seconds: Sequence[float]) -> int | None:
    """How many of the first steps are warm-up. None as long as that is not known."""
    for count in range(LEAST_WARM_UP, min(len(seconds), MOST_WARM_UP) + 1):
        if min(seconds[count - _LOOK : count]) >= _STILL_FALLS * min(seconds[: count - _LOOK]):
            return count
    return MOST_WARM_UP if len(seconds) >= MOST_WARM_UP else None


def step_times(trace: Trace) -> list[float]:
    return [wait + work for wait, work in zip(trace.waits, trace.computes, strict=False)]


def timed_steps(trace: Trace) -> int:
    """How many steps count."""
    warm = warm_up(step_times(trace))
    return 0 if warm is None else len(trace.computes) - warm


def measured(trace: Trace) -> dict[str, float | None]:
    """Medians over the steps after the warm-up. Nothing where no step counts."""
    if timed_steps(trace) < 1:
        return {}
    times = step_times(trace)
    warm = warm_up(times)
    assert warm is not None
    step, waits = median(times[warm:]), trace.waits[warm : len(times)]
    samples, tokens = trace.batch_size, median(trace.speed.tokens) if trace.speed.tokens else None
    flops, peak = trace.speed.flops, trace.speed.peak_memory
    return {
        "step_seconds": step,
        "samples_per_second": samples / step if samples else None,
        "tokens_per_second": tokens / step if tokens else None,
        "data_wait": sum(waits) / max(sum(times[warm:]), 1e-12),
        **{f"{phase}_ms": 1e3 * seconds for phase, seconds in split(trace, warm).items()},
        "flops_per_step": flops,
        "flops_per_second": None if flops is None else flops / step,
        "peak_memory_mb": None if peak is None else peak / 1e6,
        "memory_growth_mb": _growth(trace, warm),
        "warm_up_steps": float(warm),
    }


def split(trace: Trace, warm: int) -> dict[str, float]:
    """Seconds of each phase, medians. A watched test's steps that were met halfway have no phases: all is rest."""
    found = {step: phases for step, phases in trace.speed.phases.items() if warm <= step < len(trace.computes)}
    known = {
        name: _median(getattr(phases, name) for phases in found.values())
        for name in ("transfer", "forward", "backward", "optimizer")
    }
    rest = _median(max(trace.computes[step] - phases.known, 0.0) for step, phases in found.items())
    if not found:
        rest = median(trace.computes[warm:])
    return {"wait": median(trace.waits[warm : len(trace.computes)]), **known, "rest": rest}


def too_few_samples(symptom: Symptom) -> bool:
    """The gate that failed asks for more samples per second; others ask for less of something."""
    return symptom.measured < symptom.limit


def dominant_call(trace: Trace) -> CallRecord | None:
    """The one line that takes most of a step, if there is one."""
    calls = [c for c in trace.speed.calls if c.place is not None and c.name not in _WHOLE_PHASES]
    return next((call for call in calls if call.share >= _DOMINANT), None)


def is_about_gates(trace: Trace, symptom: Symptom) -> bool:
    """Not about another revision: what takes the time here took it there, too."""
    return trace.comparison is None or symptom.measured != trace.comparison.ratio


def _growth(trace: Trace, warm: int) -> float | None:
    """MB per step: the slower of the growths of both halves of the run. One large allocation is no growth."""
    memory = trace.speed.memory[warm:]
    if len(memory) < 2 * _LOOK:
        return None
    middle = len(memory) // 2
    return min(_slope(memory[:middle]), _slope(memory[middle:])) / 1e6


def _slope(values: Sequence[int]) -> float:
    """The median of the slopes between any two: memory comes in pieces, and steps differ."""
    return median((b - a) / (j - i) for (i, a), (j, b) in combinations(enumerate(values), 2))


def _median(values: Iterable[float]) -> float:
    every = list(values)
    return median(every) if every else 0.0
