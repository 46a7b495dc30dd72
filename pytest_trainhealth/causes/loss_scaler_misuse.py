"""loss-scaler-misuse: the optimizer gets gradients that a loss scaler's factor is still in, or never was in

What happens
    For half precision `GradScaler` multiplies the loss by 65,536 or so, and `scaler.step(optimizer)` divides the
    gradients by it again. Whoever calls `optimizer.step()` instead steps with gradients that are thousands of times too
    large; whoever calls `backward()` on the loss that was not scaled steps with gradients that are thousands of times
    too small. Adam and similar optimizers hide both, until the factor changes or comes near their eps.

How severe it is
    High: the effective learning rate is off by the scale, a factor of thousands.

How it is recognised
    The factor is followed from `scaler.scale()` through `backward()` and `unscale_()` to the optimizer's step. The
    re-run gives the optimizer the gradients at their real size.

How to fix it
    `scaler.scale(loss).backward()`, then `scaler.unscale_(optimizer)` if you clip, then `scaler.step(optimizer)` and
    `scaler.update()`. Never `optimizer.step()` next to a scaler that has scaled its loss.

What not to do
    Clipping or a lower learning rate: the factor is not the gradient's size, and it changes during the training.

How to prevent it
    Write the four lines in this order once, in one function: `scale(loss).backward()`, `unscale_`, clip, `step` and
    `update`. `keeps_precision` compares the curve with float32.

When this is wrong
    Code that divides the gradients by `scaler.get_scale()` itself is not reported: they have their real size.
"""

from __future__ import annotations

from .. import wording
from ..analysis import wiring
from ..records.intervention import Cure
from ..records.symptoms import CRASH, EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 1
EXPLAINS = (INSTABILITY, EXPLOSION, NOT_LEARNING, PLATEAU, SILENT, CRASH)

_LOOP = ("scaler.scale(loss).backward()", "scaler.step(optimizer)", "scaler.update()")
#: What `torch.amp.GradScaler` says, and the call that is missing.
_COMPLAINTS = (
    ("step() has already been called since the last update()", "scaler.update()"),
    ("unscale_() has already been called on this optimizer since the last update()", "scaler.update()"),
    ("This may indicate your script did not use scaler.scale", "scaler.scale()"),
    ("No inf checks were recorded", "scaler.step()"),
)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    crashed = symptom.category == CRASH
    # a step that raises shows it only once
    wrong = trace.wiring.wrongly_scaled if crashed else wiring.wrongly_scaled(trace)
    if not wrong:
        return _complaint(trace) if crashed else None
    first, large = wrong[0], wrong[0].factor > 1
    times = wording.short(first.factor if large else 1 / first.factor)
    what = f"{first.optimizer} steps with gradients that are {times} times too {'large' if large else 'small'}"
    real = first.norm / first.factor
    done = (
        "the loss was scaled, and nothing took the factor out again"
        if large
        else "the factor was taken out of gradients of a loss that was never scaled"
    )
    return Suspicion(
        statement=what,
        evidence=(
            Evidence(
                f"the gradient's norm is {wording.short(first.norm)} when {first.optimizer} gets it (step "
                f"{first.step}); without the scaler's factor it is {wording.short(real)}",
                first.norm,
                first.place,
            ),
            Evidence(f"{done}, at {wording.plural(len(wrong), 'update')}", float(len(wrong))),
        ),
        why="optimizer.step() knows nothing of the scaler: only scaler.step() takes its factor out"
        if large
        else "scaler.scale() returns the scaled loss, and backward() has to be called on that one",
        places=() if first.place is None else (first.place,),
        fix=Fix("let the scaler do both, scale and step:", _LOOP),
        not_this="clipping or another learning rate: the factor changes during the training",
        # the scaler complains all the same
        cures=() if crashed else (Cure("unscaled_gradients", "gradients at their real size"),),
    )


def _complaint(trace: Trace) -> Suspicion | None:
    """The scaler itself has noticed what is missing, and raised."""
    crash = trace.crash
    missing = None if crash is None else next((what for text, what in _COMPLAINTS if text in crash.message), None)
    if crash is None or missing is None:
        return None
    return Suspicion(
        statement=f"{missing} is missing from the step",
        evidence=(Evidence(f"the scaler says at step {crash.step}: {crash.message}", float(crash.step), crash.place),),
        why="a scaler needs all three calls, in this order, at every update",
        places=() if crash.place is None else (crash.place,),
        fix=Fix("let the scaler do all of it:", _LOOP),
        not_this="a new scaler for every step: it could not adapt its factor",
    )
