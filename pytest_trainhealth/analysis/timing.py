"""From the times of the steps to figures: what was warm-up, how fast it was afterwards, and what a step consists of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import median, mode

from ..records.trace import Trace
from ..records.verdict import Symptom

#: Warm-up lasts until three steps bring no new best time by more than a tenth: memory pools fill, code paths warm up, a
#: DataLoader starts its workers. The best, because other work on the machine only ever makes steps slower. By
#: judgement.
_LOOK, _STILL_FALLS = 3, 0.9
#: Steps, whatever their times. By judgement: half of the 30 of keeps_throughput are left at least.
LEAST_WARM_UP, MOST_WARM_UP = 5, 15

#: Seconds that any loader takes, through no fault of its own: at least these for a batch, and these for each sample.
#: Measured: datasets in memory 3 to 20 microseconds a sample, small images cropped and flipped 60 to 85; from worker
#: processes 0.7 to 1.2 ms a batch, however small. Twice as much alongside other work.
_ORDINARY_BATCH, _ORDINARY_SAMPLE = 2e-3, 2e-4

#: Of the memory. By judgement: a slope of all pairs of 200 points is quick, and more would not make it steadier.
_MOST_READINGS = 200
#: The rest are incomplete batches at the end of an epoch, or steps of a watched test that were taken for longer. By
#: judgement: a size that most steps have is the size.
_MOST = 0.5


def warm_up(seconds: Sequence[float]) -> int | None:
    """How many of the first steps are warm-up. None as long as that is not known."""
    for count in range(LEAST_WARM_UP, min(len(seconds), MOST_WARM_UP) + 1):
        if min(seconds[count - _LOOK : count]) >= _STILL_FALLS * min(seconds[: count - _LOOK]):
            return count
    return MOST_WARM_UP if len(seconds) >= MOST_WARM_UP else None


def step_times(trace: Trace) -> list[float]:
    return [wait + work for wait, work in zip(trace.speed.waits, trace.speed.computes, strict=False)]


def timed_steps(trace: Trace) -> int:
    """How many steps count."""
    warm = warm_up(step_times(trace))
    return 0 if warm is None else len(trace.speed.computes) - warm


def measured(trace: Trace) -> dict[str, float | None]:
    """Medians over the steps after the warm-up. Nothing where no step counts."""
    if timed_steps(trace) < 1:
        return {}
    times = step_times(trace)
    warm = warm_up(times)
    assert warm is not None
    step = _typical(trace, times, warm)
    tokens, peak = _tokens_a_step(trace), trace.speed.peak_memory
    return {
        "step_seconds": step,
        "samples_per_second": _samples_per_second(trace, warm, step),
        "tokens_per_second": tokens / step if tokens else None,
        "data_wait": waiting(trace, warm)[0],
        **{f"{phase}_ms": 1e3 * seconds for phase, seconds in split(trace, warm).items()},
        **operations(trace),
        "peak_memory_mb": None if peak is None else peak / 1e6,
        "memory_growth_mb": _growth(trace, warm),
        "warm_up_steps": float(warm),
    }


def operations(trace: Trace) -> dict[str, float | None]:
    """Floating point operations, which a timed run does not know yet."""
    flops, warm = trace.speed.flops, warm_up(step_times(trace))
    step = _typical(trace, step_times(trace), warm) if warm is not None and timed_steps(trace) >= 1 else None
    return {"flops_per_step": flops, "flops_per_second": None if flops is None or step is None else flops / step}


def samples_a_step(trace: Trace) -> float | None:
    """The mean: batches may be of different sizes. Without a loader, the model's first input decides."""
    sizes = trace.speed.samples
    return sum(sizes) / len(sizes) if any(sizes) else trace.batch_size


def _tokens_a_step(trace: Trace) -> float | None:
    """Of a watched test that accumulates only the first batch of a step is seen."""
    batches = trace.speed.loader_batches
    return median(trace.speed.tokens) * (max(median(batches), 1) if batches else 1) if trace.speed.tokens else None


def waiting(trace: Trace, warm: int) -> tuple[float | None, float]:
    """The share of the time, and seconds a step. Sums, for with prefetching only every n-th batch is waited for.

    The first batch of an epoch has to wait until worker processes have started (20 ms and more each time). A test's
    epochs are a few batches, those of a real training are not, so such steps do not count; None where all steps are
    like that. Also None where a watched test makes its batches without a loader: that time cannot be told apart.
    """
    if makes_its_own_batches(trace):
        return None, 0.0
    starting = set(trace.speed.worker_starts)
    steps = [n for n in range(warm, len(trace.speed.computes)) if n not in starting]
    if not steps:
        return None, 0.0
    waited = sum(trace.speed.waits[n] for n in steps)
    return waited / max(waited + sum(trace.speed.computes[n] for n in steps), 1e-12), waited / len(steps)


