"""resumes_exactly: a run that is resumed from a checkpoint goes on as if it had not been interrupted

What it does
    Takes 12 steps, and calls the training's `save(path)` after one of the steps 4 to 7, which the seed chooses. Then it
    builds the training anew, calls `load(path)` and takes the remaining steps on the same batches: losses, parameters
    and buffers have to be the same bits. A `save()` that takes no path returns what `load(state)` is given. Data with a
    `state_dict()` of their own have to come back to their position themselves. Without `save` and `load` it judges what
    any checkpoint made of `state_dict()`s loses: at that step, attributes and non-persistent buffers of modules, and
    attributes of optimizers, are set to what they were in the beginning, and each `state_dict()` is loaded again.

When it fails
    The resumed run differs, and a second uninterrupted run does not. What is missing is told by name, and by re-runs
    that carry one part over at a time: optimizer, scheduler, scaler, random numbers, position in the data, buffers,
    attributes, variables of the loop.

What is not an alarm
    Parts that are not saved and make no difference: histories, caches that are built again. Runs that are not the same
    twice even if nothing interrupts them are not judged, and neither are watched tests: they cannot be started from a
    checkpoint. Without `save` and `load`, what your loop keeps in variables is taken to be saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import wording
from ..analysis.resuming import parts_ways
from ..analysis.run_failures import broke_down
from ..analysis.same_runs import first_difference
from ..records.intervention import Cure
from ..records.judgement import NO_CONTROLS, CouldNotJudge, FailedRun, Judgement, NeedsControl, Passed
from ..records.symptoms import UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Symptom

SIGNALS = ("fingerprints", "checkpoint")
ONE_BATCH = False
BLAMES_RATES = False
COMPARES_RUNS = True
#: The run, the resumed one, and an uninterrupted one: 3.
RUNS = 3
#: By judgement: at least 5 steps after the interruption, for a difference to reach the loss.
STEPS = 12

RESUMED = "resumed"
AGAIN = Cure("once_more", "uninterrupted, once more")


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    state = trace.state
    if trace.cut_short or state.failure:
        return CouldNotJudge(trace.cut_short) if trace.cut_short else _failing(state.failure)
    if state.saved_at is None or state.saved_at >= trace.steps:
        return CouldNotJudge(_why_not(trace))
    resumed = controls.get(RESUMED)
    if resumed is None:
        return NeedsControl(Cure("resumed", RESUMED, {"at": state.saved_at, "path": state.checkpoint}))
    if resumed.state.failure:
        return _failing(resumed.state.failure)
    if resumed.cut_short or resumed.crash is not None:
        return CouldNotJudge(resumed.cut_short or _raised(resumed))
    found = parts_ways(trace, resumed)
    if found is None:
        return Passed(figures={"interrupted_at": float(state.saved_at), "same_steps": float(resumed.steps)})
    again = controls.get(AGAIN.label)
    if again is None:
        return NeedsControl(AGAIN)
    if again.cut_short or again.crash is not None or first_difference(trace, again) is not None:
        return CouldNotJudge("two runs that nothing interrupts differ, too: see is_reproducible")
    summary = (
        f"interrupted before step {state.saved_at}, the resumed run differs: {found.words} (expected the same bits)"
    )
    return Symptom(summary, UNEQUAL, found.measured, 0.0, "high", "the resumed run is another one")


def _failing(failure: str) -> Symptom:
    return Symptom(f"{failure} (expected a checkpoint that can be loaded)", UNEQUAL, 1.0, 0.0, "high", failure)


def _raised(resumed: Trace) -> str:
    assert resumed.crash is not None
    return f"resumed, step {resumed.crash.step} raises {resumed.crash.kind}: {resumed.crash.message}"


def _why_not(trace: Trace) -> str:
    if trace.batches is None and not trace.state.batches:
        return "no step was taken"
    if not trace.state.from_training:
        return "a watched test cannot be started again from a checkpoint: return a Training"
    steps = wording.plural(trace.steps, "step")
    return (
        f"{steps} {'is' if trace.steps == 1 else 'are'} too few to interrupt: a checkpoint comes after 4 to 7 of them"
    )


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    kept = wording.plural(trace.steps - (trace.state.saved_at or 0), "step")
    return f"{kept} after the interruption"
