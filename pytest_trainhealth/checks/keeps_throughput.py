"""keeps_throughput: the step does not wait for data, and is as fast as required

What it does
    Times whole steps through pytest-benchmark, so that its table, its JSON and its options show them, and splits each
    into waiting for the batch, transfer to the device, forward, backward, optimizer and the rest (on an accelerator one
    step in four, which is synchronised for it). Steps count once the warm-up is over: when three steps in a row do not
    beat the best time by more than 10 %, after 5 steps at the earliest and 15 at the latest. `extra_info` holds samples
    and tokens per second, the split in milliseconds, floating point operations (counted in a step that is not timed),
    peak memory and its growth per step.

When it fails
    Steps wait for data longer than they compute, and longer than any loader takes (2 ms a batch, or 0.2 ms a sample if
    that is more); with `max_data_wait=` more than this share of a step is waiting, however short that is. Where torch's
    threads compute more slowly than one thread would, as happens to small models on a busy machine, waiting is compared
    with the computing time of one thread. Fewer samples per second are processed than `min_samples_per_second=`
    requires, a step takes longer than `max_step_ms=`, or memory grows by more MB per step than `max_memory_growth=`
    allows: these have no default, they are for those who know their machine. Each fails only if a second run shows the
    same. Without `max_memory_growth=` memory may grow, as when a buffer fills; it fails where the graphs of past steps
    are kept, and a re-run without them does not grow. With `against=` it also fails when a step takes longer than at
    that revision by more than `tolerance=0.1`, with the whole 99 % confidence interval beyond it.

When it cannot judge
    Under pytest-xdist and with `--benchmark-disable` nothing is measured. A watched test of a few steps is over before
    its warm-up. A speed that fails a gate twice, and passes it after the causes have been tried, says more about the
    machine than about the training. Against another revision: where the machine is too busy for the requested
    tolerance, and where the revision or its test is not available.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import wording
from ..analysis import timing
from ..analysis.run_failures import broke_down
from ..analysis.timing import measured
from ..records.judgement import NO_CONTROLS, CouldNotJudge, FailedRun, FailIfConfirmed, Judgement, Passed
from ..records.speed import PHASES
from ..records.symptoms import MEMORY, PERFORMANCE
from ..records.trace import Trace
from ..records.verdict import Symptom

SIGNALS: tuple[str, ...] = ("phases", "memory", "tokens", "threads", "compilations")
ONE_BATCH = False
BLAMES_RATES = False
TIMES_STEPS = True
#: With several threads that wait for one another, a step may seem to compute while it waits for its data.
SECOND_OPINION = "one_thread"
#: At most 15 of them are warm-up; by judgement 15 more are enough for a median.
STEPS = 30
#: Longer than it computes. By judgement: half of the time, taken literally.
_MOST_WAITING = 0.5
#: MB a step that do harm where no limit was set: a thousand steps make half a GB. Of 258 healthy programs and 220 twins
#: none grows by more than 0.0003. An emptied graph that is kept, `losses.append(loss)` after backward(), is 0.006
#: (small perceptron) to 0.16 (transformer of four layers), and a full one 3 MB there.
_HARM = 0.5
#: The share of steps with an update from which on graphs are not kept for the next one: most have one in any loop that
#: does not accumulate, and what is accumulated over two steps or more is let pass. By judgement: between every step (1)
#: and every other (0.5).
_MOST_UPDATE = 0.75
#: Where kept graphs are cut off, no more than this may be left. By judgement: a tenth of the growth, far below what any
#: cure leaves that does not reach its cause.
_CURED = 0.1
#: In a second: the setting is given in milliseconds, 1000 of them.
_MILLISECONDS = 1e3
#: What each gate is compared with, and why there may be nothing.
_NEEDED = {
    "max_memory_growth": ("memory_growth_mb", "too few steps were timed to tell growth from noise"),
    "min_samples_per_second": ("samples_per_second", "the batches do not show how many samples they hold"),
    "max_data_wait": ("data_wait", "every step begins an epoch, or there is no DataLoader to wait for"),
}
#: How many times faster a cure has to make a step that leaves the gate closed, to have shown what the time went into;
#: and one that opens it. Noise made 1.21 at most of it (`pace.quiet_step`).
CLEARLY_FASTER, FASTER = 1.5, 1.1


def max_steps(settings: Mapping[str, Any]) -> int:
    return steps(settings) + timing.MOST_WARM_UP


def steps(settings: Mapping[str, Any]) -> int:
    return int(settings.get("steps") or STEPS)


def stop_when(trace: Trace, settings: Mapping[str, Any]) -> bool:
    return timing.timed_steps(trace) >= steps(settings)


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    known = measured(trace)
    if not known:
        return CouldNotJudge(trace.cut_short or "too few steps were timed")
    found = _first_gate(known, settings, ordinary=timing.is_ordinary(trace))
    return found or _without_figure(known, settings) or _growing(trace, known, settings) or Passed(figures=known)


def _first_gate(known: Mapping[str, float | None], settings: Mapping[str, Any], *, ordinary: bool) -> Symptom | None:
    """The first one reported is the one to fix first: memory ends a training, data is the usual suspect."""
    growth, most = known["memory_growth_mb"], settings.get("max_memory_growth")
    if most is not None and growth is not None and growth > most:
        headline = _grows(growth)
        return Symptom(f"{headline}, at most {wording.short(most)} MB allowed", MEMORY, growth, most, "high", headline)
    waiting, requested = known["data_wait"], settings.get("max_data_wait")
    limit = _MOST_WAITING if requested is None else requested
    if waiting is not None and waiting > limit and not (requested is None and ordinary):
        headline = f"{wording.share(waiting)} of a step is waiting for data"
        summary = f"{headline}, at most {wording.share(limit)} allowed ({_describe(known)})"
        return Symptom(summary, PERFORMANCE, waiting, limit, "low", headline)
    speed, wanted = known["samples_per_second"], settings.get("min_samples_per_second")
    if wanted and speed is not None and speed < wanted:
        required = f"at least {wording.short(wanted)} samples/s required"
        summary = f"{wording.short(speed)} samples/s, {required} ({_describe(known)})"
        return Symptom(summary, PERFORMANCE, speed, wanted, "low", f"{wording.short(speed)} samples/s")
    step, longest_step = known["step_seconds"], settings.get("max_step_ms")
    if longest_step and step is not None and _MILLISECONDS * step > longest_step:
        took = f"{wording.short(1e3 * step)} ms a step"
        summary = f"{took}, at most {wording.short(longest_step)} ms allowed ({_describe(known)})"
        return Symptom(summary, PERFORMANCE, 1e3 * step, longest_step, "low", took)
    return None


def _growing(trace: Trace, known: Mapping[str, float | None], settings: Mapping[str, Any]) -> FailIfConfirmed | None:
    """Memory without a limit. What is kept until an update, such as the moves of a game, is needed there: so most of
    the steps that count must have one. (Not all: where a watched step ends is not always known.)"""
    growth, limit = known["memory_growth_mb"], _CURED if trace.cured else _HARM
    if settings.get("max_memory_growth") is not None or growth is None or growth <= limit:
        return None
    updates = trace.updates[-timing.timed_steps(trace) :]
    if sum(map(bool, updates)) <= _MOST_UPDATE * len(updates):
        return None
    headline = _grows(growth)
    summary = f"{headline}, at most {wording.short(limit)} MB is allowed without max_memory_growth="
    return FailIfConfirmed(Symptom(summary, MEMORY, growth, limit, "high", headline), Passed(figures=known))


def _grows(growth: float) -> str:
    return f"memory grows by {wording.short(growth)} MB with every step"


def _without_figure(known: Mapping[str, float | None], settings: Mapping[str, Any]) -> CouldNotJudge | None:
    """A requested gate is never passed just because there is nothing to compare it with."""
    for gate, (figure, why) in _NEEDED.items():
        if settings.get(gate) is not None and known[figure] is None:
            return CouldNotJudge(f"{gate}={wording.short(settings[gate])}: {why}", known)
    return None


def _describe(known: Mapping[str, float | None]) -> str:
    """'waiting 3.1 ms, computing 4.2 ms'."""
    computing = sum(known[f"{phase}_ms"] or 0.0 for phase in PHASES if phase not in ("wait", "transfer"))
    parts = {"waiting": known["wait_ms"] or 0.0, "moving": known["transfer_ms"] or 0.0, "computing": computing}
    return ", ".join(f"{name} {wording.short(ms)} ms" for name, ms in parts.items() if ms or name != "moving")


figures = measured


def clearly_better(trace: Trace, failed_run: FailedRun) -> bool:
    """A cured run that does not pass may still be much faster. Memory that still grows is not cured by that."""
    if failed_run.symptom.category == MEMORY or not trace.finite or trace.crash is not None:
        return False
    return speed_up(trace, failed_run.trace) >= CLEARLY_FASTER


def is_faster(trace: Trace, failed_run: FailedRun) -> bool:
    """A cured run that passes: did it pass because of the cure? Asked of speed alone."""
    return speed_up(trace, failed_run.trace) >= FASTER


def speed_up(trace: Trace, uncured: Trace) -> float:
    """How many times as many samples are processed in the same time. 0 where that is unknown."""
    now, before = timing.fast_step(trace), timing.fast_step(uncured)
    if now is None or before is None:
        return 0.0
    done = (timing.samples_a_step(trace) or 1) / (timing.samples_a_step(uncured) or 1)
    return done * before / max(now, 1e-12)


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    known = measured(trace)
    if not known:
        return "no step was timed"
    if failed_run is not None and failed_run.symptom.category == MEMORY:
        before, growth = measured(failed_run.trace)["memory_growth_mb"], known["memory_growth_mb"]
        if before is not None and growth is not None:
            return f"{wording.short(before)} -> {wording.short(max(growth, 0.0))} MB a step"
    if failed_run is not None and speed_up(trace, failed_run.trace) >= CLEARLY_FASTER:
        return _faster(trace, failed_run.trace)
    speed, step = known["samples_per_second"], known["step_seconds"]
    assert step is not None
    return f"{wording.short(speed)} samples/s" if speed else f"{wording.short(1e3 * step)} ms a step"


def _faster(trace: Trace, uncured: Trace) -> str:
    """'1,390 -> 22,700 samples/s, 16.3 x faster': by the quiet steps of both, which the factor goes by."""
    each = [(timing.samples_a_step(run), timing.fast_step(run) or 1e-12) for run in (uncured, trace)]
    if all(samples for samples, _ in each):
        text = " -> ".join(wording.short((samples or 0.0) / seconds) for samples, seconds in each) + " samples/s"
    else:
        text = " -> ".join(wording.short(1e3 * seconds) for _, seconds in each) + " ms a step"
    return f"{text}, {speed_up(trace, uncured):.1f} x faster"
