"""The pipeline: a subject and a request in, a verdict out.

What only some requests need (another revision, other circumstances, a reproducer) is imported only for them.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..analysis.timing import operations
from ..checks import Check
from ..checks import check as find_check
from ..engine.conclude import Conclusion, conclude
from ..engine.examination import Examination
from ..engine.request import DoesNotApply, Request
from ..engine.shared_results import SharedResults
from ..engine.what_remains import judge_what_remains
from ..observe.run.hanging import DidNotComeBack, interrupting
from ..observe.source.engine_frames import engine_frame
from ..programs.plan import RunPlan
from ..programs.program import Program
from ..programs.start import CannotStartAgain, some_are_left
from ..records.comparison import Comparison
from ..records.trace import Trace
from ..records.verdict import Verdict
from ..state.live_generators import generators_noted
from ..state.process import undisturbed
from ..state.process_settings import process_settings_kept
from ..tensors.function_modes import none_left
from .after_a_check import FOLLOW_UPS, SECOND_OPINIONS
from .plan_of import plan_of, threads_of
from .program_of import Subject, program_of

if TYPE_CHECKING:
    from ..reproducers.reproducer import StepCapture

#: Seconds that a check has taken, after which a training that it left in a reference cycle is freed at once: the model
#: of the next check would come on top of it (3.0 times the memory of the training at 10 million parameters, 1.6 with
#: this). By judgement: 2, because it takes a tenth of a second, and only a training of some size takes so long.
_LONG = 2.0


def examine(subject: Subject, request: Request, shared: SharedResults | None = None) -> Verdict:
    """Runs one check. A callable is called again for every run, under the same seed; one that returns None is watched.

    `shared`: what earlier checks of the same training have found; this check adds what it finds.
    """
    began, check = time.perf_counter(), find_check(request.check)
    if check.keeps_baseline:
        from ..baselines.kept import with_baseline

        request = with_baseline(request)
    if check.beside_another:
        from .before_and_after import beside_another

        return beside_another(subject, request)
    interrupted: list[str] = []
    noted = generators_noted() if check.compares_runs else nullcontext()
    with none_left(), process_settings_kept() as around, undisturbed(threads_of(check, request)) as left, noted:
        plan = plan_of(check, request, _capture(request))
        try:
            with _shown(plan, request), interrupting(plan.budget):
                verdict = _examined(subject, request, SharedResults() if shared is None else shared, plan, left)
        except DidNotComeBack as hung:
            verdict = Verdict(check.name, request.name, "could not judge", str(hung))
            interrupted += getattr(hung, "__notes__", ())
    if time.perf_counter() - began > _LONG and some_are_left():
        gc.collect()
    remarks = [plan.budget.remark] if plan.budget.remark else []
    remarks += [*(f"left changed: {name}" for name in (*left, *around)), *interrupted]
    seed = request.seed if request.replaying is None else request.replaying.seed
    return replace(verdict, notes=(*verdict.notes, *remarks), seed=seed, seconds=time.perf_counter() - began)


@contextmanager
@engine_frame
def _shown(plan: RunPlan, request: Request) -> Iterator[None]:
    """While the check runs, whoever waits for it sees how far it has come."""
    if request.show is None:
        yield
        return
    plan.budget.shown_on(request.show, request.check, request.name)
    try:
        yield
    finally:
        with suppress(Exception):
            request.show.over()


def _examined(subject: Subject, request: Request, shared: SharedResults, plan: RunPlan, left: list[str]) -> Verdict:
    """`left` gets what could not be put back afterwards."""
    check, saved = find_check(request.check), request.replaying
    seed = request.seed if saved is None else saved.seed
    comparison = _comparison(subject, request, plan)
    with program_of(subject, request, plan, seed, left) as program:
        shared.has_val_data = program.start is not None and program.start.training.val_data is not None
        if request.only_with_val_data and not shared.has_val_data:
            raise DoesNotApply("the training has no val_data")
        if saved is not None:
            from ..reproducers.replay import replayed

            return replayed(saved, program, plan)
        return _all_trainings(subject, program, _Job(check, request, plan, shared, comparison))


@dataclass(frozen=True)
class _Job:
    """What is the same for every training of a test."""

    check: Check
    request: Request
    plan: RunPlan
    shared: SharedResults
    comparison: Comparison | None


def _all_trainings(subject: Subject, program: Program, job: _Job) -> Verdict:
    """A test that trains one model after the other passes if each of them does; the first that fails decides."""
    programs = (program, *program.siblings)
    if job.check.keeps_baseline and program.siblings:
        reason = f"this test trains {len(programs)} models one after the other, and a baseline is of one"
        return Verdict(job.check.name, job.request.name, "could not judge", reason)
    verdict, doubt = _verdict(subject, program, job), None
    for number, each in enumerate(programs[1:], 2):
        doubt = doubt if verdict.passed else doubt or verdict
        if verdict.failed:
            return verdict
        if job.plan.budget.over():
            reason = f"the time budget was used up after {number - 1} of the {len(programs)} trainings in this test"
            return replace(verdict, outcome="could not judge", reason=reason)
        verdict = _verdict(subject, each, job)
        note = f"this is training {number} of the {len(programs)} in this test, one after the other"
        verdict = replace(verdict, notes=(*verdict.notes, note))
    return verdict if verdict.failed or doubt is None else doubt


def _verdict(subject: Subject, program: Program, job: _Job) -> Verdict:
    check, request, plan, shared = job.check, job.request, job.plan, job.shared
    examination = Examination(program, check, request.values, plan)
    if check.keeps_baseline and request.values.get("update_baseline"):
        from ..baselines.kept import updated

        return updated(examination, request)
    made = program.first_run or shared.reusable_run(check, request.values)
    examination.first_look = shared.first_look(check, program, plan.look)
    examination.completed = lambda trace: shared.with_data(trace, check)

    def concluded(examination: Examination, made: Trace | None) -> Conclusion:
        return conclude(examination, request.name, shared.known, trace=made, comparison=job.comparison,
                        follow_up=FOLLOW_UPS.get(check.follow_up),
                        expected_errors=request.expected_errors)  # fmt: skip

    try:
        conclusion = concluded(examination, made)
        if request.silencings:
            verdict = judge_what_remains(
                conclusion.verdict,
                examination,
                request.silencings,
                lambda each: concluded(each, each.untreated).verdict,
            )
            conclusion = replace(conclusion, verdict=verdict)
    except CannotStartAgain as error:
        undecided = Verdict(check.name, request.name, "could not judge", str(error))
        conclusion = Conclusion(undecided, plan)
    shared.add(program, check, examination.untreated)
    verdict = _with_speed(conclusion.verdict, examination)
    if request.reproducers is not None and verdict.failed:
        from ..reproducers.attach import attach_reproducer
        from ..reproducers.reproducer import StepCapture

        assert isinstance(plan.wrap.capture, StepCapture)
        verdict = attach_reproducer(verdict, plan.wrap.capture, program, conclusion.plan, subject, request)
    return verdict


def _capture(request: Request) -> StepCapture | None:
    if request.reproducers is None:
        return None
    from ..reproducers.reproducer import StepCapture

    return StepCapture()


def _comparison(subject: Subject, request: Request, plan: RunPlan) -> Comparison | None:
    if request.values.get("against") is None or request.replaying is not None:
        return None
    from ..revisions.compare import with_revision

    return with_revision(subject, request, plan)


def _with_speed(verdict: Verdict, examination: Examination) -> Verdict:
    """The verdict with the second opinion of its check, and with operation counts if the check times steps."""
    check, trace = examination.check, examination.untreated
    if check.second_opinion is not None:
        verdict = SECOND_OPINIONS[check.second_opinion](verdict, examination)
    if not check.times_steps or trace is None:
        return verdict
    program, plan = examination.program, examination.plan
    trace = replace(trace, speed=replace(trace.speed, flops=None if plan.budget.over() else program.count_flops(plan)))
    if plan.wrap.timer is not None:
        plan.wrap.timer.finished(trace, watched=program.start is None)
    return replace(verdict, figures={**verdict.figures, **operations(trace)})
