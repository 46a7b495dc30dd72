"""What is silenced does not count; what remains is judged, because one fault may hide another.

Three ways lead to what remains. Where a re-run with only the silenced cause removed was healthy, nothing does: that is
what *confirmed* means. Otherwise the run is judged once more, without the parameters that the finding is about, and
explained without the silenced causes. Where that shows neither health nor another cause, nothing was shown: the check
could not judge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from ..records.silencing import Silencing
from ..records.verdict import Finding, Silenced, Verdict

if TYPE_CHECKING:  # it imports torch, which is not there for the log of a run
    from .examination import Examination

#: Concludes once more, with what is silenced left out.
Again = Callable[["Examination"], Verdict]


def judge_what_remains(
    verdict: Verdict, examination: Examination | None, silencings: Sequence[Silencing], again: Again
) -> Verdict:
    """The verdict as it is, if nothing in it is silenced. `examination`: None of a log, which cannot be run again."""
    today = date.today()
    expired = [each for each in silencings if each.expired(today)]
    verdict = _telling(verdict, expired)
    holding = {each.name: each for each in silencings if each not in expired}
    if not holding or not verdict.failed:
        return verdict
    if verdict.check in holding:
        return _without_the_check(verdict, holding[verdict.check])
    gone: list[Silenced] = []
    trace = None if examination is None else examination.untreated
    if trace is not None and not trace.trainable:  # nothing is left to train: no silencing of a part is about that
        holding = {name: each for name, each in holding.items() if not each.of_a_part}
    while verdict.failed and verdict.findings and verdict.findings[0].cause in holding:
        finding = verdict.findings[0]
        gone.append(_silenced(finding, holding[finding.cause]))
        if any(rerun.healthy and rerun.confirms for rerun in finding.reruns) and len(_sure(verdict, holding)) == 0:
            return replace(_bare(verdict), outcome="passed", silenced=tuple(gone))
        if _sure(verdict, holding):
            remaining = tuple(f for f in verdict.findings if f.cause not in holding)
            gone += [_silenced(f, holding[f.cause]) for f in verdict.findings[1:] if f.cause in holding]
            return replace(verdict, findings=remaining, silenced=tuple(gone))
        if examination is None:
            break
        examination = replace(
            examination,
            ignored_causes=examination.ignored_causes | {finding.cause},
            accepted=examination.accepted | set(finding.about),
        )
        try:
            verdict = again(examination)
        except Exception as error:  # the training itself raises, and the cause that explained it is silenced
            return _undecided(verdict, gone, f"{type(error).__name__} is raised")
    if not gone:
        return verdict
    if verdict.failed and not _sure(verdict, holding):
        return _undecided(verdict, gone, verdict.symptom.summary if verdict.symptom else "no cause is known")
    return replace(verdict, silenced=tuple(gone))


def _sure(verdict: Verdict, holding: dict[str, Silencing]) -> list[Finding]:
    """What was found besides, and is more than possible."""
    return [f for f in verdict.findings if f.cause not in holding and f.certainty != "possible"]


def _undecided(verdict: Verdict, gone: list[Silenced], seen: str) -> Verdict:
    names = " and ".join(dict.fromkeys(each.name for each in gone))
    reason = f"{names} is silenced ({gone[0].reason}), and nothing else explains what remains: {seen}"
    return replace(_bare(verdict), outcome="could not judge", reason=reason, silenced=tuple(gone))


def _without_the_check(verdict: Verdict, by: Silencing) -> Verdict:
    finding = verdict.findings[0] if verdict.findings else None
    gone = Silenced(by.name, by.reason, by.given, finding, verdict.symptom)
    reason = f"{by.name} is silenced ({by.reason})"
    return replace(_bare(verdict), outcome="could not judge", reason=reason, silenced=(gone,))


def _silenced(finding: Finding, by: Silencing) -> Silenced:
    return Silenced(by.name, by.reason, by.given, finding, finding.symptom)


def _bare(verdict: Verdict) -> Verdict:
    """Without what only a failure has."""
    return replace(verdict, symptom=None, findings=(), reruns=(), ruled_out=(), untried=(), reproducer="")


def _telling(verdict: Verdict, expired: Sequence[Silencing]) -> Verdict:
    """A silencing that has ended no longer silences, and says so where it would have."""
    causes = {finding.cause for finding in verdict.findings}
    ended = [each for each in expired if verdict.failed and each.name in (*causes, verdict.check)]
    notes = [f"no longer silenced: {each.in_words} held until {each.until}" for each in ended]
    return replace(verdict, notes=(*verdict.notes, *notes)) if notes else verdict
