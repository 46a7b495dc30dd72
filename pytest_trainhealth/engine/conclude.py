"""From a check's judgement of one run to the verdict: confirms a failure with a second run, then looks for causes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..analysis.comparison import comparison_figures, judge_comparison
from ..analysis.hotspots import describe_operators
from ..analysis.kept_of_a_run import recorded
from ..programs.plan import RunPlan
from ..records.comparison import Comparison
from ..records.error_words import words_of
from ..records.judgement import CouldNotJudge, FailIfConfirmed, Judgement, Passed
from ..records.symptoms import FAULTY_DATA, INSTABILITY, PLATEAU, row_of
from ..records.trace import Trace
from ..records.verdict import Symptom, Verdict
from .diagnosis import Diagnosis, find_causes
from .errors import explain_error
from .examination import Examination
from .shared_results import KnownCause

#: Added to the seed, so that the second run draws other random numbers. By judgement: the 1,000th prime, far from any
#: seed in use.
_OTHER_SEED = 7919


@dataclass(frozen=True)
class FollowedUp:
    """The judgement after the follow-up, with the run that decided it and the plan that repeats that run."""

    judgement: Judgement
    trace: Trace
    plan: RunPlan
    notes: tuple[str, ...] = ()


#: What runs after a check that passed. Passed in by the caller, so that this module need not import `stress/`.
FollowUp = Callable[[Examination, Passed, Trace], FollowedUp]


@dataclass(frozen=True)
class Conclusion:
    verdict: Verdict
    #: Repeats the run that decided.
    plan: RunPlan


def conclude(  # noqa: PLR0913 - what may stand in for each of its steps
    examination: Examination,
    name: str,
    known: list[KnownCause],
    *,
    trace: Trace | None = None,
    comparison: Comparison | None = None,
    follow_up: FollowUp | None = None,
    expected_errors: tuple[type[BaseException], ...] = (),
) -> Conclusion:
    """`trace`: a run that was recorded already. `known`: causes that earlier checks found; new ones are added to it.

    `expected_errors`: whoever asks expects one of these, and gets it as it is.
    """
    try:
        trace, judgement = examination.run_and_judge(examination.plan, trace)
    except Exception as error:
        if isinstance(error, expected_errors):
            raise
        verdict, plan = _explained(examination, name, error, known)
        return Conclusion(verdict, plan)
    notes = (*examination.program.remarks, *(() if comparison is None else comparison.notes))
    if isinstance(judgement, Passed) and follow_up is not None:
        after = follow_up(examination, judgement, trace)
        trace, judgement, notes = after.trace, after.judgement, (*notes, *after.notes)
        examination = replace(examination, plan=after.plan)
    if isinstance(judgement, Symptom):
        judgement = confirm_with_other_seed(examination, judgement)
    symptom, found = None, Diagnosis()
    if isinstance(judgement, FailIfConfirmed):
        doubted = judgement
        found = find_causes(examination, doubted.symptom, trace, known, only_if_confirmed=True, rates=doubted.rates)
        judgement = _settled(examination, doubted, found)
        symptom = judgement if isinstance(judgement, Symptom) else None
    if symptom is None and isinstance(judgement, Passed) and comparison is not None:
        judgement, trace = judge_comparison(comparison, judgement), replace(trace, comparison=comparison)
    if symptom is None and isinstance(judgement, Symptom):
        symptom = judgement
        explained = row_of(symptom).explains_itself
        found = Diagnosis() if explained else find_causes(examination, symptom, trace, known)
        no_longer = _no_longer_slow(examination, judgement) if trace.comparison is None else None
        if no_longer is not None:
            symptom, judgement = None, no_longer
    if symptom is not None:
        known += found.known
        return Conclusion(_failed(examination, name, symptom, found, trace, notes), examination.plan)
    assert isinstance(judgement, Passed | CouldNotJudge)
    return Conclusion(_not_failed(examination, name, judgement, trace, notes), examination.plan)


def _settled(examination: Examination, doubted: FailIfConfirmed, found: Diagnosis) -> Passed | CouldNotJudge | Symptom:
    """The symptom, where a cause is confirmed and other random numbers show it too. No pass while the doubt stands."""
    if not any(finding.confirmed for finding in found.findings):
        otherwise = doubted.otherwise
        if isinstance(otherwise, Passed) and (cause := _made_up_for(found)):
            reason = f"{doubted.symptom.summary}; another check's fault may be behind it, and so may {cause}"
            return CouldNotJudge(reason, otherwise.figures)
        if not found.unfinished:
            return otherwise
        known = doubted.symptom.summary if isinstance(otherwise, Passed) else otherwise.reason
        return CouldNotJudge(f"{known}; {found.unfinished}", otherwise.figures)
    again = confirm_with_other_seed(examination, doubted.symptom)
    if isinstance(again, CouldNotJudge) and (examination.budget.over() or _may_be_chance(examination, doubted.symptom)):
        return again
    return doubted.otherwise if isinstance(again, Passed) else doubted.symptom


def _made_up_for(found: Diagnosis) -> str:
    """A cause whose cure heals, and which is not confirmed, because a fault of structure stands beside it."""
    return next((f.cause for f in found.findings if f.certainty == "likely" and any(r.healthy for r in f.reruns)), "")


def _not_failed(
    examination: Examination, name: str, judgement: Passed | CouldNotJudge, trace: Trace, notes: tuple[str, ...]
) -> Verdict:
    return Verdict(
        examination.check.name,
        name,
        "passed" if isinstance(judgement, Passed) else "could not judge",
        "" if isinstance(judgement, Passed) else judgement.reason,
        notes=(*judgement.notes, *notes) if isinstance(judgement, Passed) else notes,
        figures=judgement.figures,
        steps=trace.steps,
        recorded=recorded(trace, examination.with_controls(trace).compared_with),
    )


def confirm_with_other_seed(examination: Examination, symptom: Symptom) -> Judgement:
    """Before a training is called faulty: does a run with other random numbers show the same symptom?"""
    row = row_of(symptom)
    if not row.needs_second_run:
        return symptom
    if not examination.program.repeatable:
        return CouldNotJudge(f"{symptom.summary}; {examination.program.why_not}")
    # with other random numbers the first batch may be the one that a step cannot take: that does not speak for the data
    by_chance = _may_be_chance(examination, symptom)
    other = replace(
        examination.rerun,
        seed_offset=_OTHER_SEED,
        begins_half_way=by_chance,
        catch_errors=symptom.category == FAULTY_DATA,
    )
    again, judgement = examination.run_and_judge(other)
    if isinstance(judgement, Passed):
        seen = "in one of two runs" if row.about_machine else "with one of two seeds"
        return replace(judgement, notes=(*judgement.notes, f"{seen}: {symptom.summary}"))
    cut_short = isinstance(judgement, CouldNotJudge) and again.cut_short
    if isinstance(judgement, CouldNotJudge) and (row.about_machine or cut_short or by_chance):
        return replace(judgement, reason=f"{symptom.summary}; not confirmed by a second run: {judgement.reason}")
    return judgement if isinstance(judgement, FailIfConfirmed) else symptom


def _may_be_chance(examination: Examination, symptom: Symptom) -> bool:
    """A curve through the data that stops or swings: it has to be seen again, also where batches come in another order.

    What the second run cannot judge speaks against it then.
    """
    return symptom.category in (PLATEAU, INSTABILITY) and not examination.check.one_batch


def _no_longer_slow(examination: Examination, symptom: Symptom) -> CouldNotJudge | None:
    """The machine may have been busy for a while. Some time has passed by now, and the training must still be slow."""
    if not row_of(symptom).comes_and_goes or not examination.program.repeatable:
        return None
    later, again = examination.run_and_judge(examination.rerun)
    if later.cut_short and isinstance(again, CouldNotJudge):
        return CouldNotJudge(f"{symptom.summary}; no later run could confirm it: {again.reason}", again.figures)
    if not isinstance(again, Passed):
        return None
    return CouldNotJudge(f"the speed varies: {symptom.summary}; a later run passed", again.figures)


def _explained(
    examination: Examination, name: str, error: Exception, known: list[KnownCause]
) -> tuple[Verdict, RunPlan]:
    """Raises the error of the user's code again, unless a cause explains it better than its own message does."""
    try:
        found = explain_error(examination, error, known)
    except Exception as ours:  # the user's error is what has to be seen
        error.add_note(f"it could not be explained: {type(ours).__name__}: {words_of(ours)}")
        found = None
    if found is None:
        raise error
    known += found.diagnosis.known
    explained = replace(examination, plan=found.plan)
    notes = examination.program.remarks
    return _failed(explained, name, found.symptom, found.diagnosis, found.trace, notes), found.plan


def _failed(
    examination: Examination, name: str, symptom: Symptom, found: Diagnosis, trace: Trace, notes: tuple[str, ...]
) -> Verdict:
    if not examination.program.repeatable:
        notes = (*notes, f"no re-runs: {examination.program.why_not}")
    if found.unfinished:
        notes = (*notes, found.unfinished)
    if not found.findings and found.operators:
        notes = (*notes, f"slowest operators, by their own time: {describe_operators(found.operators)}")
    remarks = examination.check.remarks
    if remarks is not None:
        notes = (*notes, *remarks(trace, examination.values))
    figures = examination.check.figures
    return Verdict(
        examination.check.name,
        name,
        "failed",
        symptom=symptom,
        findings=found.findings,
        reruns=found.reruns,
        ruled_out=found.ruled_out,
        untried=found.untried,
        notes=notes,
        figures={
            **({} if figures is None else figures(trace)),
            **comparison_figures(trace.comparison),
            "measured": symptom.measured,
            "limit": symptom.limit,
        },
        steps=trace.steps,
        recorded=recorded(trace, examination.with_controls(trace).compared_with, found.closer),
    )
