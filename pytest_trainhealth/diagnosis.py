"""From a symptom to its causes: evidence first, then cures, structure before hyperparameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from .causes import Cause, Suspicion, all_causes
from .causes import cause as find_cause
from .facts import Cure, Finding, Rerun, Symptom
from .judging import Examination
from .observe.microscope import under_the_microscope
from .observe.signals import CLOSER_LOOK
from .symptoms import EXPLOSION, PERFORMANCE
from .trace import Trace

#: Diagnosing may take ten times the steps of the check that failed. Counted in steps, not seconds, so that a busy
#: machine comes to the same verdict.
_BUDGET = 10
#: Causes from this rank on are about hyperparameters, which "cure" half of all faults a little.
_HYPERPARAMETERS = 40
_STRUCTURE = 20

#: Wiring, activations and the size of updates show early.
_CLOSER_STEPS = 64

_RIVALS = (
    Cure("learning_rate", "learning rate x 10", {"factor": 10.0}),
    Cure("learning_rate", "learning rate / 10", {"factor": 0.1}),
)


@dataclass
class Diagnosis:
    findings: tuple[Finding, ...] = ()
    reruns: tuple[Rerun, ...] = ()
    ruled_out: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()


@dataclass
class _Trials:
    """Re-runs with one cure each; none is run twice, none beyond the budget."""

    examination: Examination
    steps: int
    done: dict[str, Rerun] = field(default_factory=dict)
    untried: list[str] = field(default_factory=list)

    def __call__(self, *cures: Cure) -> Rerun | None:
        label = ", ".join(cure.label for cure in cures)
        if label in self.done:
            return self.done[label]
        if not self.examination.program.repeatable or self.examination.steps_spent > _BUDGET * self.steps:
            if label not in self.untried:
                self.untried.append(label)
            return None
        trace, healthy = self.examination.with_cures(*cures)
        self.done[label] = Rerun(label, self.examination.result(trace), healthy)
        return self.done[label]


def find_causes(examination: Examination, symptom: Symptom, trace: Trace) -> Diagnosis:
    examination.steps_spent = 0  # what it took to judge is not diagnosing
    closer = _closer_look(examination, symptom, trace)
    suspicions: list[tuple[Cause, Suspicion]] = []
    ruled_out: list[str] = []
    for cause in all_causes():
        if symptom.category not in cause.explains:
            continue
        if cause.rank >= _HYPERPARAMETERS and not (
            examination.check.ABOUT_HYPERPARAMETERS or symptom.category == EXPLOSION
        ):
            continue
        suspicion = cause.look(closer, symptom)
        if suspicion is None:
            ruled_out.append(cause.name)
        else:
            suspicions.append((cause, suspicion))
    trials = _Trials(examination, max(trace.steps, examination.check.STEPS))
    findings = list(_try_cures(suspicions, trials, symptom))
    if not any(f.confirmed for f in findings):
        findings = _together(suspicions, findings, trials)
    findings.sort(key=lambda f: ("confirmed", "likely", "possible").index(f.certainty))
    if any(f.confirmed for f in findings):
        findings = [f for f in findings if f.certainty != "possible"]
    findings = _beside_rivals(examination, findings, trials)
    reruns = () if findings else tuple(trials.done.values())
    return Diagnosis(tuple(findings), reruns, tuple(ruled_out), tuple(trials.untried))


def _closer_look(examination: Examination, symptom: Symptom, trace: Trace) -> Trace:
    """The failed run once more with every signal; a step that was not finite goes under the microscope."""
    if symptom.category == PERFORMANCE or not examination.program.repeatable:
        return trace
    exploded = symptom.category == EXPLOSION
    longest = max(trace.steps, 1) if exploded else min(max(trace.steps, 1), _CLOSER_STEPS)
    plan = replace(examination.plan, longest=longest, signals=CLOSER_LOOK, every_step=exploded, drive=None)
    closer = examination.record(plan)
    if not exploded and closer.losses:
        # the same run, so what was seen of the rest of it still holds
        closer.losses, closer.updates, closer.backwards = trace.losses, trace.updates, trace.backwards
    if exploded and closer.nonfinite is not None:
        step = closer.nonfinite.step
        at_step = {step: under_the_microscope}
        closer.guilty = examination.record(replace(plan, longest=step + 1, signals=(), at_step=at_step)).guilty
    return closer


def _try_cures(suspicions: list[tuple[Cause, Suspicion]], trials: _Trials, symptom: Symptom) -> Iterator[Finding]:
    structural = False
    for cause, suspicion in suspicions:
        if structural and cause.rank >= _HYPERPARAMETERS:
            return  # a wiring fault was seen: what a learning rate makes of it says nothing
        reruns: list[Rerun] = []
        healed: Cure | None = None
        for cure in suspicion.cures:
            rerun = trials(cure)
            if rerun is None:
                continue
            healed = cure if rerun.healthy else None
            reruns.append(replace(rerun, confirms=rerun.healthy))
            if rerun.healthy:
                break
        certainty = "confirmed" if healed else _unconfirmed(suspicion, reruns)
        yield _finding(cause, suspicion, symptom, certainty, reruns, healed)
        if healed is not None:
            return
        structural = structural or (cause.rank < _STRUCTURE and certainty == "likely")


def _unconfirmed(suspicion: Suspicion, reruns: list[Rerun]) -> str:
    """Evidence whose cure was tried in vain is only part of the story."""
    return "possible" if reruns and suspicion.cures else suspicion.certainty


def _together(suspicions: list[tuple[Cause, Suspicion]], findings: list[Finding], trials: _Trials) -> list[Finding]:
    """Two independent faults: neither cure heals alone, both together do."""
    curable = [(cause, s) for cause, s in suspicions if s.cures and cause.rank < _HYPERPARAMETERS]
    if len(curable) < 2:
        return findings
    rerun = trials(*(s.cures[0] for _, s in curable))
    if rerun is None or not rerun.healthy:
        return findings
    names = {cause.name for cause, _ in curable}
    proof = replace(rerun, confirms=True)
    return [replace(f, certainty="confirmed", reruns=(proof, *f.reruns)) if f.cause in names else f for f in findings]


def _finding(
    cause: Cause, suspicion: Suspicion, symptom: Symptom, certainty: str, reruns: list[Rerun], healed: Cure | None
) -> Finding:
    return Finding(
        cause=cause.name,
        statement=suspicion.statement,
        certainty=certainty,  # type: ignore[arg-type]
        why=suspicion.why,
        evidence=suspicion.evidence,
        places=suspicion.places,
        reruns=tuple(sorted(reruns, key=lambda r: not r.healthy)),
        fix=(healed.fix if healed is not None else None) or suspicion.fix,
        not_this=suspicion.not_this,
        symptom=symptom,
    )


def _beside_rivals(examination: Examination, findings: list[Finding], trials: _Trials) -> list[Finding]:
    """Beside a confirmed cause of structure, other learning rates are shown not to help."""
    if examination.check_name != "overfits_one_batch" or not findings or not findings[0].confirmed:
        return findings
    first = findings[0]
    tells_nothing = first.symptom is None or first.symptom.category == EXPLOSION
    if tells_nothing or find_cause(first.cause).rank >= _HYPERPARAMETERS:
        return findings
    rivals = [r for r in (trials(cure) for cure in _RIVALS) if r is not None and not r.healthy]
    known = {r.cure for r in first.reruns}
    return [replace(first, reruns=(*first.reruns, *(r for r in rivals if r.cure not in known))), *findings[1:]]
