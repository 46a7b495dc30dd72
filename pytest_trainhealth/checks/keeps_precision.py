"""keeps_precision: in bfloat16 or float16, a training follows itself in float32

What it does
    Takes 40 steps as the training computes them (`precision=`, an autocast of its own, weights of 16 bits), or under
    autocast to the `precisions` that you ask for, and the same in float32. It compares the direction of the first
    gradients, how far the loss has come, and how many updates leave a weight of 16 bits where it was.

When it fails
    The gradient points elsewhere, the loss goes less than 70 % of the way that it goes in float32, or most updates of
    weights of 16 bits are lost to rounding. The first layer whose output is off by far more than its inputs is named,
    and computed in float32 in a re-run.

What is not an alarm
    The small differences that 16 bits make, which grow from step to step. A training that computes in float32 is not
    judged unless you ask: `keeps_precision(precisions="bfloat16")`. A loss that does not fall in float32 either says
    nothing.
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

SIGNALS = ("sketches",)
ONE_BATCH = False
BLAMES_RATES = False
#: The run, and one in another precision: 2.
RUNS = 2
#: By judgement: a fifth of those that overfits_one_batch takes, as only the way of the loss is compared.
STEPS = 40
#: The cosine between the first gradients: of 147 healthy programs under autocast to bfloat16, none is below 0.996.
LEAST_COSINE = 0.9
#: The share of the way: theirs is 0.994 to 1.009.
LEAST_PROGRESS = 0.7
#: The share of updates that may be lost. A healthy program with weights in bfloat16 loses 0.11; with a rate that is too
#: small for them it is 0.99 (tests/evaluation/corpus/faults/mlp__state.py).
MOST_LOST = 0.5

FLOAT32 = Cure("float32", "in float32")


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    record = trace.state.precision
    if trace.cut_short or record is None:
        return CouldNotJudge(trace.cut_short or "no step was taken")
    wanted = [name for name in settings.get("precisions") or () if name != record.own]
    if not record.own and not record.half_weights and trace.cured and not wanted:
        return Passed()  # a cure has made it float32
    if not record.own and not record.half_weights and not wanted:
        return CouldNotJudge("everything is computed in float32: ask for 16 bits, with precisions='bfloat16'")
    if wanted and not record.own and not record.half_weights:
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
    return _compared(whole, trace, record.own or "16 bits")


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
    return Passed(figures=figures)


_LOST = "updates are lost to rounding"


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    return wording.change(trace.losses[0], trace.losses[-1]) if trace.losses else "no step"
