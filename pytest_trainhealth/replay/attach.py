"""A verdict gets its reproducer: written, read again, and tried before anybody relies on it."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from ..engine.errand import Errand
from ..engine.examination import Examination
from ..programs.plan import RunPlan
from ..programs.program import Program
from ..records.symptoms import EXPLOSION
from ..records.verdict import Verdict
from .replay import describe, replay_plan, same
from .reproducer import Reproducer, StepCapture, file_name, one_line, read, write
from .step_state import NotKept


def attach_reproducer(
    verdict: Verdict, capture: StepCapture, examination: Examination, subject: Any, errand: Errand, call: int
) -> Verdict:
    """The verdict with its reproducer, or with a note that says why there is none; never an error."""
    if not verdict.failed or verdict.symptom is None or verdict.symptom.category != EXPLOSION:
        return verdict
    try:
        return _kept(verdict, capture, examination, subject, errand, call)
    except Exception as error:
        return replace(verdict, notes=(*verdict.notes, f"no reproducer: {one_line(error)}"))


def _kept(
    verdict: Verdict, capture: StepCapture, examination: Examination, subject: Any, errand: Errand, call: int
) -> Verdict:
    if capture.trace is None:
        raise NotKept("the step could not be reached a second time")
    if capture.trouble:
        raise NotKept(capture.trouble)
    assert errand.folder is not None
    file = errand.folder / file_name(errand.test or verdict.training, verdict.check)
    verdict = replace(verdict, reproducer=errand.describe(file))
    reproducer = Reproducer(
        check=verdict.check,
        training=verdict.training,
        test=errand.test,
        factory=_import_path(subject),
        seed=verdict.seed,
        run_seed=errand.run_seed,
        call=call,
        seed_offset=examination.plan.seed_offset,
        step=capture.step,
        conditions=examination.plan.conditions,
        culprit=describe(capture.trace.culprit),
        verdict=verdict.to_json(),
        state=capture.state,
        why="" if capture.state is not None else "a test that trains by itself is run as a whole",
    )
    write(reproducer, file)
    # A step may hang on what only the user's code remembers. A file that does not show the failure is worth nothing.
    if capture.state is not None and not _shows(read(file), examination.program, examination.plan):
        why = "the step alone does not show it: something else than batch, parameters and optimizers bears on it"
        write(replace(reproducer, state=None, why=why), file)
    return verdict


def _shows(saved: Reproducer, program: Program, plan: RunPlan) -> bool:
    try:
        trace = program.record(replay_plan(saved, plan))
    except Exception:
        return False
    return not trace.finite and same(describe(trace.culprit), saved.culprit)


def _import_path(subject: Any) -> str:
    """Empty for what nobody else can import."""
    while isinstance(subject, functools.partial):
        subject = subject.func
    module, name = getattr(subject, "__module__", ""), getattr(subject, "__qualname__", "")
    return f"{module}:{name}" if module and name and module != "__main__" and "<" not in name else ""