def makes_its_own_batches(trace: Trace) -> bool:
    batches = trace.speed.loader_batches
    return bool(batches) and not any(batches)


def is_ordinary(trace: Trace) -> bool:
    """Any loader takes that long, and only a small model makes it look slow."""
    warm = warm_up(step_times(trace)) or 0
    return waiting(trace, warm)[1] <= max(_ORDINARY_BATCH, _ORDINARY_SAMPLE * (samples_a_step(trace) or 0))


def split(trace: Trace, warm: int) -> dict[str, float]:
    """Seconds of each phase: its share of the steps that were split, times the time of a step. So the parts add up,
    even where steps differ. If no step was split, everything is rest."""
    found = {step: phases for step, phases in trace.speed.phases.items() if warm <= step < len(trace.speed.computes)}
    whole = sum(trace.speed.computes[step] for step in found)
    shares = {
        name: min(sum(getattr(phases, name) for phases in found.values()) / max(whole, 1e-12), 1.0)
        for name in ("transfer", "forward", "backward", "optimizer")
    }
    shares["rest"] = max(1.0 - sum(shares.values()), 0.0)
    computing = _typical(trace, trace.speed.computes, warm)
    return {"wait": waiting(trace, warm)[1], **{name: share * computing for name, share in shares.items()}}


def fast_step(trace: Trace) -> float | None:
    """Seconds of a step while nothing else used the processor, to compare one run with another: the lower decile.

    Next to two busy loops on two cores, medians of the same 30 steps were up to 8.4 times apart, and lower deciles 3.9
    times. Where two runs each were compared (A B A B, the faster of one against the slower of the other), means of the
    quietest neighbours came to 2.6 and lower deciles to 1.21 at most, in 520 cases. Workers make steps wait in bursts,
    which count as they are, and so does compiling.
    """
    warm = warm_up(step_times(trace))
    if warm is None or timed_steps(trace) < 1:
        return None
    if _compiles(trace, warm):
        return _typical(trace, step_times(trace), warm)
    waits = waiting(trace, warm)[1] if trace.speed.workers else _lower_decile(trace.speed.waits[warm:])
    return waits + _lower_decile(trace.speed.computes[warm:])


def _lower_decile(seconds: Sequence[float]) -> float:
    return sorted(seconds)[len(seconds) // 10]


def too_few_samples(symptom: Symptom) -> bool:
    """The gate that failed requires more samples per second; others require less of something."""
    return symptom.measured < symptom.limit


def compares_no_revision(trace: Trace) -> bool:
    """Not about another revision: what takes the time here took it there, too."""
    return trace.comparison is None


def _typical(trace: Trace, seconds: Sequence[float], warm: int) -> float:
    """The median, because other work on the machine is not part of the training. Repeated compiling is."""
    timed = seconds[warm:]
    return sum(timed) / len(timed) if _compiles(trace, warm) else median(timed)


def _compiles(trace: Trace, warm: int) -> bool:
    return any(step >= warm for step in trace.speed.compiled)


def _samples_per_second(trace: Trace, warm: int, step: float) -> float | None:
    """By the median step where most have as many samples; otherwise all samples in all the time."""
    times = step_times(trace)
    sizes = trace.speed.samples[warm:] if len(trace.speed.samples) == len(times) else []
    if not any(sizes):
        samples = samples_a_step(trace)
        return samples / step if samples else None
    usual = mode(sizes)
    if sizes.count(usual) >= _MOST * len(sizes):
        return usual / step
    return sum(sizes) / max(sum(times[warm:]), 1e-12)


def _growth(trace: Trace, warm: int) -> float | None:
    """MB per step: the slower of the growths of both halves of the run. One large allocation is no growth."""
    memory = trace.speed.memory[warm:]
    if len(memory) < 2 * _LOOK:
        return None
    middle = len(memory) // 2
    return min(_slope(memory[:middle]), _slope(memory[middle:])) / 1e6


def _slope(values: Sequence[int]) -> float:
    """The median of the slopes between any two: memory comes in pieces, and steps differ."""
    # all pairs of a long run would take seconds and a GB; this many readings from end to end show the same
    some = list(enumerate(values))[:: -(-len(values) // _MOST_READINGS)]
    return median((b - a) / (j - i) for (i, a), (j, b) in combinations(some, 2))
