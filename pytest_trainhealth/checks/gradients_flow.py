"""gradients_flow: every trainable parameter gets a sane gradient, is held by an optimizer and moves

What it does
    Takes a few steps and examines each parameter: does a gradient reach it, does an optimizer hold it, does it
    move, and are the gradients those of this step only? Where something is missing it keeps looking, for up to 32
    steps, before it reports it.

When it fails
    A trainable parameter gets a gradient but no optimizer holds it, or one that leaves it where it is: it skips it, its
    rate is 0, something puts it back. Gradients are never cleared, or cleared too early; nothing moves; most optimizer
    steps have no gradient; a layer gets no gradient, one of exactly zero, or one that has almost vanished on its way.
    It also fails where the loss looks fine but the training is not the intended one: in eval mode, with one gradient
    used twice, with frozen parts that move, with weights that should be tied, with samples that change when read, with
    a `sample()` or an `argmin()` that keeps the loss from reaching the encoder, or with initial values that a
    parametrisation loses; or where the graph of every step stays in memory, through 128 steps and two passes through
    the data.

What is not an alarm
    Parameters that are frozen on purpose, or not handed to an optimizer and before all that is (tuning a head);
    zero-initialised heads and branches, whose gradient comes with the second step; two optimizers that take turns on
    the same parameters; frozen parts in eval mode; averaged copies; experts and dropped layers that did not run while
    others did; what the last block of a stack hands on; the last bias of a network that is used through its gradient;
    attention over a single token; what the code of an installed package makes and this task does not use (it is noted).
    A loss can fall nicely with a layer left out: this check looks at the wiring itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import wording
from ..analysis import lasting_graphs, silent_faults, unmoved, wiring
from ..analysis.run_failures import broke_down
from ..records.judgement import NO_CONTROLS, CouldNotJudge, FailedRun, Judgement, Passed
from ..records.symptoms import INSTABILITY, MEMORY, NO_RATE, NOT_LEARNING
from ..records.trace import Trace
from ..records.verdict import Symptom
from ..records.wiring import VANISHED, OptimizerRecord, ParameterRecord

SIGNALS = (
    *("first_gradients", "movement", "stale_gradients", "leaked_gradients", "modules", "double_updates", "modes"),
    *("frozen", "weight_ties"),
    *("samples", "batch_writes", "drifting_batches", "detached_samples", "hard_choices", "adversaries", "clipping"),
    "used_up_clips",
    *("loss_scaling", "unused_passes", "validations"),
    *("lost_updates", "empty_updates", "coasting", "unheld", "inert_weights", "feature_branches", "derivatives"),
    *("hand_updates", "closure_passes", "lost_initialisations", "put_back"),
    *("batch_norms", "noisy_teachers", "zeroed_rows", "lasting_graphs"),
)
ONE_BATCH = False
BLAMES_RATES = False
#: First: a wiring fault must not be mistaken for a wrong learning rate. By judgement.
TURN = 0
#: Wiring is the same at every step; two more show gradients of the step before. By judgement.
STEPS = 4
#: Zero-initialised branches after a warm-up from 0, rarely used experts: they show up within a few more steps.
_PATIENCE = 32
#: A loop that accumulates over many calls. By judgement: twice the longest accumulation that is usual, 32.
_CALLS_WITHOUT_UPDATE = 64
#: Such a loop is followed until its third update.
_MOST_CALLS = 3 * _CALLS_WITHOUT_UPDATE

#: Where neither backward() nor torch.autograd.grad() was seen to give a parameter its gradient.
_UNSEEN = "no gradient of a parameter was seen: gradients are computed for tensors that no module or optimizer has"


def max_steps(settings: Mapping[str, Any]) -> int:
    return max(_MOST_CALLS, int(settings.get("steps") or STEPS))


def stop_when(trace: Trace, settings: Mapping[str, Any]) -> bool:
    if not trace.update_count and not any(p.moved for p in trace.trainable):
        return trace.steps >= max(_CALLS_WITHOUT_UPDATE, int(settings.get("steps") or 0))
    if 0 < trace.update_count < 3 or (not trace.update_count and 0 < trace.wiring.hand_updates < 3):
        return False
    if trace.steps < max(3, int(settings.get("steps") or STEPS)):
        return False
    if lasting_graphs.undecided(trace):
        return trace.steps >= max_steps(settings)
    return trace.steps >= max(_PATIENCE, int(settings.get("steps") or 0)) or (
        not wiring.without_gradient(trace)
        and not _vanished(trace)
        and not wiring.idle_optimizers(trace)
        and unmoved.steps_frozen_ones(trace) is None
        and all(p.moved or not p.has_gradient for p in trace.trainable)
        and not trace.wiring.empty_updates.empty
        and not trace.wiring.empty_updates.missed
        and not any(each.waited for each in trace.wiring.coasting.values())
        and not trace.wiring.zeroed_rows
        and not trace.wiring.evaluated_while_training
        and not any(each.part and not each.trained for each in trace.wiring.modes.values())
        and not any(p.lost is not None and p.lost.put_back for p in trace.trainable)
    )


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    if not trace.steps:
        return CouldNotJudge("no step was taken")
    trainable, gradients = trace.trainable, [p for p in trace.trainable if p.has_gradient]
    symptom = _nothing_happens(trace, gradients) or _gradients_pile_up(trace) or _not_held(trace)
    symptom = symptom or _missing(trace) or _passed_by(trace) or _held_still(trace)
    symptom = symptom or _mostly_empty(trace) or _at_rate_zero(trace)
    symptom = symptom or _one_never_steps(trace) or silent_faults.silently_wrong(trace) or _all_graphs_kept(trace)
    if symptom is not None:
        return symptom
    if trace.cut_short:
        return CouldNotJudge(trace.cut_short)
    if unmoved.at_rate_zero(trace):
        return CouldNotJudge(_still_at_zero(trace))
    frozen = unmoved.steps_frozen_ones(trace)
    if frozen is not None and trace.steps >= _PATIENCE:
        return CouldNotJudge(_never_thawed(frozen, trace))
    if not gradients and not any(trace.backwards):
        return CouldNotJudge(_UNSEEN)
    if not gradients:
        return CouldNotJudge("every gradient is zero, as happens when the loss is already at its minimum")
    return Passed(_notes(trace), {"parameters": float(len(trainable)), "with_gradient": float(len(gradients))})


def _nothing_happens(trace: Trace, gradients: list[ParameterRecord]) -> Symptom | None:
    if not wiring.nothing_moves(trace):
        return None
    if trace.wiring.trains_unknown and not gradients:
        return None
    if not any(trace.backwards) and not gradients:
        summary = f"no backward pass in {wording.plural(trace.steps, 'step')}, and no parameter moved"
    elif not trace.update_count:
        summary = f"no optimizer step in {wording.plural(trace.steps, 'step')}, and no parameter moved"
    elif all(rate == 0 for o in trace.wiring.optimizers.values() for rate in o.lr.values()):
        summary = f"the learning rate is 0 for {wording.plural(trace.steps, 'step')}, and no parameter moved"
        return Symptom(summary, NO_RATE, 0.0, float(len(trace.trainable)), "high", "no parameter moves")
    else:
        summary = f"no parameter moved in {wording.plural(trace.update_count, 'optimizer step')}"
    return Symptom(summary, NOT_LEARNING, 0.0, float(len(trace.trainable)), "high", "no parameter moves")


def _one_never_steps(trace: Trace) -> Symptom | None:
    """One of several optimizers. One that waits a few steps for the others gets its time."""
    idle = wiring.idle_optimizers(trace)
    if not idle or trace.steps < _PATIENCE:
        return None
    others = sum(o.steps for o in trace.wiring.optimizers.values())
    summary = (
        f"{idle[0].label} never stepped, while the others took {wording.plural(others, 'step')} (expected at least 1)"
    )
    return Symptom(summary, NOT_LEARNING, 0.0, 1.0, "high", f"{idle[0].label} never steps")


def _gradients_pile_up(trace: Trace) -> Symptom | None:
    for label, steps in wiring.piling_up(trace).items():
        summary = (
            f"{label} stepped {len(steps)} times with gradients that still held those of the last step (expected 0)"
        )
        return Symptom(summary, INSTABILITY, float(len(steps)), 0.0, "high", "gradients add up from step to step")
    for label, leaks in wiring.leaking(trace).items():
        giver = next(iter(leaks.values()))
        times = wording.plural(len(leaks), "time")
        summary = f"{label} stepped {times} with gradients that {giver}'s backward pass had left (expected 0)"
        return Symptom(summary, INSTABILITY, float(len(leaks)), 0.0, "high", f"{label} gets {giver}'s gradients")
    return None


def _not_held(trace: Trace) -> Symptom | None:
    orphans = wiring.orphaned(trace)
    if not orphans:
        return None
    counted = f"{len(orphans)} of {wording.plural(len(trace.trainable), 'trainable parameter')}"
    summary = f"{counted} got gradients but never moved (expected 0)"
    return Symptom(
        summary,
        NOT_LEARNING,
        float(len(orphans)),
        0.0,
        "high",
        f"{wording.names([p.name for p in orphans])} never moved",
    )


def _all_graphs_kept(trace: Trace) -> Symptom | None:
    if not lasting_graphs.all_kept(trace):
        return None
    kept = trace.wiring.lasting_graphs.steps
    summary = f"the graphs of all {kept} steps are still in memory, though the weights have changed since (expected 0)"
    return Symptom(summary, MEMORY, float(kept), 0.0, "high", "the graph of every step is kept")


def _held_still(trace: Trace) -> Symptom | None:
    still = unmoved.held_still(trace)
    if not still:
        return None
    counted = f"{len(still)} of {wording.plural(len(trace.trainable), 'trainable parameter')}"
    times = max(p.lost.count for p in still if p.lost is not None)
    summary = f"{counted} got gradients and an optimizer, but never moved in {times} of its steps (expected 0)"
    names = wording.names([p.name for p in still])
    return Symptom(summary, NOT_LEARNING, float(len(still)), 0.0, "high", f"{names} never moved")


def _at_rate_zero(trace: Trace) -> Symptom | None:
    """A schedule may raise the rate later, and what lies before all that is trained may wait for its turn."""
    zero = unmoved.left_at_rate_zero(trace)
    if not zero or trace.steps < _PATIENCE:
        return None
    counted = f"{len(zero)} of {wording.plural(len(trace.trainable), 'trainable parameter')}"
    summary = f"{counted} had a learning rate of 0 for {wording.plural(trace.steps, 'step')} (expected 0)"
    names = wording.names([p.name for p in zero])
    return Symptom(summary, NO_RATE, float(len(zero)), 0.0, "high", f"{names} never moved")


def _still_at_zero(trace: Trace) -> str:
    zero = unmoved.at_rate_zero(trace)
    had = f"{wording.names([p.name for p in zero])} had a learning rate of 0 for {wording.plural(trace.steps, 'step')}"
    return f"{had}: freeze them if that is meant, or set a higher steps= if it rises later"


def _never_thawed(optimizer: OptimizerRecord, trace: Trace) -> str:
    taken = wording.plural(optimizer.steps, "step")
    return (
        f"{optimizer.label} took {taken}, and all that it holds is frozen: thaw it, or set a higher steps= if that "
        "comes later"
    )


def _mostly_empty(trace: Trace) -> Symptom | None:
    if not unmoved.mostly_empty(trace):
        return None
    seen = trace.wiring.empty_updates
    summary = f"{seen.empty} of {wording.plural(seen.empty + seen.full, 'optimizer step')} had no gradient to step with"
    return Symptom(
        f"{summary} (expected 0)", NOT_LEARNING, float(seen.empty), 0.0, "high", "most optimizer steps are empty"
    )


def _missing(trace: Trace) -> Symptom | None:
    missing = wiring.without_gradient(trace)
    if missing and {p.name for p in missing} <= {record.name for record in wiring.zeroed_moved(trace)}:
        return silent_faults.zeroed_moved(trace)
    if missing:
        kind = "no gradient" if missing[0].never_reached else "a gradient of exactly 0"
        counted = f"{len(missing)} of {wording.plural(len(trace.trainable), 'trainable parameter')}"
        summary = f"{counted} got {kind} in {trace.steps} steps (expected 0)"
        return Symptom(
            summary,
            NOT_LEARNING,
            float(len(missing)),
            0.0,
            "high",
            f"{wording.names([p.name for p in missing])} got {kind}",
        )
    faint = _vanished(trace)
    if faint:
        strongest, weakest = wiring.strength(trace), faint[0]
        small = max(weakest.rms_gradients().values())
        summary = (
            f"the gradient of {weakest.name} is {wording.short(small)} per value, {wording.short(small / strongest)} "
            f"of the largest (at least {VANISHED:g} is usual)"
        )
        return Symptom(
            summary,
            NOT_LEARNING,
            small / strongest,
            VANISHED,
            "high",
            f"the gradient vanishes before {weakest.name}",
        )
    return None


def _passed_by(trace: Trace) -> Symptom | None:
    passed = unmoved.passed_by(trace)
    if not passed:
        return None
    counted = f"{len(passed)} of {wording.plural(len(trace.trainable), 'trainable parameter')}"
    label = passed[0].held_by[0]
    steps = wording.plural(trace.wiring.empty_updates.missed[label], "step")
    summary = f"{counted} got no gradient from the backward passes before {label}'s {steps} (expected 0)"
    names = wording.names([p.name for p in passed])
    return Symptom(summary, NOT_LEARNING, float(len(passed)), 0.0, "high", f"{names} got no gradient")


def _vanished(trace: Trace) -> list[ParameterRecord]:
    """What an installed package makes of its gradients is its own business."""
    return [p for p in wiring.vanished(trace) if p.made_by == "user"]


def _notes(trace: Trace) -> tuple[str, ...]:
    unused = [p.name for p in trace.trainable if p.gradients and not p.has_gradient]
    spared, small = (found(trace) for found in (unmoved.spared, unmoved.too_small_to_move))
    notes = [f"{wording.names(unused)} got no gradient in {trace.steps} steps"] if unused else []
    if spared:
        names = wording.names([p.name for p in spared])
        notes.append(f"{names} got gradients that no optimizer uses: before what is trained, as in tuning a head")
    if small:
        names = wording.names([p.name for p in small])
        notes.append(f"{names} did not move: updates at this rate are too small for {small[0].dtype}")
    if lasting_graphs.kept_within_a_pass(trace):
        kept = trace.wiring.lasting_graphs.steps
        notes.append(f"the graphs of all {kept} steps are still in memory: keep loss.item(), or loss.detach()")
    return tuple(notes)


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    if not trace.finite:
        return "not finite"
    bad = {p.name for p in (*wiring.orphaned(trace), *wiring.without_gradient(trace), *_vanished(trace))}
    still = (*unmoved.held_still(trace), *unmoved.at_rate_zero(trace), *unmoved.passed_by(trace))
    bad |= {p.name for p in still}
    if wiring.piling_up(trace) or wiring.leaking(trace):
        return "gradients add up"
    if wiring.nothing_moves(trace):
        return "nothing moves"
    if unmoved.mostly_empty(trace):
        return "most steps are empty"
    wrong = silent_faults.silently_wrong(trace) or _all_graphs_kept(trace)
    if wrong is not None and not bad:
        return wrong.headline
    total = len(trace.trainable)
    return f"all {wording.plural(total, 'parameter')} train" if not bad else f"{len(bad)} of {total} do not train"
