"""From a symptom to its causes: evidence first, then cures, structure before hyperparameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..causes import NUMBERS, Cause, Stage, Suspicion, all_causes
from ..causes import cause as find_cause
from ..records.intervention import Cure
from ..records.symptoms import row_of
from ..records.trace import Trace
from ..records.verdict import Finding, Rerun, Symptom
from .closeup import closer_look
from .examination import Examination
from .findings import finding_of, try_cures_of
from .rate_range import with_rate_range
from .reruns import Reruns
from .shared_results import KnownCause
from .swaps import swap_ingredients

_OTHER_RATES = (
    Cure("learning_rate", "learning rate x 10", {"factor": 10.0}),
    Cure("learning_rate", "learning rate / 10", {"factor": 0.1}),
)


@dataclass(frozen=True)
class Diagnosis:
    findings: tuple[Finding, ...] = ()
    reruns: tuple[Rerun, ...] = ()
    ruled_out: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()
    #: Causes that the next checks of the same training may build on.
    known: tuple[KnownCause, ...] = ()
    #: If the training is slow: the operators that took most of a step, with their share of it.
    operators: tuple[tuple[str, float], ...] = ()
    #: The time budget ended before all was tried (the reason).
    unfinished: str = ""
    #: The closer look, if one was taken.
    closer: Trace | None = None


def find_causes(
    examination: Examination,
    symptom: Symptom,
    trace: Trace,
    known: Sequence[KnownCause] = (),
    *,
    only_if_confirmed: bool = False,
    rates: bool = False,
) -> Diagnosis:
    """`known`: causes that other checks of the same training have found. One cause may explain several symptoms.

    `only_if_confirmed`: considers only causes that a cure can prove, and learning rates only if the loss is unstable
    or the check asks for `rates`.
    """
    check, row = examination.check, row_of(symptom)
    steps = max(trace.steps, check.steps) * check.runs
    runs = Reruns(examination, steps, symptom, spent_before=examination.steps_spent)
    known = [each for each in known if each.finding.cause not in examination.ignored_causes]
    if row.about_machine:  # a training that does not learn is not slow for the same reason
        known = [each for each in known if symptom.category in find_cause(each.finding.cause).explains]
    for each in known:
        rerun = runs(each.cure) if each.cure is not None else None
        if rerun is not None and rerun.healthy:
            if examination.plan.wrap.capture is not None:
                closer_look(examination, symptom, trace)  # finds nothing new, but the reproducer needs its step
            return Diagnosis((replace(each.finding, symptom=symptom, reruns=(replace(rerun, confirms=True),)),))
    closer = closer_look(examination, symptom, trace)
    wiring_faults = [each.finding for each in known if find_cause(each.finding.cause).stage is Stage.STRUCTURE]
    elsewhere = any(find_cause(fault.cause).group is not NUMBERS for fault in wiring_faults)
    unstable = row.blames_rates == "always" or (row.blames_rates == "if confirmed" and only_if_confirmed)
    about_rates = rates or unstable or (check.blames_rates and not only_if_confirmed)
    suspicions, ruled_out = _suspicions(examination, closer, symptom, about_rates and not wiring_faults)
    if only_if_confirmed:
        suspicions = [(cause, suspicion) for cause, suspicion in suspicions if suspicion.cures]
    tried = list(_try_cures(suspicions, runs, symptom, at_fault=elsewhere))
    findings = [each.finding for each in tried]
    if not any(f.confirmed for f in findings):
        findings = _confirm_jointly(suspicions, findings, runs)
    if not any(f.confirmed for f in findings) and not structure_at_fault(findings) and not wiring_faults:
        swapped = swap_ingredients(closer, symptom, runs, about_rates=about_rates)
        tried += swapped
        findings = [f for f in findings if f.cause not in {each.finding.cause for each in swapped}]
        findings += [each.finding for each in swapped]
    if not only_if_confirmed and not any(f.certainty != "possible" for f in findings):
        findings += [replace(f, symptom=symptom) for f in wiring_faults if f.cause not in {g.cause for g in findings}]
    findings.sort(key=lambda f: ("confirmed", "likely", "possible").index(f.certainty))
    if any(f.confirmed for f in findings):
        findings = [f for f in findings if f.certainty != "possible"]
    findings = with_rate_range(examination, _rule_out_rates(examination, findings, runs))
    reruns = () if findings else tuple(runs.done.values())
    sure = tuple(each for each in tried if each.finding.certainty != "possible")
    operators, untried = tuple(closer.speed.operators), tuple(runs.untried)
    unfinished = runs.left_undone or closer.cut_short
    if closer.cut_short:  # what was not seen speaks for nobody, and what was seen is part of the evidence at most
        ruled_out, findings = [], [f if f.confirmed else replace(f, certainty="possible") for f in findings]

    return Diagnosis(tuple(findings), reruns, tuple(ruled_out), untried, sure, operators, unfinished, closer)


def causes_of_an_error(examination: Examination, symptom: Symptom, trace: Trace) -> Diagnosis:
    """Of a trace that was recorded as closely as can be: there is no closer look, and no rate raises an error."""
    suspicions, ruled_out = _suspicions(examination, trace, symptom, about_rates=False)
    runs = Reruns(examination, max(trace.steps, examination.check.steps), symptom)
    tried = list(_try_cures(suspicions, runs, symptom))
    findings = sorted((each.finding for each in tried), key=lambda f: not f.confirmed)
    return Diagnosis(tuple(findings), (), tuple(ruled_out), tuple(runs.untried))


def _suspicions(
    examination: Examination, closer: Trace, symptom: Symptom, about_rates: bool
) -> tuple[list[tuple[Cause, Suspicion]], list[str]]:
    """The causes for which there is evidence, in their order, and the names of those ruled out."""
    found: list[tuple[Cause, Suspicion]] = []
    ruled_out: list[str] = []
    for cause in all_causes():
        if symptom.category not in cause.explains or (cause.stage is Stage.RATES and not about_rates):
            continue
        if cause.advice or cause.name in examination.ignored_causes:
            continue
        suspicion = cause.look(closer, symptom)
        if suspicion is None:
            ruled_out.append(cause.name)
        else:
            found.append((cause, suspicion))
    return found, ruled_out


def _try_cures(
    suspicions: list[tuple[Cause, Suspicion]], runs: Reruns, symptom: Symptom, *, at_fault: bool = False
) -> Iterator[KnownCause]:
    """`at_fault`: another check of the same training has found a fault of structure, and not of numbers.

    While there is one, a re-run with other numbers shows that these can make up for it, not that they are to blame.
    """
    structural = False
    for cause, suspicion in suspicions:
        if structural and cause.stage is Stage.RATES:
            return  # there is a wiring fault: whether another learning rate helps proves nothing
        healed, reruns = try_cures_of(cause, suspicion, runs)
        makes_up = cause.stage is Stage.NUMBERS and at_fault
        proven = "likely" if makes_up else "confirmed"
        certainty = proven if healed else _unconfirmed(cause, suspicion, reruns, runs)
        yield KnownCause(finding_of(cause, suspicion, symptom, certainty, reruns, healed), healed)
        if healed is not None:
            return
        structural = structural or (cause.stage is Stage.STRUCTURE and certainty == "likely")
        at_fault = at_fault or (structural and cause.group is not NUMBERS)


def structure_at_fault(findings: Sequence[Finding]) -> bool:
    return any(f.certainty == "likely" and find_cause(f.cause).stage is Stage.STRUCTURE for f in findings)


def _unconfirmed(cause: Cause, suspicion: Suspicion, reruns: list[Rerun], runs: Reruns) -> str:
    """A cause is only "possible" if its cure was tried in vain, or if it is a learning rate that no re-run changed."""
    untried_rate = cause.stage is Stage.RATES and runs.examination.program.repeatable
    return "possible" if suspicion.cures and (reruns or untried_rate) else suspicion.certainty


def _confirm_jointly(suspicions: list[tuple[Cause, Suspicion]], findings: list[Finding], runs: Reruns) -> list[Finding]:
    """For several independent faults: no cure heals alone, but all of them together do."""
    structure = [(cause.name, s.cures[0]) for cause, s in suspicions if s.cures and cause.stage is not Stage.RATES]
    rates = [(cause.name, cure) for cause, s in suspicions if cause.stage is Stage.RATES for cure in s.cures]
    for group in (structure, *([*structure, rate] for rate in rates)):
        healed = runs.smallest_healing_set(group) if len(group) > 1 else None
        if healed is not None:
            names, proof = healed[0], replace(healed[1], confirms=True)
            return [
                replace(f, certainty="confirmed", reruns=(proof, *f.reruns)) if f.cause in names else f
                for f in findings
            ]
    return findings


def _rule_out_rates(examination: Examination, findings: list[Finding], runs: Reruns) -> list[Finding]:
    """Next to a confirmed structural cause, shows that other learning rates do not help."""
    asks_about_rates = examination.check.blames_rates and examination.check.one_batch
    if not asks_about_rates or not findings or not findings[0].confirmed:
        return findings
    first = findings[0]
    proves_nothing = first.symptom is None or row_of(first.symptom).blames_rates == "always"
    if proves_nothing or find_cause(first.cause).stage is Stage.RATES:
        return findings
    in_vain = [r for r in (runs(cure) for cure in _OTHER_RATES) if r is not None and not r.healthy]
    known = {r.cure for r in first.reruns}
    return [replace(first, reruns=(*first.reruns, *(r for r in in_vain if r.cure not in known))), *findings[1:]]
