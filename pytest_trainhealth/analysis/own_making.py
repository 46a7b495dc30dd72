"""A watched loop that makes what it learns from itself: an agent acts, and learns from what comes of that.

Its loss need not fall: the better the agent, the longer its episodes, and the further from what it knew. So no course
of the loss shows a fault. What tells such a loop from one with data: the models are called with other things when
nothing is learnt, from the same start and with the same random numbers. (A `Training` says so itself: `data=None`.)
"""

from __future__ import annotations

from collections.abc import Mapping

from ..records.intervention import Cure
from ..records.judgement import CouldNotJudge, FailIfConfirmed, Judgement, NeedsControl
from ..records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Symptom
from .run_failures import broke_down

AS_IT_IS = Cure("noted_inputs", "inputs noted", {"learning": True})
UNTRAINED = Cure("noted_inputs", "inputs noted, without learning", {"learning": False})

OWN_MAKING = (
    "what the models are called with depends on what they have learnt, as with an agent that acts: its loss may do "
    "anything"
)


def unless_own_making(found: Judgement, trace: Trace, controls: Mapping[str, Trace]) -> Judgement:
    """`found`, unless it accuses a watched loop of its loss alone, and the loop makes its own data."""
    symptom = found.symptom if isinstance(found, FailIfConfirmed) else found
    if not isinstance(symptom, Symptom) or symptom.category not in (NOT_LEARNING, PLATEAU, INSTABILITY):
        return found
    # a re-run with a cure is compared with a run that was looked at in this way before
    if not trace.watched or trace.cured or any(trace.speed.loader_batches) or broke_down(trace) is not None:
        return found
    for control in (AS_IT_IS, UNTRAINED):
        if control.label not in controls:
            return NeedsControl(control, once=True)
    if _differ_later(controls[AS_IT_IS.label], controls[UNTRAINED.label]):
        return CouldNotJudge(OWN_MAKING)
    return found


def _differ_later(one: Trace, other: Trace) -> bool:
    """What differs before anything was learnt differs by chance, and says nothing."""
    steps = list(zip(one.applied.inputs, other.applied.inputs, strict=False))
    return bool(steps) and steps[0][0] == steps[0][1] and any(a != b for a, b in steps)
