"""Runs that ended before they could show what they would have come to: no fault, and no pass either.

A watched test takes as many steps as it takes, and any training may be told to take a few. What lags behind at their
end may be slow on purpose, and would have gone on for longer in earnest. Four things make a run short, and each check
asks for those that bear on its promise.
"""

from __future__ import annotations

from .. import wording
from ..records.trace import Trace
from . import course, loss_curve, memorising, wiring
from .reference_points import points

#: Fewer steps show no course. By judgement: the shortest healthy run that is judged has 32, and the shortest run that
#: anybody asked for 20.
FEWEST = 20
#: Of the first loss: a smaller fall is no learning yet. Healthy: 10 of 299 programs fell by less.
HARDLY_FELL = 0.05


def too_few(trace: Trace) -> bool:
    return len(trace.losses) < FEWEST


def still_fell(trace: Trace, steps: int) -> bool:
    """It ended before so many updates, and its loss fell to the end."""
    return wiring.updates_made(trace) < steps and loss_curve.still_falling(trace.losses, points(trace).floor)


def still_learnt(trace: Trace, steps: int) -> bool:
    """A watched loop that still fell, and has learnt something: no rate that is faster shows a fault."""
    first, last = trace.losses[0], course.end(trace)
    return trace.watched and first - last > HARDLY_FELL * abs(first) and still_fell(trace, steps)


def saw_its_data_once(trace: Trace, steps: int) -> bool:
    """A watched loop gets its own batches, others at each step: in few steps nobody may learn anything from those."""
    return memorising.other_batches(trace) and trace.update_count < steps


def describe(trace: Trace, to_see: str) -> str:
    """With the way out: a watched test takes as many steps as it takes, any other as many as it is told to."""
    more = "let the test train longer" if trace.watched else "give more steps="
    return f"{wording.plural(len(trace.losses), 'step')}: too few to see it {to_see}; {more}"
