"""gradients-cleared-before-step: zero_grad() is called between backward() and step()

What happens
    The gradients are computed, cleared, and the optimizer steps with none. The loss stays where it is (weight
    decay and momentum may move parameters a little).

    Called for every micro-batch of an accumulation, `zero_grad()` leaves the optimizer the last one only; called for
    one of two losses, it takes the gradients of the other away.

How severe it is
    High: nothing is learnt, and nothing raises.

How it is recognised
    Gradients are measured right after `backward()` and again when the optimizer gets them: something, then nothing.
    Backward passes are counted whose gradients are cleared before anything has used them. The re-run lets a
    `zero_grad()` between backward pass and step do nothing, and brings gradients back that were cleared by hand.

How to fix it
    Call `optimizer.zero_grad()` before the first backward pass of an update, or after the step, never in between. Look
    for `model.zero_grad()` in a helper, too.

What not to do
    A higher learning rate: any number times zero is zero.

How to prevent it
    Call `zero_grad()` as the first line of the step and nowhere else. `gradients_flow` on your own step shows it.

When this is wrong
    A discriminator's `zero_grad()` may rightly come after the generator's `backward()`: the generator has used that
    pass. Gradients that the code reads itself (sharpness-aware minimisation, gradient surgery) are used, too. Only an
    optimizer that gets nothing at all is reported, and one that gets the last of several passes from the same line.
"""

from __future__ import annotations

from .. import wording
from ..analysis import unmoved, wiring
from ..records.intervention import Cure
from ..records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import UnusedPasses
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 2
EXPLAINS = (NOT_LEARNING, PLATEAU, INSTABILITY, SILENT)
#: Steps of one optimizer. By judgement: three times is no accident.
_EVERY_TIME = 3


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    steps = wiring.cleared_early(trace)
    if symptom.category == NOT_LEARNING and len(steps) < 2:
        found = _at_most_steps(trace)
        if found is not None:
            return found
    if len(steps) < 2 or symptom.category != NOT_LEARNING:
        lost = wiring.thrown_away(trace)
        return None if lost is None else _thrown_away(lost)
    size = trace.wiring.after_backward[steps[0]]
    return _suspicion(
        trace,
        Evidence(f"gradient per value after backward(): {wording.short(size)}; when the optimizer steps: 0", size),
        Evidence(f"seen at {len(steps)} of {wording.plural(len(trace.wiring.after_backward), 'step')} examined"),
    )


def _at_most_steps(trace: Trace) -> Suspicion | None:
    """Not at the first steps, which are examined closely, but at most of those that followed; or of one optimizer."""
    seen = trace.wiring.empty_updates
    for label, count in seen.robbed.items():
        if count >= _EVERY_TIME and count >= trace.wiring.optimizers[label].steps // 2:
            found = f"{label} found none of the gradients that backward() had computed for it, {count} times"
            return _suspicion(trace, Evidence(found, float(count), seen.place))
    if not unmoved.mostly_empty(trace) or seen.cleared <= seen.not_computed:
        return None
    steps = wording.plural(seen.cleared + seen.full, "optimizer step")
    found = f"{seen.cleared} of {steps} found no gradient, although a backward pass had gone before"
    return _suspicion(trace, Evidence(found, float(seen.cleared)))


def _suspicion(trace: Trace, *evidence: Evidence) -> Suspicion:
    seen = trace.wiring.empty_updates
    return Suspicion(
        statement="gradients are cleared between backward() and step()",
        evidence=evidence,
        why="zero_grad() is called too late"
        if trace.wiring.cleared_at is not None or seen.cleared or seen.robbed
        else "something sets them to 0 after the last backward pass",
        places=() if trace.wiring.cleared_at is None else (trace.wiring.cleared_at,),
        fix=Fix(
            "clear the gradients before the backward pass",
            ("optimizer.zero_grad()", "loss.backward()", "optimizer.step()"),
        ),
        not_this="a higher learning rate: it multiplies zero",
        cures=(Cure("keep_gradients", "gradients kept until the step"),),
    )


def _thrown_away(record: UnusedPasses) -> Suspicion:
    cleared, used, updates = record.cleared[-1], record.used[-1], len(record.cleared)
    passes = f"{cleared + used} backward pass{'es' * (cleared + used > 1)}"
    left = f"only the last of {passes}" if used else "none of its gradients"
    return Suspicion(
        statement=f"zero_grad() leaves {record.optimizer} {left}",
        evidence=(
            Evidence(
                f"{cleared} of {passes} before each update {wording.is_or_are(cleared)} cleared before any optimizer "
                "has used the gradients",
                float(cleared),
                record.place,
            ),
            Evidence(f"this was seen at {sum(map(bool, record.cleared))} of {wording.plural(updates, 'update')}"),
        ),
        why="zero_grad() is called between the backward passes that belong to one step",
        places=tuple(place for place in (record.place, record.cleared_at) if place is not None),
        fix=Fix(
            "clear the gradients once per step, before the first backward pass that belongs to it",
            ("optimizer.zero_grad()", "for batch in micro_batches: (loss / k).backward()", "optimizer.step()")
            if used
            else ("optimizer.zero_grad()", "loss.backward()", "optimizer.step()"),
        ),
        not_this="a higher learning rate: what was cleared still has no say",
        cures=(Cure("keep_gradients", "gradients kept until the step"),),
    )
