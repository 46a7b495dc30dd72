"""Takes the step of a reproducer again, under the microscope: the same failure, another one, or none any more."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from typing import Any

from ..analysis.run_failures import not_finite
from ..causes import cause as find_cause
from ..engine.findings import finding_of
from ..observe.microscope import under_the_microscope
from ..programs.plan import Look, RunPlan, Treatment, Wrap
from ..programs.program import Program
from ..programs.training_program import TrainingRun
from ..records.numbers import FirstBadOperation, NonFinite
from ..records.trace import Trace
from ..records.verdict import Evidence, Finding, Place, Verdict
from .reproducer import Reproducer
from .step_state import DoesNotFit, put_back

#: What two culprits must share to be the same operation. Not the line number: lines above may have come or gone since.
_SAME = ("operation", "phase", "value", "module", "code")


def replay_plan(saved: Reproducer, plan: RunPlan) -> RunPlan:
    """The plan for the one step or, if that alone would not show the failure, for the run up to it."""

    def resume(run: TrainingRun) -> Any:
        run.step = saved.step
        assert saved.state is not None
        return put_back(run, saved.state)

    resume_from = None if saved.state is None else resume
    return replace(
        plan.plain(),
        max_steps=saved.step + 1,
        look=Look(every_step=True),
        treatment=Treatment(conditions=saved.conditions),
        wrap=Wrap(around_step={saved.step: under_the_microscope}, resume_from=resume_from),
        seed_offset=saved.seed_offset,
        purpose=f"the replay of {saved.file}",
        catch_errors=True,  # a check of torch's may be what notices the NaN, before there is a loss
    )


def replayed(saved: Reproducer, program: Program, plan: RunPlan) -> Verdict:
    """The verdict of a replay. Raises `DoesNotFit`, with a message of one line."""
    if saved.state is not None and program.start is None:
        raise DoesNotFit(f"{saved.file} does not fit: {saved.training} returned a Training, and returns nothing now")
    try:
        trace = program.record(replay_plan(saved, plan))
    except DoesNotFit as error:
        raise DoesNotFit(f"{saved.file} does not fit: {error}") from None
    if trace.cut_short:
        return Verdict(saved.check, saved.training, "could not judge", trace.cut_short)
    if saved.state is not None and not trace.losses and trace.crash is None:
        raise DoesNotFit(f"{saved.file} does not fit: the loss of its batch depends on no trainable parameter now")
    old = Verdict.from_json(saved.verdict)
    what = f"step {saved.step}" if saved.state is not None else f"the run up to step {saved.step}"
    if trace.crash is not None and not shows_a_value(trace):
        raises = f"{trace.crash.kind}: {trace.crash.message}"
        return Verdict(old.check, old.training, "could not judge", f"{what} of {saved.file} raises {raises}")
    if not shows_a_value(trace):
        was = old.symptom.headline if old.symptom is not None else "not finite"
        return Verdict(old.check, old.training, "passed", f"{what} of {saved.file} is finite now (it was: {was})")
    culprit = describe(trace.numbers.culprit)
    if same(culprit, saved.culprit):
        verdict = _with_line(old, saved.culprit, culprit)
        note = f"replayed: {what}, as recorded"
    else:
        verdict = _another(old, trace, saved.step)
        note = f"replayed: {what} is still not finite, but fails elsewhere now (before: {_where(saved.culprit)})"
    why = (saved.why,) if saved.why else ()
    return replace(verdict, notes=(*verdict.notes, note, *why), reproducer=saved.file)


def shows_a_value(trace: Trace) -> bool:
    """That is not finite: in its loss or its state, or noticed by an error before there was a loss."""
    return not trace.finite or (trace.crash is not None and trace.numbers.culprit is not None)


def describe(culprit: FirstBadOperation | None) -> dict[str, Any] | None:
    if culprit is None:
        return None
    place = culprit.place
    return {
        **{name: getattr(culprit, name) for name in ("operation", "phase", "value", "module")},
        **(asdict(place) if place is not None else {"file": "", "line": 0, "code": ""}),
    }


def same(one: dict[str, Any] | None, other: dict[str, Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    alike = os.path.basename(one["file"]) == os.path.basename(other["file"])  # paths depend on where pytest ran
    return alike and all(one[key] == other[key] for key in _SAME)


def _where(culprit: dict[str, Any] | None) -> str:
    if culprit is None:
        return "no single operation was to blame"
    return f"{culprit['operation']} at {culprit['file']}:{culprit['line']}" if culprit["file"] else culprit["operation"]


def _with_line(verdict: Verdict, old: dict[str, Any] | None, new: dict[str, Any] | None) -> Verdict:
    """The verdict with the current line of the operation."""
    if old is None or new is None or (old["file"], old["line"]) == (new["file"], new["line"]):
        return verdict

    def now(place: Place | None) -> Place | None:
        stood = place is not None and (place.file, place.line) == (old["file"], old["line"])
        return Place(new["file"], new["line"], new["code"]) if stood else place

    def moved(finding: Finding) -> Finding:
        evidence = tuple(Evidence(e.text, e.measured, now(e.place)) for e in finding.evidence)
        return replace(finding, places=tuple(p for p in map(now, finding.places) if p is not None), evidence=evidence)

    return replace(verdict, findings=tuple(map(moved, verdict.findings)))


def _first_value(trace: Trace) -> tuple[str, str]:
    culprit = trace.numbers.culprit
    if trace.crash is not None and culprit is not None:
        return f"what {culprit.operation} makes", culprit.value
    return "the loss", str(trace.losses[-1])


def _another(old: Verdict, trace: Trace, step: int) -> Verdict:
    """The verdict on a failure that is not the one in the file: as much as a single step can show."""
    found = trace.nonfinite or NonFinite(step, *_first_value(trace))
    symptom = not_finite(found)
    cause = find_cause("unstable-operation")
    suspicion = cause.look(trace, symptom)
    findings = () if suspicion is None else (finding_of(cause, suspicion, symptom, suspicion.certainty),)
    return Verdict(old.check, old.training, "failed", symptom=symptom, findings=findings, steps=trace.steps)
