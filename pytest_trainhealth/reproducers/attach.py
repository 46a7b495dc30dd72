"""Gives a verdict its reproducer: writes it, reads it back, and tries it before anybody relies on it."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

from ..engine.request import Request
from ..programs.plan import RunPlan
from ..programs.program import Program
from ..records.symptoms import row_of
from ..records.verdict import Verdict
from .replay import describe, replay_plan, same, shows_a_value
from .reproducer import Reproducer, StepCapture, file_name, one_line, read, write
from .step_state import NotKept


@dataclass(frozen=True)
class _Failure:
    """Everything a reproducer is made from, apart from the step itself."""

    verdict: Verdict
    program: Program
    #: Repeats the run that failed.
    plan: RunPlan
    subject: Any
    request: Request


def attach_reproducer(
    verdict: Verdict, capture: StepCapture, program: Program, plan: RunPlan, subject: Any, request: Request
) -> Verdict:
    """The verdict with its reproducer, or with a note that says why there is none. Never raises."""
    if not verdict.failed or verdict.symptom is None or not row_of(verdict.symptom).keeps_reproducer:
        return verdict
    try:
        return _attached(_Failure(verdict, program, plan, subject, request), capture)
    except Exception as error:
        return replace(verdict, notes=(*verdict.notes, f"no reproducer: {one_line(error)}"))


def _attached(failure: _Failure, capture: StepCapture) -> Verdict:
    if failure.plan.budget.over():
        raise NotKept(failure.plan.budget.used_up("it could not be tried"))
    if capture.trace is None:
        raise NotKept("the step could not be reached a second time")
    if capture.trouble:
        raise NotKept(capture.trouble)
    verdict, plan, request = failure.verdict, failure.plan, failure.request
    assert request.reproducers is not None
    file = request.reproducers.folder / file_name(request.item or verdict.training, verdict.check)
    verdict = replace(verdict, reproducer=request.reproducers.shown(file))
    reproducer = Reproducer(
        check=verdict.check,
        training=verdict.training,
        test=request.item,
        factory=_import_path(failure.subject),
        seed=verdict.seed,
        run_seed=request.reproducers.run_seed,
        call=request.call,
        seed_offset=plan.seed_offset,
        step=capture.step,
        conditions=plan.treatment.conditions,
        culprit=describe(capture.trace.numbers.culprit),
        verdict=verdict.to_json(),
        state=capture.state,
        why="" if capture.state is not None else "a test that trains by itself is run as a whole",
    )
    write(reproducer, file)
    # The step may depend on what only the user's code remembers, and a file that does not show the failure is useless.
    if capture.state is not None and not _shows(read(file), failure.program, plan):
        why = "the step alone does not show it: it depends on more than batch, parameters and optimizers"
        write(replace(reproducer, state=None, why=why), file)
    return verdict


def _shows(saved: Reproducer, program: Program, plan: RunPlan) -> bool:
    try:
        trace = program.record(replay_plan(saved, plan))
    except Exception:
        return False
    return shows_a_value(trace) and same(describe(trace.numbers.culprit), saved.culprit)


def _import_path(subject: Any) -> str:
    """Empty if nobody else can import the subject."""
    while isinstance(subject, functools.partial):
        subject = subject.func
    module, name = getattr(subject, "__module__", ""), getattr(subject, "__qualname__", "")
    return f"{module}:{name}" if module and name and module != "__main__" and "<" not in name else ""
