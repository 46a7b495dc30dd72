"""Finds a wait for data that torch's threads hide: runs the steps once more, with one thread.

An operation that torch splits ends when its last thread does. If that thread has to wait for a processor, because of
other work or in a container with a small share of one, even the smallest operation takes 20 ms, and a step that does
nothing but wait for its data seems to compute for longer than it waits.

So if steps wait longer than any ordinary loader takes, and only their computing time with several threads excuses that,
one thread decides. This is fair to a training that really computes: a loader that is too slow for one thread is too
slow for several, unless several take longer than one, and then they are not computing but waiting for one another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import wording
from ..analysis import timing
from ..records.intervention import Condition
from ..records.speed import PHASES
from ..records.trace import Trace
from ..records.verdict import Symptom, Verdict
from .conclude import conclude
from .examination import Examination

_ONE_THREAD = Condition("threads", "one thread", {"count": 1})
#: Limits on the training's own speed, which hold for the number of threads it has.
_OWN_SPEED = ("min_samples_per_second", "max_step_ms", "max_memory_growth")


def with_one_thread(verdict: Verdict, examination: Examination) -> Verdict:
    """Replaces the verdict if only threads kept a slow loader from being found or confirmed; else returns it as is."""
    first = examination.untreated
    if first is None or not examination.program.repeatable or not _is_open(verdict, first, examination.values):
        return verdict
    plan = examination.rerun
    values = {name: value for name, value in examination.values.items() if name not in _OWN_SPEED}
    one_thread = plan.under(*plan.treatment.conditions, _ONE_THREAD)
    alone = Examination(examination.program, examination.check, values, one_thread)
    found = conclude(alone, verdict.training, []).verdict
    if not _waits(found) or not _is_confirmed(found) or alone.untreated is None:
        unsettled = verdict.passed and found.outcome == "could not judge" and examination.budget.over()
        return replace(verdict, outcome="could not judge", reason=found.reason) if unsettled else verdict
    assert found.symptom is not None
    note = (
        f"{first.speed.threads} threads hide it: with them a step computes for {_computing(first)} ms, "
        f"with one for {_computing(alone.untreated)} ms"
    )
    return replace(
        found,
        symptom=_describe(found.symptom),
        notes=(note, *found.notes),
        figures={**verdict.figures, "measured": found.symptom.measured, "limit": found.symptom.limit},
    )


def _is_open(verdict: Verdict, first: Trace, values: Mapping[str, Any]) -> bool:
    """Whether one thread should decide: steps wait long, threads may hide it, no failure is certain, and the user has
    set no limit of their own."""
    if first.speed.threads <= 1 or values.get("max_data_wait") is not None or not timing.compares_no_revision(first):
        return False
    if verdict.failed and (not _waits(verdict) or _is_confirmed(verdict)):
        return False
    return bool(timing.measured(first).get("data_wait")) and not timing.is_ordinary(first)


def _waits(verdict: Verdict) -> bool:
    """The check failed because steps wait for their data."""
    return verdict.failed and verdict.figures.get("measured") == verdict.figures.get("data_wait")


def _is_confirmed(verdict: Verdict) -> bool:
    return any(finding.confirmed for finding in verdict.findings)


def _computing(trace: Trace) -> str:
    known = timing.measured(trace)
    return wording.short(sum(known[f"{phase}_ms"] or 0.0 for phase in PHASES if phase not in ("wait", "transfer")))


def _describe(symptom: Symptom) -> Symptom:
    return replace(symptom, summary=f"{symptom.summary}, with one thread")
