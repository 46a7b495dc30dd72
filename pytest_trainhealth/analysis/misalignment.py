"""Targets that do not belong to their inputs: in another order, different in every epoch, or about nothing of them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from statistics import fmean

from .. import wording
from ..records.data import Alignment
from ..records.intervention import Cure
from ..records.judgement import NeedsControl
from ..records.symptoms import SILENT
from ..records.trace import Trace
from ..records.verdict import Symptom
from .reference_points import points

#: Of the loss of a guess, on batches never learnt from. By judgement: chance itself is computed on other batches.
_CARRIES_OVER = 0.95
#: Losses on such batches. By judgement: of fewer one may be luck.
_FEWEST_HELD_OUT = 6
#: The plain recipe on three quarters of the batches.
HELD_OUT = Cure("reference_recipe", "a plain recipe, the last batches never learnt", {"rate": 1e-3, "held_out": True})
#: The user's own recipe on as many.
OWN_HELD_OUT = Cure("held_out_batches", "the last batches never learnt")
#: Of the loss of a guess: so far the user's recipe has to get on the batches that it learns. By judgement: half is
#: learnt beyond doubt, and half of the batches of ten epochs may be easier than the others.
_CLEARLY_LEARNT = 0.75


def not_aligned(trace: Trace) -> Symptom | None:
    found, repaired = trace.data.alignment, trace.data.repaired
    if found is not None and found.order:
        return _in_another_order(found)
    if repaired is None:
        return None
    return Symptom(
        f"{wording.count(repaired.changed)} of {wording.count(repaired.samples)} inputs have a different target "
        "in the second epoch than in the first",
        SILENT,
        repaired.changed,
        0.0,
        "high",
        "inputs get different targets in every epoch",
    )


def _in_another_order(found: Alignment) -> Symptom:
    if found.crossed:
        return Symptom(
            f"{wording.count(found.crossed)} of {wording.count(found.samples)} inputs get the target of another sample",
            SILENT,
            found.crossed,
            0.0,
            "high",
            "inputs get the targets of other samples",
        )
    what = f"{wording.count(found.samples)} targets" if found.kind == "classes" else "the targets' variance"
    return Symptom(
        f"{wording.share(max(found.used, 0.0))} of {what} can be predicted from the inputs as they are used, and "
        f"{wording.share(found.best)} when each input gets the target of {found.order}",
        SILENT,
        found.used,
        found.best,
        "high",
        "inputs fit the targets of other samples",
    )


def carries_nothing_over(trace: Trace, controls: Mapping[str, Trace]) -> Symptom | NeedsControl | None:
    """Inputs with structure whose targets a probe cannot predict: does a plain recipe learn anything from them that
    holds for batches it has not seen?"""
    found, marks = trace.data.alignment, points(trace)
    if found is None or not found.structured or not _may_be_random(trace, but_for_a_hint=True):
        return None
    best = _on_unseen_batches(controls)
    if best is None or isinstance(best, NeedsControl):
        return best
    if marks.chance is None or best < _CARRIES_OVER * marks.chance:
        return None
    if found.used > found.chance:
        only_by_heart = _learns_only_by_heart(controls, marks.chance)
        if isinstance(only_by_heart, NeedsControl) or not only_by_heart:
            return only_by_heart or None
    return Symptom(
        f"nothing carries over: on batches that a plain recipe has not seen, its loss is {wording.loss(best)} at best "
        f"(a guess gives {wording.loss(marks.chance)})",
        SILENT,
        best,
        marks.chance,
        "high",
        "the targets have nothing to do with the inputs",
    )


def may_be_learnt_by_heart(
    trace: Trace, controls: Mapping[str, Trace], *, but_for_a_hint: bool = False
) -> str | NeedsControl:
    """A loss that fell some way, of targets that no probe can predict. The reason not to call it learnt, or "".

    `but_for_a_hint`: also where a probe is right a few times more than by chance, as it is by luck in half of all
    cases.
    """
    if not _may_be_random(trace, but_for_a_hint=but_for_a_hint):
        return ""
    best, chance = _on_unseen_batches(controls), points(trace).chance or 0.0
    if isinstance(best, NeedsControl):
        return best
    if best is None or best < _CARRIES_OVER * chance:
        return ""
    return (
        f"what the loss fell by may be learnt by heart: on batches that a plain recipe has not seen, its loss is "
        f"{wording.loss(best)} at best (a guess gives {wording.loss(chance)}), as with random labels; if yours are not "
        "random, look whether each input still has its own target"
    )


def _may_be_random(trace: Trace, *, but_for_a_hint: bool = False) -> bool:
    """A probe predicts the targets no better than a constant answer does, not even by a hint."""
    found, marks = trace.data.alignment, points(trace)
    if not marks.known or marks.nothing_to_learn or found is None or not found.at_chance:
        return False
    return but_for_a_hint or found.used <= found.chance


def _on_unseen_batches(controls: Mapping[str, Trace]) -> float | NeedsControl | None:
    """The least loss of a plain recipe on batches that it does not learn from; None where too few were seen."""
    control = controls.get(HELD_OUT.label)
    if control is None:
        return NeedsControl(HELD_OUT, once=True)
    unseen = [control.losses[step] for step in control.applied.held_out if step < len(control.losses)]
    if len(unseen) < _FEWEST_HELD_OUT or not control.finite or control.crash is not None:
        return None
    return _best_epoch(control.losses, control.applied.held_out)


def _learns_only_by_heart(controls: Mapping[str, Trace], chance: float) -> bool | NeedsControl:
    """Where a probe is right a few times more than by chance, half of all random labels are no different. There the
    user's own recipe has to show it as well: it learns the batches that it sees, and is never better than a guess on
    the others. Of 1,139 healthy programs a plain recipe alone says so of two, which it is too slow for: what they learn
    in their own way holds for the other batches too.
    """
    control = controls.get(OWN_HELD_OUT.label)
    if control is None:
        return NeedsControl(OWN_HELD_OUT, once=True)
    unseen = _on_unseen_batches({HELD_OUT.label: control})
    if not isinstance(unseen, float) or unseen < chance:
        return False
    held_out = set(control.applied.held_out)
    seen = [loss for step, loss in enumerate(control.losses) if step not in held_out]
    return fmean(seen[-_FEWEST_HELD_OUT:]) < _CLEARLY_LEARNT * chance


def _best_epoch(losses: list[float], held_out: list[int]) -> float:
    """The lowest mean over the batches of an epoch that were not learnt from: a single batch may be an easy one."""
    epochs: list[list[float]] = []
    for before, step in pairwise([-2, *held_out]):
        if step != before + 1:
            epochs.append([])
        epochs[-1].append(losses[step])
    return min(fmean(epoch) for epoch in epochs)
