"""evaluates_cleanly: evaluation is deterministic, leaves no trace, and does not depend on its batch size

What it does
    After 4 steps it calls the training's `evaluate(val_data)`, twice with other random numbers and once with each batch
    cut into halves; an `evaluate()` that brings its own data, twice. Without `evaluate` it computes the loss in eval
    mode, on `val_data`, or on `data` if there are none. Then it takes more steps, and compares them bit by bit with a
    run that was never evaluated, random numbers aside.

When it fails
    Two evaluations differ because dropout is on; after an `evaluate` of your own the steps differ, or weights,
    statistics or attributes end with other values; it seeds the random numbers that the steps draw from; the step after
    an evaluation runs in eval mode; outputs change with the batch size because samples mix or BatchNorm is in training
    mode.

What is not an alarm
    An `evaluate` that leaves the model in eval mode, where the loop is not known or puts it back; attributes that
    change and make no difference; figures that are computed batch by batch. An evaluation that draws random numbers for
    its loss is not judged on what random numbers decide, and dropout that is told `training=True` may be meant. A
    watched test is not judged: nothing tells its evaluations from its steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import wording
from ..analysis.resuming import parts_ways
from ..analysis.run_failures import broke_down
from ..records.held_out import ActiveLayer
from ..records.intervention import Cure
from ..records.judgement import NO_CONTROLS, CouldNotJudge, FailedRun, Judgement, NeedsControl, Passed
from ..records.state import EvaluationRecord
from ..records.symptoms import UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Symptom

SIGNALS = ("fingerprints", "evaluation", "probes")
ONE_BATCH = False
BLAMES_RATES = False
COMPARES_RUNS = True
#: The run, and one without evaluations: 2.
RUNS = 2
#: The evaluation comes after the fourth step, and the probes look at step 8 for the last time. By judgement: 10 leave
#: six steps for a trace to show.
STEPS = 10
#: Up to this share of their spread, outputs are the same. Of 43 healthy programs in halves of a batch, none differs by
#: more than 2e-6, as other kernels add in another order; the smallest of those that mix samples differs by 0.35.
LIMIT = 1e-3
#: The same for outputs of half precision, which have 8 bits. By judgement: a few of the smallest steps they can take.
HALF_LIMIT = 0.05

NEVER = Cure("evaluated", "never evaluated", {"how": "not at all"})


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    found = trace.state.evaluation
    if found is None or found.why_not:
        return CouldNotJudge(_why_not(trace))
    shown = _shown(trace, found)
    if shown is not None:
        return shown
    never = controls.get(NEVER.label)
    if never is None:
        return NeedsControl(NEVER)
    if never.cut_short or never.crash is not None:
        return CouldNotJudge(never.cut_short or "without the evaluation, a step raises an error")
    left = parts_ways(trace, never)
    if left is not None:
        if not found.own:
            changed = wording.names(found.changed) if found.changed else "something"
            return CouldNotJudge(f"computing the loss changes {changed}, which the next steps depend on: {_HAND_IN}")
        what = (
            f"the evaluation changes {wording.names(found.changed)}"
            if found.changed
            else "the evaluation leaves traces"
        )
        summary = f"{what}, and the steps after it differ: {left.words} (expected the same bits as without it)"
        return Symptom(summary, UNEQUAL, left.measured, 0.0, "high", "the evaluation changes the training")
    doubt = _doubt(found)
    if doubt:
        return CouldNotJudge(doubt)
    figures = {"by_size": found.by_size or 0.0, "by_chance": found.by_chance or 0.0}
    return Passed(_notes(found), figures)


def _why_not(trace: Trace) -> str:
    found = trace.state.evaluation
    if found is not None:
        return found.why_not
    if not trace.state.from_training:
        return "nothing tells the evaluations of a watched test from its steps: return a Training"
    return trace.cut_short or "too few steps: the evaluation comes after 4 of them"


def _shown(trace: Trace, found: EvaluationRecord) -> Symptom | None:
    """What the evaluations themselves show."""
    layers = [each.name if each.name.endswith(")") else f"{each.name} ({each.kind})" for each in acting(found)]
    if layers and _differ(found):
        summary = f"two evaluations give {_results(found)}: {wording.names(layers)} {_act(layers)} as in training"
        return Symptom(f"{summary} (expected the same)", UNEQUAL, found.by_chance or 1.0, 0.0, "high", _TWO)
    if found.left_in_eval:
        models = wording.names(found.left_in_eval)
        summary = f"the step after an evaluation runs with {models} in eval mode (expected training mode)"
        return Symptom(summary, UNEQUAL, 1.0, 0.0, "high", "the evaluation leaves eval mode on")
    if found.reseeded:
        numbers = wording.names(found.reseeded)
        summary = f"two evaluations that began with other random numbers end with the same ones of {numbers}"
        return Symptom(
            f"{summary}, and steps draw from them (expected 0 sources seeded)",
            UNEQUAL,
            float(len(found.reseeded)),
            0.0,
            "high",
            "the evaluation changes the training",
        )
    by_size = found.by_size or 0.0
    mixes = trace.probe is not None and any(record.made_by == "user" for record in trace.probe.mixing)
    if by_size > LIMIT and not _differ(found) and (layers or mixes):
        summary = f"in batches of half the size, outputs differ by up to {wording.share(by_size)} of their spread"
        return Symptom(
            f"{summary} (at most {wording.share(LIMIT)} allowed)",
            UNEQUAL,
            by_size,
            LIMIT,
            "high",
            "outputs depend on the batch size",
        )
    return None


_HAND_IN = "hand in evaluate= to have your own evaluation judged"
_TWO = "two evaluations of one model differ"


def acting(found: EvaluationRecord) -> list[ActiveLayer]:
    """Without single layers that were put into training mode inside a model in eval mode: that is meant."""
    return [each for each in found.active if each.in_training_mode or each.name.endswith("()")]


def _differ(found: EvaluationRecord) -> bool:
    one, other = found.results if len(found.results) == 2 else ((), ())
    return one != other or bool(found.by_chance)


def _results(found: EvaluationRecord) -> str:
    one, other = found.results
    for a, b in zip(one, other, strict=False):
        if a != b:
            return (
                f"{wording.short(a)} and {wording.short(b)}" if wording.short(a) != wording.short(b) else f"{a} and {b}"
            )
    return "other outputs"


def _act(layers: list[str]) -> str:
    return "acts" if len(layers) == 1 else "act"


def _doubt(found: EvaluationRecord) -> str:
    if _differ(found):
        return f"two evaluations give {_results(found)}: they draw random numbers, which may be meant"
    if (found.by_size or 0.0) > HALF_LIMIT:
        share = wording.share(found.by_size or 0.0)
        return f"in batches of half the size, outputs differ by up to {share} of their spread, which may be meant"
    return ""


def _notes(found: EvaluationRecord) -> tuple[str, ...]:
    notes = []
    if not found.own:
        notes.append("the loss was computed in eval mode: " + _HAND_IN)
    if found.by_size is None:
        notes.append("whether outputs depend on the batch size was not judged: batches could not be cut")
    elif (found.figures_by_size or 0.0) > LIMIT and found.own:
        share = wording.share(found.figures_by_size or 0.0)
        notes.append(f"in batches of half the size, the figures differ by {share}, and no output does")
    return tuple(notes)


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    found = trace.state.evaluation
    if found is None:
        return "not evaluated"
    return _results(found) if found.results and _differ(found) else "the same twice"
