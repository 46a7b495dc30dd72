"""The closer look at a training that failed: the same run once more, with every signal.

One that is slow, or whose memory grows, is looked at in one short run, and in one with joined batches.
"""

from __future__ import annotations

import os
from dataclasses import replace

from ..analysis.timing import LEAST_WARM_UP, too_few_samples
from ..observe.microscope import under_the_microscope
from ..observe.signals import close_signals
from ..records.intervention import Cure
from ..records.speed import JoinedRecord
from ..records.symptoms import EXPLOSION, MEMORY, PERFORMANCE
from ..records.trace import Trace
from ..records.verdict import Symptom
from .examination import Examination

#: Wiring, activations and the size of updates show early. By judgement: a third of the 200 steps of overfits_one_batch.
_CLOSER_STEPS = 64
#: Reading samples comes last: by then nothing else looks any more.
_LOOKS = ("threads", "kept_graphs", "slow_calls", "loading")
#: Batches are joined up to about this size; smaller than any at which a machine is busy with the samples themselves. By
#: judgement.
_JOINED_SAMPLES, _MOST_JOINED = 64, 64
#: Batches. By judgement: 2 or 3 joined would show little.
_AT_LEAST_JOINED = 4


def closer_look(examination: Examination, symptom: Symptom, trace: Trace) -> Trace:
    """The failed run once more with every signal; a step that was not finite goes under the microscope."""
    if not examination.program.repeatable:
        return trace
    if symptom.category in (PERFORMANCE, MEMORY):
        return _slow(examination, trace, symptom)
    exploded = symptom.category == EXPLOSION
    max_steps = max(trace.steps, 1) if exploded else min(max(trace.steps, 1), _CLOSER_STEPS)
    at = trace.nonfinite.step if exploded and trace.nonfinite is not None else None
    plan = replace(
        examination.plan,
        max_steps=max_steps,
        signals=close_signals(),
        every_step=exploded,
        timer=None,
        look_closely_at=at,
    )
    closer = examination.record(plan)
    if not exploded and closer.losses:
        # the same run, so what was seen of the rest of it still holds
        closer.losses, closer.updates, closer.backwards = trace.losses, trace.updates, trace.backwards
        for label, record in trace.optimizers.items():
            if label in closer.optimizers:
                closer.optimizers[label].rates = record.rates
    if exploded and closer.nonfinite is not None:
        step = closer.nonfinite.step
        around_step = {step: under_the_microscope if plan.capture is None else plan.capture(under_the_microscope)}
        culprit = examination.record(replace(plan, max_steps=step + 1, signals=(), around_step=around_step)).culprit
        closer.culprit = None if culprit is None else replace(culprit, step=step)
    return closer


def _slow(examination: Examination, trace: Trace, symptom: Symptom) -> Trace:
    """The run as it was timed, with what the closer look showed. Nothing of that look is timed."""
    from ..observe.signals.speed.slow_calls import STEPS  # signals are imported by the runs that ask for them

    plan = replace(examination.plan, timer=None, stop_when=lambda trace: False, catch_errors=True)
    seen = examination.record(replace(plan, max_steps=STEPS, signals=_LOOKS, from_forward=True)).speed
    speed = trace.speed
    speed.load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    speed.loading, speed.kept_graphs = seen.loading, seen.kept_graphs
    speed.calls, speed.operators, speed.syncs = seen.calls, seen.operators, seen.syncs
    speed.line, speed.loop = seen.line, seen.loop
    if symptom.category == PERFORMANCE and too_few_samples(symptom):
        speed.joined = _joined(examination, trace)
    return trace


def _joined(examination: Examination, trace: Trace) -> JoinedRecord | None:
    count = join_count(trace)
    if count is None:
        return None
    cure = Cure("larger_batches", f"{count} batches joined into one", {"count": count})
    plan = replace(
        examination.plan, timer=None, stop_when=lambda trace: False, max_steps=2 * LEAST_WARM_UP, cures=(cure,)
    )
    wide = examination.record(plan)
    if wide.without_effect or wide.crash is not None or len(wide.computes) <= LEAST_WARM_UP:
        return None
    # the fastest step of each: other work on the machine only ever makes them slower
    alone, joined = (min(each.computes[LEAST_WARM_UP:]) for each in (trace, wide))
    return JoinedRecord(count, alone, joined)


def join_count(trace: Trace) -> int | None:
    """How many batches to join. None where they are large already."""
    if not trace.batch_size or trace.batch_size > _JOINED_SAMPLES // _AT_LEAST_JOINED:
        return None
    return min(_JOINED_SAMPLES // trace.batch_size, _MOST_JOINED)
