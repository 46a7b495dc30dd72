"""keeps_throughput: the step does not wait for its data, and is as fast as asked

What it does
    Times whole steps through pytest-benchmark, so that its table, its JSON and its options show them, and splits
    each into waiting for the batch, transfer to the device, forward, backward, optimizer and the rest (on an
    accelerator one step of four, for which it is synchronised). Steps count once the warm-up is over: when three steps
    bring no new best time by more than 10 %, after 5 steps at the earliest and 15 at the latest. `extra_info` holds
    samples and tokens per second, the split in milliseconds, floating point operations (counted in a step that is not
    timed), peak memory and its growth per step.

When it fails
    Steps wait for data longer than they compute (`max_data_wait=0.5`), fewer samples per second go through than
    `min_samples_per_second=` asks for, a step takes longer than `max_step_ms=`, or memory grows by more MB per step
    than `max_memory_growth=` allows; and a second run shows the same. The last three have no default: they are for
    those who know their machine. With `against=` also when a step takes longer than at that revision: by more than
    `tolerance=0.1`, and with the whole 99 % confidence interval above half of it.

When it cannot judge
    Under pytest-xdist and with `--benchmark-disable` nothing is measured. A watched test of less than 6 steps is over
    before its warm-up. Against another revision: where the machine is too busy for the tolerance asked for, and where
    the revision or its test is not to be had.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import figures, pace
from ..against.judged import beside
from ..breakdown import broke_down
from ..facts import Symptom
from ..pace import measured as measured
from ..symptoms import MEMORY, PERFORMANCE
from ..trace import Trace
from . import NO_CONTROLS, CouldNotJudge, Judgement, Passed

SIGNALS: tuple[str, ...] = ("split", "memory", "tokens", "threads", "compilations")
ONE_BATCH = False
ABOUT_HYPERPARAMETERS = False
STEPS = 30
#: Faster than any noise of a busy machine makes a median of 30 steps: beyond this a cure that leaves the gate
#: closed has shown all the same what the time went into.
CLEARLY_FASTER = 1.5


def longest(settings: Mapping[str, Any]) -> int:
    return steps(settings) + pace.MOST_WARM_UP


def steps(settings: Mapping[str, Any]) -> int:
    return int(settings.get("steps") or STEPS)


def enough(trace: Trace, settings: Mapping[str, Any]) -> bool:
    return pace.timed_steps(trace) >= steps(settings)


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    known = measured(trace)
    if not known:
        return CouldNotJudge(trace.cut_short or "too few steps were timed")
    return _first_gate(known, settings) or beside(trace.comparison, Passed(figures=known))


def _first_gate(known: Mapping[str, float | None], settings: Mapping[str, Any]) -> Symptom | None:
    """What one is told of first is what one would mend first: memory ends a training, data is the usual suspect."""
    growth, most = known["memory_growth_mb"], settings.get("max_memory_growth")
    if most is not None and growth is not None and growth > most:
        headline = f"memory grows by {figures.short(growth)} MB with every step"
        return Symptom(f"{headline}, at most {figures.short(most)} MB wanted", MEMORY, growth, most, "high", headline)
    waiting, limit = known["data_wait"], settings.get("max_data_wait", 0.5)
    if waiting is not None and waiting > limit:
        headline = f"{figures.share(waiting)} of a step is waiting for data"
        said = f"{headline}, at most {figures.share(limit)} wanted ({_told(known)})"
        return Symptom(said, PERFORMANCE, waiting, limit, "low", headline)
    speed, wanted = known["samples_per_second"], settings.get("min_samples_per_second")
    if wanted and speed is not None and speed < wanted:
        said = f"{figures.short(speed)} samples/s, at least {figures.short(wanted)} samples/s wanted ({_told(known)})"
        return Symptom(said, PERFORMANCE, speed, wanted, "low", f"{figures.short(speed)} samples/s")
    step, longest_step = known["step_seconds"], settings.get("max_step_ms")
    if longest_step and step is not None and 1e3 * step > longest_step:
        took = f"{figures.short(1e3 * step)} ms a step"
        said = f"{took}, at most {figures.short(longest_step)} ms wanted ({_told(known)})"
        return Symptom(said, PERFORMANCE, 1e3 * step, longest_step, "low", took)
    return None


def _told(known: Mapping[str, float | None]) -> str:
    """'waiting 3.1 ms, computing 4.2 ms'."""
    waiting = known["wait_ms"] or 0.0
    computing = sum(known[f"{phase}_ms"] or 0.0 for phase in pace.PHASES if phase != "wait")
    return f"waiting {figures.short(waiting)} ms, computing {figures.short(computing)} ms"


def clearly_better(trace: Trace, uncured: Trace) -> bool:
    """A cured run that does not pass may be much faster all the same."""
    return trace.finite and trace.crash is None and speed_up(trace, uncured) >= CLEARLY_FASTER


def speed_up(trace: Trace, uncured: Trace) -> float:
    """How many times as many samples go through in the same time. 0 where that cannot be said."""
    now, before = measured(trace), measured(uncured)
    if not now or not before:
        return 0.0
    done, took = (trace.batch_size or 1) / (uncured.batch_size or 1), now["step_seconds"] or 0.0
    return done * (before["step_seconds"] or 0.0) / max(took, 1e-12)


def result(trace: Trace, uncured: Trace | None = None) -> str:
    known = measured(trace)
    if not known:
        return "no step was timed"
    speed, step, growth = known["samples_per_second"], known["step_seconds"], known["memory_growth_mb"]
    assert step is not None
    told = f"{figures.short(speed)} samples/s" if speed else f"{figures.short(1e3 * step)} ms a step"
    factor = 0.0 if uncured is None else speed_up(trace, uncured)
    if factor >= CLEARLY_FASTER:
        return f"{told}, {factor:.1f} x faster"
    before = None if uncured is None else measured(uncured).get("memory_growth_mb")
    if before and growth is not None and growth < before / 2:
        return f"{figures.short(before)} -> {figures.short(max(growth, 0.0))} MB a step"
    return told
