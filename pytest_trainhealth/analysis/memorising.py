"""What can be seen of a run on one batch: the loss it has to fall below, and how a run that does not is told."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from statistics import fmean

from .. import wording
from ..records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Symptom
from . import chance, loss_curve
from .reference_points import Points, Reach, points

#: Losses whose mean has to be below. By judgement: one of them alone may be luck.
LAST_STEPS = 3
#: A loss that rose by this many times its start. Of the 192 healthy programs two do (a Wasserstein critic by 7.6, a
#: Gaussian likelihood that starts near 0 by 3.4; the next by 1.0), so a jump alone is never an alarm.
_JUMP = 3.0
#: Of the first loss. It words a symptom: of 15 healthy programs that get here none grew, of 48 faulty ones two, by up
#: to 0.22.
_GREW = 0.1
#: Times the noise. By judgement: what grows within its own jumps does not grow.
_GREW_ABOVE_NOISE = 2
#: Of the first loss: it stops, otherwise it is stuck. By judgement, because it is wording and the order of causes: 20
#: of 48 faulty programs are above.
_FELL_SOMEWHAT = 0.3


def limit_of(trace: Trace, ratio: float, known: Points) -> float:
    """What the loss has to fall below. Nothing is below where there is nothing to learn."""
    start, floor = known.start(trace.losses[0]), known.floor or 0.0
    return floor + ratio * (start - floor) if start > floor else -inf


def below(losses: list[float], ratio: float) -> bool:
    return len(losses) > LAST_STEPS and losses[0] > 0 and fmean(losses[-LAST_STEPS:]) < ratio * losses[0]


def other_batches(trace: Trace) -> bool:
    """Whether this was a watched loop with a loader, which hands out what it hands out, and not the same again."""
    return trace.watched and any(trace.speed.loader_batches)


def stuck(trace: Trace, first: float, last: float, ratio: float, reached: Reach | None = None) -> Symptom:
    losses, steps, limit = trace.losses, len(trace.losses), limit_of(trace, ratio, points(trace))
    samples = f" of {wording.plural(trace.batch_size, 'sample')}" if trace.batch_size else ""
    wanted = f"has to fall below {wording.loss(limit)}" if first > 0 and limit > -inf else "has to fall"
    plain = f"; a plain recipe gets to {wording.loss(reached.level)}" if reached is not None else ""
    batch = "its batches" if other_batches(trace) else "one batch"
    summary = f"loss {wording.change(first, last)} in {steps} steps on {batch}{samples} ({wanted}{plain})"
    if last - first > max(_GREW * abs(first), _GREW_ABOVE_NOISE * loss_curve.spread(losses)):
        category, headline = INSTABILITY, f"loss grows from {wording.change(first, last)}"
    elif loss_curve.oscillates(losses):
        category, headline = INSTABILITY, f"loss oscillates around {wording.loss(last)}"
    elif first - last > _FELL_SOMEWHAT * abs(first):
        category, headline = PLATEAU, f"loss stops at {wording.loss(last)}"
    else:
        category, headline = NOT_LEARNING, f"loss stuck at {wording.loss(last)}"
    return Symptom(summary, category, last, limit if limit > -inf else ratio * first, "high", headline)


def only_guesses(trace: Trace, first: float, last: float) -> Symptom:
    drowned = chance.under_a_penalty(trace)
    if drowned is not None:
        summary = (
            f"loss {wording.change(first, last)} in {len(trace.losses)} steps on one batch, but most of it is a "
            f"penalty on the parameters: the part to be learnt started at {wording.loss(drowned)}"
        )
        headline = f"loss stops at {wording.loss(last)}, and only a penalty fell"
        return Symptom(summary, PLATEAU, last, drowned, "high", headline)
    chance_loss = chance.chance_loss(trace) or 0.0
    summary = (
        f"loss {wording.change(first, last)} in {len(trace.losses)} steps on one batch: it fell to that of a "
        f"guess, {wording.loss(chance_loss)}, and stays there"
    )
    category = INSTABILITY if _jumped(trace) else PLATEAU
    return Symptom(summary, category, last, chance_loss, "high", f"loss stops at {wording.loss(last)}, that of a guess")


def jumpy(symptom: Symptom, trace: Trace) -> Symptom:
    return replace(symptom, category=INSTABILITY) if _jumped(trace) else symptom


def _jumped(trace: Trace) -> bool:
    first = trace.losses[0]
    return max(trace.losses) > first + _JUMP * abs(first)
