"""keeps_throughput: the step does not wait for its data, and is as fast as asked

What it does
    Times whole steps through pytest-benchmark, so that its table, its JSON and its options show them, and splits
    each into waiting for the batch and everything else. `extra_info` holds samples per second and the share of waiting.

When it fails
    Steps wait for data longer than they compute (`max_data_wait=0.5`), or fewer samples per second go through
    than `min_samples_per_second=` asks for.

When it cannot judge
    Under pytest-xdist and with `--benchmark-disable` nothing is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from .. import figures
from ..breakdown import broke_down
from ..facts import Symptom
from ..symptoms import PERFORMANCE
from ..trace import Trace
from . import NO_CONTROLS, CouldNotJudge, Judgement, Passed

SIGNALS: tuple[str, ...] = ()
ONE_BATCH = False
ABOUT_HYPERPARAMETERS = False
STEPS = 30
#: Memory pools fill and code paths warm up; a DataLoader starts its workers.
WARM_UP = 3


def longest(settings: Mapping[str, Any]) -> int:
    return int(settings.get("steps") or STEPS) + WARM_UP


def enough(trace: Trace, settings: Mapping[str, Any]) -> bool:
    return False


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    if len(trace.computes) <= WARM_UP:
        return CouldNotJudge(trace.cut_short or "too few steps were timed")
    known = measured(trace)
    speed, waiting = known["samples_per_second"], known["data_wait"]
    assert waiting is not None
    wanted = settings.get("min_samples_per_second")
    if wanted and speed is not None and speed < wanted:
        said = f"{figures.short(speed)} samples/s, at least {figures.short(wanted)} samples/s wanted ({_split(trace)})"
        return Symptom(said, PERFORMANCE, speed, wanted, "low", f"{figures.short(speed)} samples/s")
    limit = settings.get("max_data_wait", 0.5)
    if waiting > limit:
        headline = f"{figures.share(waiting)} of a step is waiting for data"
        said = f"{headline}, at most {figures.share(limit)} wanted ({_split(trace)})"
        return Symptom(said, PERFORMANCE, waiting, limit, "low", headline)
    return Passed(figures=known)


def measured(trace: Trace) -> dict[str, float | None]:
    """Medians over the steps after the warm-up."""
    waits, computes = trace.waits[WARM_UP:], trace.computes[WARM_UP:]
    step = median(w + c for w, c in zip(waits, computes, strict=False))
    waiting = sum(waits[: len(computes)]) / max(sum(waits[: len(computes)]) + sum(computes), 1e-12)
    return {
        "step_seconds": step,
        "data_wait": waiting,
        "samples_per_second": trace.batch_size / step if trace.batch_size else None,
    }


def _split(trace: Trace) -> str:
    waits, computes = trace.waits[WARM_UP:], trace.computes[WARM_UP:]
    return f"waiting {figures.short(1e3 * median(waits))} ms, computing {figures.short(1e3 * median(computes))} ms"


def result(trace: Trace) -> str:
    if len(trace.computes) <= WARM_UP:
        return "no step was timed"
    known = measured(trace)
    speed, step = known["samples_per_second"], known["step_seconds"]
    assert step is not None
    return f"{figures.short(speed)} samples/s" if speed else f"{figures.short(1e3 * step)} ms a step"
