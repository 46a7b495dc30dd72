"""gradients-cleared-before-step: zero_grad() is called between backward() and step()

What happens
    The gradients are computed, cleared, and the optimizer steps with none. The loss stays where it is (weight
    decay and momentum may move parameters a little).

How it is recognised
    Gradients are measured right after `backward()` and again when the optimizer gets them: something, then nothing.
    The re-run lets a `zero_grad()` between the two do nothing.

How to fix it
    Call `optimizer.zero_grad()` before the backward pass, or after the step, never in between. Look for
    `model.zero_grad()` in a helper, too.

What not to do
    A higher learning rate: any number times zero is zero.

When this is wrong
    A discriminator's `zero_grad()` may rightly come after the generator's `backward()`. Only an optimizer that gets
    nothing at all is reported.
"""

from __future__ import annotations

from .. import wording
from ..analysis import unmoved, wiring
from ..records.intervention import Cure
from ..records.symptoms import NOT_LEARNING
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 2
EXPLAINS = (NOT_LEARNING,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    steps = wiring.cleared_early(trace)
    if len(steps) < 2:
        return _at_most_steps(trace)
    size = trace.wiring.after_backward[steps[0]]
    return _suspicion(
        trace,
        Evidence(f"gradient per value after backward(): {wording.short(size)}; when the optimizer steps: 0", size),
        Evidence(f"seen at {len(steps)} of {wording.plural(len(trace.wiring.after_backward), 'step')} examined"),
    )


def _at_most_steps(trace: Trace) -> Suspicion | None:
    """Not at the first steps, which are examined closely, but at most of those that followed."""
    seen = trace.wiring.empty_updates
    if not unmoved.mostly_empty(trace) or seen.cleared <= seen.not_computed:
        return None
    steps = wording.plural(seen.cleared + seen.full, "optimizer step")
    found = f"{seen.cleared} of {steps} found no gradient, although a backward pass had gone before"
    return _suspicion(trace, Evidence(found, float(seen.cleared)))


def _suspicion(trace: Trace, *evidence: Evidence) -> Suspicion:
    return Suspicion(
        statement="gradients are cleared between backward() and step()",
        evidence=evidence,
        why="zero_grad() is called too late",
        places=() if trace.wiring.cleared_at is None else (trace.wiring.cleared_at,),
        fix=Fix(
            "clear the gradients before the backward pass",
            ("optimizer.zero_grad()", "loss.backward()", "optimizer.step()"),
        ),
        not_this="a higher learning rate: it multiplies zero",
        cures=(Cure("keep_gradients", "gradients kept until the step"),),
    )
