"""The closer look at a training that failed: the same run once more, with every signal.

A training that is slow, or whose memory grows, gets one short run and one with joined batches instead. The closer look
returns a new trace: the trace of the failed run is a finished record and is never changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from ..analysis.timing import LEAST_WARM_UP, too_few_samples
from ..observe.microscope import under_the_microscope
from ..observe.signals import close_signals
from ..programs.plan import Look
from ..records.intervention import Cure
from ..records.speed import JoinedRecord
from ..records.symptoms import row_of
from ..records.trace import Trace
from ..records.verdict import Symptom
from .examination import Examination

#: Wiring, activations and the size of updates show early. By judgement: a third of the 200 steps of overfits_one_batch.
_CLOSER_STEPS = 64
#: Reading samples (`loading`) comes last, when no other signal is watching any more.
_LOOKS = ("threads", "kept_graphs", "slow_calls", "loading")
#: Samples that batches are joined up to, and the most batches to join. By judgement: 64 samples are fewer than it takes
#: to keep a machine busy with the samples themselves.
_JOINED_SAMPLES, _MOST_JOINED = 64, 64
#: The fewest batches worth joining. By judgement: 2 or 3 joined would show little.
_AT_LEAST_JOINED = 4


def closer_look(examination: Examination, symptom: Symptom, trace: Trace) -> Trace:
    """All that can be seen of the failed run, `trace`. Returns `trace` itself if the program cannot run again."""
    if not examination.program.repeatable:
        return trace
    closer = _LOOK_AT[row_of(symptom).closeup](examination, symptom, trace)
    # without a single step, what the failed run itself has recorded is all there is
    return closer if closer.steps or not closer.cut_short else replace(trace, cut_short=closer.cut_short)


def _everything(examination: Examination, _: Symptom, trace: Trace) -> Trace:
    plan = replace(examination.rerun, max_steps=min(max(trace.steps, 1), _CLOSER_STEPS))
    closer = examination.record(plan.looking(Look(close_signals(), closer=True)))
    if not closer.losses:
        return closer
    # it is the same run, so what the longer run recorded of its later steps still holds
    rates = {label: record.rates for label, record in trace.wiring.optimizers.items()}
    optimizers = {
        label: replace(record, rates=rates[label]) if label in rates else record
        for label, record in closer.wiring.optimizers.items()
    }
    wiring = replace(
        closer.wiring,
        optimizers=optimizers,
        unused_passes={**closer.wiring.unused_passes, **trace.wiring.unused_passes},
        stale_gradients={**closer.wiring.stale_gradients, **trace.wiring.stale_gradients},
    )
    state, data = replace(closer.state, held_out=trace.state.held_out), replace(closer.data, survey=trace.data.survey)
    return replace(
        closer,
        losses=trace.losses,
        updates=trace.updates,
        backwards=trace.backwards,
        wiring=wiring,
        state=state,
        data=data,
    )


def _nonfinite(examination: Examination, _: Symptom, trace: Trace) -> Trace:
    """Looks at every step, and puts the one that was not finite under the microscope."""
    at = None if trace.nonfinite is None else trace.nonfinite.step
    # a step that raises has no loss: where an error has noticed the value, it comes after the last step of the trace
    steps = trace.steps if trace.crash is None else trace.crash.step + 1
    plan = replace(examination.rerun, max_steps=max(steps, 1))
    closer = examination.record(plan.looking(Look(close_signals(), every_step=True, closely_at=at)))
    if closer.nonfinite is None and closer.crash is not None:
        closer = replace(closer, nonfinite=trace.nonfinite)
    if closer.nonfinite is None:
        return closer
    step, capture = closer.nonfinite.step, plan.wrap.capture
    microscope = under_the_microscope if capture is None else capture(under_the_microscope)
    look = Look(every_step=True, closely_at=at)
    again = examination.record(replace(plan, max_steps=step + 1).looking(look).around(step, microscope))
    culprit = again.numbers.culprit
    culprit = None if culprit is None else replace(culprit, step=step)
    cut_short = closer.cut_short or again.cut_short
    return replace(closer, cut_short=cut_short, numbers=replace(closer.numbers, culprit=culprit))


def _speed(examination: Examination, symptom: Symptom, trace: Trace) -> Trace:
    """The trace of the timed run with what the closer look showed. The closer look itself is not timed."""
    from ..observe.signals.speed.slow_calls import STEPS  # only runs that use a signal import it

    plan = replace(examination.rerun.until(STEPS), catch_errors=True)
    look = examination.record(plan.looking(Look(_LOOKS, from_forward=True, closer=True)))
    seen = look.speed
    speed = replace(
        trace.speed,
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        loading=seen.loading,
        kept_graphs=seen.kept_graphs,
        calls=seen.calls,
        operators=seen.operators,
        syncs=seen.syncs,
        line=seen.line,
        loop=seen.loop,
        joined=_joined(examination, trace) if too_few_samples(symptom) else trace.speed.joined,
    )
    return replace(trace, cut_short=look.cut_short, speed=speed)


def _controls(examination: Examination, _: Symptom, trace: Trace) -> Trace:
    """The signals were those of the check; what there is to see lies between this run and those beside it."""
    return examination.with_controls(trace)


_LOOK_AT: dict[str, Callable[[Examination, Symptom, Trace], Trace]] = {
    "everything": _everything,
    "nonfinite": _nonfinite,
    "speed": _speed,
    "controls": _controls,
}


def _joined(examination: Examination, trace: Trace) -> JoinedRecord | None:
    count = join_count(trace)
    if count is None:
        return None
    cure = Cure("larger_batches", f"{count} batches joined into one", {"count": count})
    wide = examination.record(examination.rerun.until(2 * LEAST_WARM_UP).curing(cure))
    if wide.applied.without_effect or wide.crash is not None or len(wide.speed.computes) <= LEAST_WARM_UP:
        return None
    # compare the fastest step of each: other work on the machine can only make a step slower
    alone, joined = (min(each.speed.computes[LEAST_WARM_UP:]) for each in (trace, wide))
    return JoinedRecord(count, alone, joined)


def join_count(trace: Trace) -> int | None:
    """How many batches to join. None if they are large already."""
    if not trace.batch_size or trace.batch_size > _JOINED_SAMPLES // _AT_LEAST_JOINED:
        return None
    return min(_JOINED_SAMPLES // trace.batch_size, _MOST_JOINED)
