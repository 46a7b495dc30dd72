"""More steps for a training whose operations come closer and closer to where they are not finite.

Only a value that really is not finite is reported. A training that stays finite passes, however close it came.
"""

from __future__ import annotations

from dataclasses import replace

from .. import wording
from ..analysis.approaching import closing_in, still_closing_in
from ..analysis.run_failures import broke_down
from ..engine.conclude import FollowedUp
from ..engine.examination import Examination
from ..records.judgement import CouldNotJudge, Passed
from ..records.numbers import NearDanger
from ..records.trace import Trace

#: Times the steps of the check: at most, and until it is looked whether anything still comes closer. By judgement: 400
#: and 200 steps of 50; of 24 angles that are fitted until they are NaN 21 are so by step 200, all by 330.
_MOST, _AT_LEAST = 8, 4


def go_on(examination: Examination, passed: Passed, trace: Trace) -> FollowedUp:
    """The run that was judged, or a longer one from the same start if that does not stay finite."""
    outcome = FollowedUp(passed, trace, examination.plan)
    program, most = examination.program, _MOST * trace.steps
    near = closing_in(trace, most)
    if not near or program.start is None or not program.repeatable:
        return outcome
    halfway = _AT_LEAST * trace.steps

    def settled(longer: Trace) -> bool:
        return longer.steps == halfway and not still_closing_in(longer, most)

    plan = replace(examination.plan.untimed(), max_steps=most, stop_when=settled)
    longer = examination.record(plan)
    symptom = broke_down(longer, most)
    if symptom is not None:
        plan = replace(examination.plan.until(longer.steps), cured_steps=2 * longer.steps)
        return FollowedUp(symptom, longer, plan, (f"more than {trace.steps} steps, because {_approach(near[0])}",))
    if longer.cut_short:
        return replace(outcome, judgement=CouldNotJudge(f"{_approach(near[0])}; {longer.cut_short}", passed.figures))
    return replace(outcome, notes=(f"{_approach(near[0])}: finite for {longer.steps} steps, too",))


def _approach(near: NearDanger) -> str:
    (first_step, first), (last_step, last) = min(near.gaps.items()), max(near.gaps.items())
    way = f"{wording.short(first)} from it at step {first_step}, {wording.short(last)} at step {last_step}"
    return f"{near.operation} at {near.place} comes closer to the end of its domain ({way})"
