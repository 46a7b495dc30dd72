"""A finished run is judged by its log: no run, no re-run, no torch. So no cause is ever confirmed."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from ..analysis.kept_of_a_run import recorded
from ..causes import Cause, Stage, Suspicion, all_causes
from ..checks import check as find_check
from ..checks.history_is_healthy import evidence_of, notes_of
from ..histories.read import history as read_history
from ..histories.unreadable import UnreadableHistory
from ..records.history import History
from ..records.judgement import CouldNotJudge, Passed
from ..records.trace import Trace
from ..records.verdict import Finding, Symptom, Verdict
from .request import Request
from .what_remains import judge_what_remains

_WHAT_TELLS = "the log does not show why: pytest --trainhealth on the training itself may"
_ORDER = {"confirmed": 0, "likely": 1, "possible": 2}


class NotAHistory(TypeError):
    """What was handed in is no log, and no function that returns one."""


def examine_log(subject: Any, request: Request) -> Verdict:
    """`subject`: a log in any form that is read, or a function that returns one."""
    began = time.perf_counter()
    source = subject() if callable(subject) and not isinstance(subject, type) else subject
    if source is None or _is_training(source):
        found = "nothing" if source is None else "a Training"
        raise NotAHistory(f"{request.check} reads a log: return a History or the path of one, not {found}")
    log = read_history(source)
    verdict = replace(judge_history(log, request), recorded=recorded(Trace(history=log)))
    if request.silencings:
        verdict = judge_what_remains(verdict, None, request.silencings, _never)
    return replace(verdict, seed=request.seed, seconds=time.perf_counter() - began)


def _never(_: object) -> Verdict:
    raise AssertionError("a log cannot be run again")


def _is_training(source: Any) -> bool:
    return type(source).__name__ == "Training" and hasattr(source, "modules")


def judge_history(history: History, request: Request) -> Verdict:
    check, trace = find_check(request.check), Trace(history=history)
    judgement = check.judge(trace, request.values, {})
    notes, name = notes_of(history), request.name
    if isinstance(judgement, Passed):
        return Verdict(check.name, name, "passed", notes=notes, figures=judgement.figures)
    if isinstance(judgement, CouldNotJudge):
        return Verdict(
            check.name, name, "could not judge", f"{history.source}: {judgement.reason}", notes=notes,
            figures=judgement.figures,
        )  # fmt: skip
    assert isinstance(judgement, Symptom)
    findings = [_finding(cause, suspicion, judgement) for cause, suspicion in _suspicions(history, judgement)]
    findings.sort(key=lambda finding: _ORDER[finding.certainty])
    if not findings:  # what is known has no other place
        notes = (*evidence_of(history), *notes, _WHAT_TELLS)
    return Verdict(
        check.name,
        name,
        "failed",
        symptom=judgement,
        findings=tuple(findings),
        notes=notes,
        figures={"measured": judgement.measured, "limit": judgement.limit},
    )


def _suspicions(history: History, symptom: Symptom) -> list[tuple[Cause, Suspicion]]:
    """Of the causes that a log can show, those for which it has evidence. No rate is blamed beside wiring.

    None is ruled out: what a log does not show may have been so all the same.
    """
    found: list[tuple[Cause, Suspicion]] = []
    for cause in all_causes():
        if cause.in_history is None or symptom.category not in cause.explains:
            continue
        structural = any(c.stage is Stage.STRUCTURE and s.certainty == "likely" for c, s in found)
        suspicion = None if structural and cause.stage is Stage.RATES else cause.in_history(history, symptom)
        if suspicion is not None:
            found.append((cause, suspicion))
    return found


def _finding(cause: Cause, suspicion: Suspicion, symptom: Symptom) -> Finding:
    return Finding(
        cause=cause.name,
        statement=suspicion.statement,
        certainty=suspicion.certainty,
        why=suspicion.why,
        evidence=suspicion.evidence,
        places=suspicion.places,
        fix=suspicion.fix,
        not_this=suspicion.not_this,
        symptom=symptom,
        rank=cause.rank,
    )


__all__ = ["NotAHistory", "UnreadableHistory", "examine_log", "judge_history"]
