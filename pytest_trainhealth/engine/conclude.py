"""From what a check says of a run to the verdict: a second look before anybody is accused, causes, and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..analysis.comparison import comparison_figures, judge_comparison
from ..analysis.hotspots import describe_operators
from ..analysis.run_failures import crashed
from ..records.comparison import Comparison
from ..records.judgement import CouldNotJudge, FailIfConfirmed, Judgement, Passed
from ..records.symptoms import EXPLOSION, MEMORY, PERFORMANCE
from ..records.trace import Trace
from ..records.verdict import Symptom, Verdict
from .diagnosis import Diagnosis, KnownCause, explain_crash, find_causes
from .examination import Examination

#: Far from any seed in use: a second look draws other numbers. By judgement: the 1,000th prime.
_OTHER_SEED = 7919


@dataclass
class FollowedUp:
    """The judgement after all, with the run that decided it."""

    judgement: Judgement
    trace: Trace
    notes: list[str] = field(default_factory=list)


#: What a check that passed is followed up by. Handed in, for who concludes need not know of it.
FollowUp = Callable[[Examination, Passed, Trace], FollowedUp]


def conclude(
    examination: Examination,
    trace: Trace | None,
    name: str,
    known: list[KnownCause],
    comparison: Comparison | None,
    follow_up: FollowUp | None = None,
) -> Verdict:
    try:
        trace, judgement = examination.run_and_judge(examination.plan, trace)
    except Exception as error:
        return _explained(examination, name, error)
    notes = (*examination.program.remarks, *(() if comparison is None else comparison.notes))
    if isinstance(judgement, Passed) and follow_up is not None:
        after = follow_up(examination, judgement, trace)
        trace, judgement, notes = after.trace, after.judgement, (*notes, *after.notes)
    if isinstance(judgement, Symptom):
        judgement = confirm_with_other_seed(examination, judgement)
    if isinstance(judgement, FailIfConfirmed):
        symptom = judgement.symptom
        found = find_causes(examination, symptom, trace, known, only_if_confirmed=True, rates=judgement.rates)
        proven = any(f.confirmed for f in found.findings)
        if proven and not isinstance(confirm_with_other_seed(examination, symptom), Passed):
            known += found.known
            return _failed(examination, name, symptom, found, trace, notes)
        judgement = judgement.otherwise
    if isinstance(judgement, Passed) and comparison is not None:
        judgement, trace.comparison = judge_comparison(comparison, judgement), comparison
    if isinstance(judgement, Symptom):
        found = find_causes(examination, judgement, trace, known)
        varies = _no_longer_slow(examination, judgement) if trace.comparison is None else None
        if varies is None:
            known += found.known
            return _failed(examination, name, judgement, found, trace, notes)
        judgement = varies
    if isinstance(judgement, CouldNotJudge):
        return Verdict(examination.check_name, name, "could not judge", judgement.reason, notes=notes,
                       figures=judgement.figures, steps=trace.steps)  # fmt: skip
    assert isinstance(judgement, Passed)
    return Verdict(examination.check_name, name, "passed", notes=(*judgement.notes, *notes), figures=judgement.figures,
                   steps=trace.steps)  # fmt: skip


def confirm_with_other_seed(examination: Examination, symptom: Symptom) -> Judgement:
    """Before accusing: do other random numbers show the same? NaN has been seen for a fact."""
    if symptom.category == EXPLOSION or not examination.program.repeatable:
        return symptom
    _, judgement = examination.run_and_judge(replace(examination.plan, seed_offset=_OTHER_SEED, timer=None))
    of_the_machine = symptom.category in (PERFORMANCE, MEMORY)
    if isinstance(judgement, Passed):
        seen = "in one run of two" if of_the_machine else "with one seed of two"
        return replace(judgement, notes=(*judgement.notes, f"{seen}: {symptom.summary}"))
    if isinstance(judgement, CouldNotJudge) and of_the_machine:
        return replace(judgement, reason=f"{symptom.summary}; not seen twice: {judgement.reason}")
    return judgement if isinstance(judgement, FailIfConfirmed) else symptom


def _no_longer_slow(examination: Examination, symptom: Symptom) -> CouldNotJudge | None:
    """The machine may have been busy for a while. Some time has passed since, and it has to be slow still."""
    if symptom.category != PERFORMANCE or not examination.program.repeatable:
        return None
    _, again = examination.run_and_judge(replace(examination.plan, timer=None))
    if not isinstance(again, Passed):
        return None
    return CouldNotJudge(f"the speed varies: {symptom.summary}; a later run passed", again.figures)


def _explained(examination: Examination, name: str, error: Exception) -> Verdict:
    """An error in the user's code is theirs to see, unless a cause explains it better than its message does."""
    found = explain_crash(examination)
    if found is None:
        raise error
    trace, diagnosis = found
    assert trace.crash is not None
    return _failed(examination, name, crashed(trace.crash), diagnosis, trace, examination.program.remarks)


def _failed(
    examination: Examination, name: str, symptom: Symptom, found: Diagnosis, trace: Trace, notes: tuple[str, ...]
) -> Verdict:
    if not examination.program.repeatable:
        notes = (*notes, f"no re-runs: {examination.program.why_not}")
    if not found.findings and trace.speed.operators:
        notes = (*notes, f"dearest operators, by their own time: {describe_operators(trace.speed.operators)}")
    return Verdict(
        examination.check_name,
        name,
        "failed",
        symptom=symptom,
        findings=found.findings,
        reruns=found.reruns,
        ruled_out=found.ruled_out,
        untried=found.untried,
        notes=notes,
        figures={
            **_figures(examination, trace),
            **comparison_figures(trace.comparison),
            "measured": symptom.measured,
            "limit": symptom.limit,
        },
        steps=trace.steps,
    )


def _figures(examination: Examination, trace: Trace) -> dict[str, float | None]:
    """A check whose figures are worth knowing although it failed says what it measured."""
    known = getattr(examination.check, "measured", None)
    return {} if known is None else known(trace)
