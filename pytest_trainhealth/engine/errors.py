"""An error of the user's code is explained by running into it once more, and looking closely.

Two runs: one finds the step that raises, the next sees all that this step does. An error that has noticed a NaN ends in
the diagnosis that a NaN in the loss would have had. What no cause explains stays the error that it is.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from unittest import SkipTest

from ..analysis import raised
from ..analysis.run_failures import crashed, noticed_by_an_error
from ..observe.signals import close_signals
from ..programs.plan import Look, RunPlan
from ..records.error_words import words_of
from ..records.numbers import Crash, NonFinite
from ..records.trace import Trace
from ..records.verdict import Symptom
from .diagnosis import Diagnosis, causes_of_an_error, find_causes
from .examination import Examination
from .shared_results import KnownCause

#: Exceptions that say how a test ends, and not that something is wrong. Most of pytest's are no `Exception` at all.
_PYTEST = "_pytest."
#: Letters of two messages that are compared. By judgement: what comes later is advice, which depends on torch's mode.
_ENOUGH = 60


@dataclass(frozen=True)
class Explained:
    symptom: Symptom
    trace: Trace
    diagnosis: Diagnosis
    #: Repeats the run that was explained.
    plan: RunPlan


def explain_error(examination: Examination, error: Exception, known: Sequence[KnownCause]) -> Explained | None:
    """None if no cause explains it, and where it is no fault: it skips the test, or ends the session."""
    if not examination.program.repeatable or _is_an_outcome(error):
        return None
    if raised.is_about_memory(type(error).__name__, words_of(error)):
        # the frames of the traceback hold all that the step had made, and the next run needs the room
        traceback.clear_frames(error.__traceback__)
    plan = replace(examination.rerun, catch_errors=True)
    crash = examination.record(plan).crash
    if crash is None:
        return None
    look = Look(close_signals(), closely_at=crash.step, from_forward=True, at_an_error=True)
    trace = examination.record(plan.looking(look))
    if trace.crash is None or not _same(trace.crash, crash):
        return None
    return _not_finite(examination, trace, plan, known) or _by_its_cause(examination, trace, plan)


def _is_an_outcome(error: Exception) -> bool:
    return isinstance(error, SkipTest) or type(error).__module__.startswith(_PYTEST)


def _same(one: Crash, other: Crash) -> bool:
    """What is looked at closely must be the error that is to be explained. Numbers aside, and hints at the end."""
    words = [re.sub(r"[\d.e+-]+", "", crash.message)[:_ENOUGH] for crash in (one, other)]
    return (one.kind, one.step) == (other.kind, other.step) and words[0] == words[1]


def _by_its_cause(examination: Examination, trace: Trace, plan: RunPlan) -> Explained | None:
    assert trace.crash is not None
    symptom = crashed(trace.crash)
    diagnosis = causes_of_an_error(examination, symptom, trace)
    return Explained(symptom, trace, diagnosis, plan) if diagnosis.findings else None


def _not_finite(examination: Examination, trace: Trace, plan: RunPlan, known: Sequence[KnownCause]) -> Explained | None:
    """The diagnosis of a value that is not finite, where the error has noticed one, or comes after one."""
    crash = trace.crash
    assert crash is not None
    found = trace.nonfinite
    if found is None and raised.is_about_values(crash):
        found = NonFinite(crash.step, crash.seen.not_finite, crash.seen.value)
    if found is None:
        return None
    trace, symptom = replace(trace, nonfinite=found), noticed_by_an_error(found, crash)
    diagnosis = find_causes(replace(examination, plan=plan), symptom, trace, known)
    return Explained(symptom, trace, diagnosis, plan) if diagnosis.findings else None
