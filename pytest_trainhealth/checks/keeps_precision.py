"""keeps_precision: in bfloat16 or float16, a training follows itself in float32

What it does
    Takes 40 steps as the training computes them (`precision=`, an autocast of its own, weights of 16 bits, a line that
    casts), or under autocast to the `precisions` that you ask for, and the same in float32. It compares the direction
    of the first gradients, how far the loss has come, which parameters have no gradient left, and how many updates
    leave a weight of 16 bits where it was. Where those are many it takes up to 160 steps, to see what that does to the
    loss.

When it fails
    The gradient points elsewhere, the loss goes less than 70 % of the way that it goes in float32, most updates of
    weights of 16 bits are lost to rounding, or parameters get no gradient that do in float32. The first layer whose
    output is off by far more than its inputs is named, and computed in float32 in a re-run.

What is not an alarm
    The small differences that 16 bits make, which grow from step to step. A training that computes in float32 is not
    judged unless you ask: `keeps_precision(precisions="bfloat16")`. A loss that does not fall in float32 either says
    nothing. Gradients that are lost under an autocast that you only ask for are not judged: a loss scaler may be all
    that is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import wording
from ..analysis import half_precision
from ..analysis.run_failures import broke_down
from ..records.intervention import Cure
from ..records.judgement import NO_CONTROLS, CouldNotJudge, FailedRun, Judgement, NeedsControl, Passed
from ..records.symptoms import UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Symptom

SIGNALS = ("sketches", "half_precision")
ONE_BATCH = False
BLAMES_RATES = False
#: The run, and one in another precision: 2.
RUNS = 2
#: By judgement: a fifth of those that overfits_one_batch takes, as only the way of the loss is compared.
STEPS = 40
#: The most steps, where rounding may be what slows a training down. By judgement: what a loss lacks after 40 steps at a
#: small rate is not yet more than what batches differ by; with four times as many it is.
_MOST_STEPS = 160
#: The cosine between the first gradients: of 147 healthy programs under autocast to bfloat16, none is below 0.996.
LEAST_COSINE = 0.9
#: The share of the way: theirs is 0.994 to 1.009.
LEAST_PROGRESS = 0.7
#: The share of updates that may be lost. A healthy program with weights in bfloat16 loses 0.11; with a rate that is too
#: small for them it is 0.99 (tests/evaluation/corpus/faults/mlp__state.py).
MOST_LOST = 0.5
#: The share of updates from which on the loss is followed for longer. By judgement: a little more than the 0.11 of the
#: healthy program.
SOME_LOST = 0.15

FLOAT32 = Cure("float32", half_precision.FLOAT32)


def max_steps(settings: Mapping[str, Any]) -> int:
    return int(settings.get("steps") or _MOST_STEPS)


def stop_when(trace: Trace, settings: Mapping[str, Any]) -> bool:
    """After the usual number of steps, unless a good part of the updates is lost, or a number was asked for.

    A cure that takes the 16 bits away is followed for as long as what it is compared with.
    """
    record = trace.state.precision
    if settings.get("steps") or trace.steps < STEPS or record is None:
        return False
    whole_again = trace.cured and record.was_half and not record.half_weights
    return not whole_again and not _some_are_lost(half_precision.lost_moves(trace)[1])


def _some_are_lost(share: float) -> bool:
    return SOME_LOST < share <= MOST_LOST


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    record = trace.state.precision
    if trace.cut_short or record is None:
        return CouldNotJudge(trace.cut_short or "no step was taken")
    own = half_precision.own_precision(trace)
    in_half = own or record.half_weights
    wanted = [name for name in settings.get("precisions") or () if name != own]
    if not in_half and trace.cured and not wanted:
        return Passed()  # a cure has made it float32
    if not in_half and not wanted:
        return CouldNotJudge("everything is computed in float32: ask for 16 bits, with precisions='bfloat16'")
    if wanted and not in_half:
        for name in wanted:
            other = controls.get(f"in {name}")
            if other is None:
                return NeedsControl(Cure("autocast", f"in {name}", {"dtype": name}))
            found = _compared(trace, other, name)
            if not isinstance(found, Passed):
                return found
        return found
    whole = controls.get(FLOAT32.label)
    if whole is None:
        return NeedsControl(FLOAT32)
    found = _compared(whole, trace, own or "16 bits")
    return _without_gradients(whole, trace) or found if isinstance(found, Passed) else found


def _without_gradients(whole: Trace, low: Trace) -> Symptom | None:
    """Whatever the loss does: parameters that are not trained at all, and would be in float32."""
    a, b = whole.state.precision, low.state.precision
    names = [] if a is None or b is None else half_precision.vanished(a, b)
    if not names:
        return None
    own = half_precision.own_precision(low)
    have = "has" if len(names) == 1 else "have"
    summary = f"{wording.plural(len(names), 'parameter')} with a gradient in float32 {have} none in {own} (expected 0)"
    headline = f"the gradients of {wording.names(names)} are 0 in {own}"
    return Symptom(summary, UNEQUAL, float(len(names)), 0.0, "high", headline)


def _compared(whole: Trace, low: Trace, name: str) -> Judgement:
    if whole.cut_short or low.cut_short or whole.crash is not None or low.crash is not None:
        crash = whole.crash or low.crash
        raised = f"in another precision, step {crash.step} raises {crash.kind}: {crash.message}" if crash else ""
        return CouldNotJudge(raised or whole.cut_short or low.cut_short)
    if not whole.finite:
        return CouldNotJudge("in float32 it does not stay finite")
    broken = broke_down(low)
    if broken is not None:
        return broken
    a, b = whole.state.precision, low.state.precision
    assert a is not None
    assert b is not None
    names, lost = half_precision.lost_moves(low)
    cosine = half_precision.direction(a.gradients, b.gradients)
    later = half_precision.direction(a.later, b.later)
    way = half_precision.progress(whole, low)
    figures = {"cosine": cosine, "later_cosine": later, "progress": way, "lost_updates": lost}
    if lost > MOST_LOST and names:
        summary = f"{wording.share(lost)} of the updates leave a weight of 16 bits where it was"
        return Symptom(
            f"{summary} (at most {wording.share(MOST_LOST)} allowed)", UNEQUAL, lost, MOST_LOST, "high", _LOST
        )
    if cosine is not None and cosine < LEAST_COSINE:
        summary = f"in {name}, the first gradient has a cosine of {wording.short(cosine)} to that in float32"
        return Symptom(
            f"{summary} (at least {LEAST_COSINE:g} wanted)",
            UNEQUAL,
            cosine,
            LEAST_COSINE,
            "high",
            f"{name} turns the gradient",
        )
    if way is not None and way < LEAST_PROGRESS:
        ends = f"{wording.loss(whole.losses[-1])} in float32 and at {wording.loss(low.losses[-1])} in {name}"
        summary = (
            f"the loss begins at {wording.loss(whole.losses[0])} and ends at {ends}: {wording.share(max(way, 0.0))}"
        )
        least = f"of the way (at least {wording.share(LEAST_PROGRESS)} wanted)"
        return Symptom(f"{summary} {least}", UNEQUAL, way, LEAST_PROGRESS, "high", f"{name} does not follow float32")
    if cosine is None and way is None:
        return CouldNotJudge("there is nothing to compare: no gradients were seen, and the loss does not fall", figures)
    if way is None and _some_are_lost(lost):
        rounded = f"rounding takes {wording.share(lost)} of the updates of weights of 16 bits"
        return CouldNotJudge(f"{rounded}, and the loss does not fall enough to show what that does", figures)
    return Passed(figures=figures)


_LOST = "updates are lost to rounding"


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    return wording.change(trace.losses[0], trace.losses[-1]) if trace.losses else "no step"
