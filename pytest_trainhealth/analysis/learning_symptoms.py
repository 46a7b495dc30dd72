"""What is wrong with the course of a loss through the data, in words and with the value and limit of each."""

from __future__ import annotations

from .. import wording
from ..records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Symptom
from . import chance, course, loss_curve

#: Of the first loss, as in overfits_one_batch. 142 of 278 healthy programs get there, 14 of 83 faulty ones.
LEARNT = 0.1
#: Of the first loss. Of 281 healthy programs 269 fell further, of 91 faulty ones 52. By judgement: what has not moved
#: may be on its first plateau.
FELL_SOMEWHAT = 0.3


def no_update(trace: Trace, first: float, last: float) -> Symptom:
    summary = f"no optimizer step in {wording.plural(trace.steps, 'step')}: loss {wording.change(first, last)}"
    return Symptom(summary, NOT_LEARNING, 0.0, 1.0, "high", "no optimizer step is taken")


def worse_than_a_guess(trace: Trace, first: float, last: float) -> Symptom:
    chance_loss = chance.chance_loss(trace) or 0.0
    summary = (
        f"loss {wording.change(first, last)} in {len(trace.losses)} steps through the data: the same guess for every "
        f"sample would give {wording.loss(chance_loss)}"
    )
    return Symptom(
        summary, PLATEAU, last, chance_loss, "medium", f"loss stops at {wording.loss(last)}, worse than a guess"
    )


def too_sure(trace: Trace) -> Symptom:
    by_chance, first = chance.chance_loss(trace) or 0.0, trace.losses[0]
    steps = chance.steps_to_a_guess(trace, by_chance)
    return Symptom(
        f"the first loss is {wording.loss(first)}, {first / by_chance:.0f} times that of a guess "
        f"({wording.loss(by_chance)}), and it takes {wording.plural(steps, 'step')} to get down to a guess",
        PLATEAU,
        first,
        by_chance,
        "medium",
        f"the loss starts at {first / by_chance:.0f} times that of a guess",
    )


def symptom_of(trace: Trace, first: float, last: float) -> Symptom:
    losses, steps = trace.losses, len(trace.losses)
    summary = f"loss {wording.change(first, last)} in {steps} steps through the data"
    wanted = first - (1 - LEARNT) * abs(first)
    if course.grows(trace):
        category, headline = INSTABILITY, f"loss grows from {wording.change(first, last)}"
    elif loss_curve.bounces(losses):
        category, headline = INSTABILITY, f"loss oscillates around {wording.loss(last)}"
    elif first - last > FELL_SOMEWHAT * abs(first):
        category, headline = PLATEAU, f"loss stops at {wording.loss(last)}"
    else:
        category, headline = NOT_LEARNING, f"loss stuck at {wording.loss(last)}"
    return Symptom(summary, category, last, wanted, "medium", headline)
