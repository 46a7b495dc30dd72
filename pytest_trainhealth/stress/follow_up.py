"""What comes after a plain run that stayed finite: more steps where an operation closes in on the end of its domain;
sweep, margins and search, as the marker requests them."""

from __future__ import annotations

from dataclasses import replace

from .. import wording
from ..analysis.run_failures import broke_down
from ..engine.conclude import FollowedUp
from ..engine.examination import Examination
from ..records.judgement import CouldNotJudge, Passed
from ..records.numbers import Found
from ..records.trace import Trace
from ..records.verdict import Symptom
from ..training import last_batch_size
from .circumstances import Circumstances, RequestedSweep
from .going_on import go_on
from .margin import Margin, margins
from .precisions import usable
from .search.search import Searched, search
from .sweep import Sweep, under


def follow_up(examination: Examination, passed: Passed, trace: Trace) -> FollowedUp:
    longer = go_on(examination, passed, trace)
    if not isinstance(longer.judgement, Passed):
        return longer
    outcome = _swept(examination, passed, trace)
    outcome = replace(outcome, notes=(*longer.notes, *outcome.notes))
    wanted = isinstance(outcome.judgement, Passed) and examination.values.get("search")
    return _searched(examination, outcome, trace) if wanted else outcome


def _swept(examination: Examination, passed: Passed, trace: Trace) -> FollowedUp:
    values, sweep = examination.values, Sweep(examination)
    outcome = FollowedUp(passed, trace, examination.plan)
    if not examination.program.repeatable or not values.get("sweep", True):
        return outcome
    requested = RequestedSweep.by(values)
    for precision in requested.values.get("precisions", ()):
        why_not = usable(precision)
        if why_not:
            return replace(outcome, judgement=CouldNotJudge(why_not, passed.figures))
    found, start = None, examination.program.start
    if start is not None:  # a watched test runs as a whole, so only what the marker requests
        found = sweep.plausible(last_batch_size(start.training.data, trace.steps))
    if found is None and requested:
        found = sweep.requested(requested)
    if found is not None:
        return _failed(examination, sweep, found)
    notes = tuple(f"not tried: {what} ({error})" for what, error in sweep.refused.items())
    least = values.get("min_margin")
    if sweep.cut_short:
        return replace(outcome, judgement=_not_swept(sweep, passed), notes=notes)
    if least is None and not values.get("margin"):
        return replace(outcome, notes=notes)
    measured = margins(sweep)
    if sweep.cut_short:
        return replace(outcome, judgement=_not_swept(sweep, passed), notes=notes)
    short = next((m for m in measured if m.beyond is not None and least is not None and m.factor < least), None)
    if short is not None and short.beyond is not None:
        return _failed(examination, sweep, short.beyond, f"a margin of {least:g} was requested")
    known = replace(passed, figures={**passed.figures, **_figures(measured)})
    return replace(outcome, judgement=known, notes=(*notes, "stays finite with " + ", ".join(map(str, measured))))


def _not_swept(sweep: Sweep, passed: Passed) -> CouldNotJudge:
    """The promise holds for the sweep, too: half of one keeps half of it."""
    return CouldNotJudge(f"finite by itself; under other circumstances {sweep.cut_short}", passed.figures)


def _searched(examination: Examination, outcome: FollowedUp, trace: Trace) -> FollowedUp:
    program, plan = examination.program, examination.plan
    if program.start is None or not program.repeatable:
        why = program.why_not if not program.repeatable else "it needs a Training, and this test is watched"
        return replace(outcome, notes=(*outcome.notes, f"not searched: {why}"))
    searched = search(program, program.start, plan, min(trace.steps, plan.max_steps))
    find = searched.find
    if find is None:
        return replace(outcome, notes=(*outcome.notes, _searched_in_vain(searched)))
    symptom = broke_down(find.trace)
    assert symptom is not None
    found_under = under(plan, Circumstances(), find.found.step + 1).under(find.condition)
    return FollowedUp(_under(symptom, find.found.describe()), find.trace, found_under, (_moved(find.found),))


def _moved(found: Found) -> str:
    low, high = wording.short(found.low), wording.short(found.high)
    to = f"to {low}" if low == high else f"to values between {low} and {high}"
    return f"moved: {wording.plural(found.samples, 'sample')} of {found.field}, {to}"


def _searched_in_vain(searched: Searched) -> str:
    if searched.out_of_time:
        return f"searched only partly: {searched.out_of_time}"
    if not searched.aimed_at:
        return "nothing to search for: none of your operations with a danger zone depends on inputs that may be changed"
    operations = wording.plural(searched.aimed_at, "operation")
    return f"searched: {searched.attempts} attempts towards {operations} found nothing"


def _failed(examination: Examination, sweep: Sweep, found: Circumstances, why: str = "") -> FollowedUp:
    """The failure under these circumstances. The plan keeps them, so the diagnosis and its cures run under them too."""
    trace = sweep.traces[found]
    symptom = broke_down(trace)
    assert symptom is not None
    notes = (why,) if why else ("to reproduce only this:", f"  {found.marker()}")
    plan = replace(under(examination.plan, found, max(trace.steps, 1)), cured_steps=2 * trace.steps)
    return FollowedUp(_under(symptom, found.describe()), trace, plan, notes)


def _under(symptom: Symptom, text: str) -> Symptom:
    return replace(symptom, summary=f"{symptom.summary}, with {text}", headline=f"{symptom.headline}, with {text}")


def _figures(measured: list[Margin]) -> dict[str, float | None]:
    return {f"margin_{each.of.replace(' ', '_')}": each.factor for each in measured}
