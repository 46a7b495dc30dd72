"""The pipeline: a subject and a request in, a verdict out. The one module that knows all the rooms up to `revisions/`.

What only some requests need (another revision, other circumstances, a reproducer) is imported only for them.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from .analysis.timing import operations
from .budget.budget import Budget
from .checks import Check
from .checks import check as find_check
from .engine.conclude import Conclusion, FollowedUp, FollowUp, conclude
from .engine.examination import Examination
from .engine.request import DoesNotApply, Request
from .engine.shared_results import SharedResults
from .engine.what_remains import judge_what_remains
from .observe.run.hanging import DidNotComeBack, interrupting
from .observe.source.engine_frames import engine_frame
from .observe.source.spawned import note_spawning
from .programs.plan import Look, RunPlan, Wrap
from .programs.program import Program
from .programs.start import CannotStartAgain, Start
from .programs.start import NotATraining as NotATraining
from .programs.subject import described, instead_of, missing_arguments
from .programs.training_program import TrainingProgram
from .programs.watched_program import Watch, WatchedProgram
from .records.comparison import Comparison
from .records.judgement import Passed
from .records.rate_range import RateRange
from .records.trace import Trace
from .records.verdict import Report, Verdict
from .settings import WrongSetting, setting
from .state.live_generators import generators_noted
from .state.process import seed_everything, undisturbed
from .state.process_settings import process_settings_kept
from .tensors.function_modes import none_left
from .training import Training

if TYPE_CHECKING:
    from .records.improvement import Improvement, SeedRun
    from .reproducers.reproducer import StepCapture

Subject = Training | Callable[[], object]
#: Seconds that a check has taken, after which what it left in reference cycles is freed at once: the model of the next
#: check would come on top of it (3.0 times the memory of the training at 10 million parameters, 1.6 with this). By
#: judgement: 2, because it takes a tenth of a second, and only a training of some size takes so long.
_LONG = 2.0


def _stress(examination: Examination, passed: Passed, trace: Trace) -> FollowedUp:
    from .stress.follow_up import follow_up

    return follow_up(examination, passed, trace)


def _memorising(examination: Examination, passed: Passed, trace: Trace) -> FollowedUp:
    from .baselines.memorising import follow_up

    return follow_up(examination, passed, trace)


def _one_thread(verdict: Verdict, examination: Examination) -> Verdict:
    from .engine.one_thread import with_one_thread

    return with_one_thread(verdict, examination)


#: What runs after a check that passed, and what may replace a verdict. Each check names its own.
FOLLOW_UPS: dict[str | None, FollowUp] = {"stress": _stress, "memorising": _memorising}
SECOND_OPINIONS: dict[str, Callable[[Verdict, Examination], Verdict]] = {"one_thread": _one_thread}


def examine(subject: Subject, request: Request, shared: SharedResults | None = None) -> Verdict:
    """Runs one check. A callable is called again for every run, under the same seed; one that returns None is watched.

    `shared`: what earlier checks of the same training have found; this check adds what it finds.
    """
    began, check = time.perf_counter(), find_check(request.check)
    if check.keeps_baseline:
        from .baselines.kept import with_baseline

        request = with_baseline(request)
    if check.beside_another:
        return _beside_another(subject, request)
    interrupted: list[str] = []
    noted = generators_noted() if check.compares_runs else nullcontext()
    with none_left(), process_settings_kept() as around, undisturbed(_threads(check, request)) as left, noted:
        plan = _plan(check, request, _capture(request))
        try:
            with _shown(plan, request), interrupting(plan.budget):
                verdict = _examined(subject, request, SharedResults() if shared is None else shared, plan, left)
        except DidNotComeBack as hung:
            verdict = Verdict(check.name, request.name, "could not judge", str(hung))
            interrupted += getattr(hung, "__notes__", ())
    if time.perf_counter() - began > _LONG:
        gc.collect()
    remarks = [plan.budget.remark] if plan.budget.remark else []
    remarks += [*(f"left changed: {name}" for name in (*left, *around)), *interrupted]
    seed = request.seed if request.replaying is None else request.replaying.seed
    return replace(verdict, notes=(*verdict.notes, *remarks), seed=seed, seconds=time.perf_counter() - began)


def compare_trainings(
    before: Subject, after: Subject, request: Request, *, seeds: int, measure: Callable[[Any], float] | None = None
) -> Improvement:
    """Both with the same seeds, one after the other; each has half of the time."""
    from .analysis.improvement import compared

    sides = [_side(subject, request, seeds, measure) for subject in (before, after)]
    return compared(*sides, steps=find_check(request.check).max_steps(request.values))


def _side(
    subject: Subject, request: Request, seeds: int, measure: Callable[[Any], float] | None
) -> tuple[SeedRun, ...]:
    from .improvements.seed_runs import runs_of, stopped

    check, left = find_check(request.check), list[str]()
    with none_left(), process_settings_kept(), undisturbed(_threads(check, request)):
        plan = _plan(check, request, None)
        plan = replace(plan, budget=Budget(plan.budget.seconds / 2))
        try:
            with interrupting(plan.budget), _program(subject, request, plan, request.seed, left) as program:
                return runs_of(program, plan, seeds=seeds, measure=measure)
        except (DidNotComeBack, CannotStartAgain) as error:
            return stopped(str(error))


def _beside_another(subject: Subject, request: Request) -> Verdict:
    from .checks.improves_on import SEEDS
    from .improvements.verdict import verdict_of

    began, before = time.perf_counter(), request.values.get("before")
    found = None
    if before is not None:
        found = compare_trainings(before, subject, request, seeds=SEEDS)
    return replace(verdict_of(found, request), seed=request.seed, seconds=time.perf_counter() - began)


def learning_rates(subject: Subject, request: Request, steps: int) -> RateRange:
    """What the training comes to at rates from low to high; nothing is judged."""
    from .engine.rate_range import measure

    check = find_check(request.check)
    with none_left(), process_settings_kept(), undisturbed(_threads(check, request)) as left:
        plan = _plan(check, request, None)
        with interrupting(plan.budget), _program(subject, request, plan, request.seed, left) as program:
            if program.start is None:
                raise NotATraining("a Training is needed, or a function that makes one: nothing was returned")
            if not program.repeatable:
                return RateRange(0.0, steps, 0.0, why_not=program.why_not)
            return measure(Examination(program, check, request.values, plan), steps)


def advised(verdict: Verdict, subject: Subject, request: Request) -> Verdict:
    """The verdict with what would help the training, where that was asked for. Advice never changes an outcome."""
    from .advice.give import LOOK, give_advice, nothing_tried

    if request.advice is None or request.replaying is not None:
        return verdict
    check, began = find_check(request.check), time.perf_counter()
    if verdict.failed or check.in_ranks or check.reads_history:
        return replace(verdict, advice=nothing_tried(verdict))
    wanted = request.advice
    plan = RunPlan(
        max_steps=1,
        one_batch=False,
        budget=Budget(wanted.budget),
        purpose=f"advice on {request.name}",
        device=_device(request.values.get("device")),
    )
    with none_left(), process_settings_kept(), undisturbed(0):
        try:
            looking = plan.looking(LOOK)
            with interrupting(plan.budget), _program(subject, request, looking, request.seed, []) as program:
                found = give_advice(program, plan, wanted, subject, alone=request.workers == 1)
        except DidNotComeBack as hung:
            found = nothing_tried(verdict, str(hung))
    return replace(verdict, advice=found, seconds=verdict.seconds + time.perf_counter() - began)


def advised_report(report: Report, subject: Subject, request: Request) -> Report:
    """The report with advice. A check that failed has the last word: its fault comes first."""
    of = next((verdict for verdict in report.verdicts if verdict.failed), report.verdicts[-1])
    with_it = advised(of, subject, replace(request, check=of.check))
    return replace(report, verdicts=tuple(with_it if verdict is of else verdict for verdict in report.verdicts))


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
    with _program(subject, request, plan, seed, left) as program:
        shared.has_val_data = program.start is not None and program.start.training.val_data is not None
        if request.only_with_val_data and not shared.has_val_data:
            raise DoesNotApply("the training has no val_data")
        if saved is not None:
            from .reproducers.replay import replayed

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
        from .baselines.kept import updated

        return updated(examination, request)
    made = program.first_run or shared.reusable_run(check, request.values)

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
        from .reproducers.attach import attach_reproducer
        from .reproducers.reproducer import StepCapture

        assert isinstance(plan.wrap.capture, StepCapture)
        verdict = attach_reproducer(verdict, plan.wrap.capture, program, conclusion.plan, subject, request)
    return verdict


def _capture(request: Request) -> StepCapture | None:
    if request.reproducers is None:
        return None
    from .reproducers.reproducer import StepCapture

    return StepCapture()


def _comparison(subject: Subject, request: Request, plan: RunPlan) -> Comparison | None:
    if request.values.get("against") is None or request.replaying is not None:
        return None
    from .revisions.compare import with_revision

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


def _plan(check: Check, request: Request, capture: StepCapture | None) -> RunPlan:
    values = request.values
    return RunPlan(
        max_steps=check.max_steps(values),
        cured_steps=None if check.cured_steps is None else check.cured_steps(values),
        look=Look(check.signals, most_batches=values.get("max_batches")),
        wrap=Wrap(timer=request.timer, capture=capture),
        one_batch=check.one_batch,
        stop_when=lambda trace: check.stop_when(trace, values),
        budget=Budget(values.get("budget", setting("budget").default)),
        purpose=f"{check.name} on {request.name}",
        device=_device(values.get("device")),
    )


@contextmanager
@engine_frame
def _program(subject: Subject, request: Request, plan: RunPlan, seed: int, left: list[str]) -> Iterator[Program]:
    """The subject as something that can be run again. `left` gets the names of what cannot be put back afterwards."""
    if find_check(request.check).in_ranks:
        yield _in_ranks(subject, request, plan)
        return
    if isinstance(subject, Training):
        with _training_program(Start(subject, seed=seed, device=plan.device), left) as program:
            yield program
        return
    factory = _callable(subject)
    watch = Watch(plan)
    returned: object = None
    raised = False
    with ExitStack() as as_before:
        as_before.enter_context(process_settings_kept())
        as_before.enter_context(undisturbed())
        seed_everything(seed)
        try:
            with note_spawning() as spawned, watch.watching():
                returned = factory()
        except DidNotComeBack as hung:
            hung.what = f"step {watch.run.step}" if watch.run.models else request.name
            raise
        except Exception:
            raised = watch.has_begun
            if not raised:
                raise
        if isinstance(returned, Training):  # what the factory has switched on holds for its training
            sites = watch.run.creation_sites
            start = Start(returned, seed=seed, factory=factory, creation_sites=sites, device=plan.device)
            with _training_program(start, left) as program:
                yield program
            return
    if raised:  # with whatever it raises, a test that trains is judged: a cause may explain it
        yield WatchedProgram(factory, seed)
        return
    if returned is not None:
        raise NotATraining(instead_of(returned))
    seen = [(number, trace) for number, trace in enumerate(watch.traces) if trace.losses or trace.update_count]
    if not seen:
        raise NotATraining(_nothing(request.check, spawned))
    # with a timer, the first run does not count: the test runs once more, and the timer times that run
    untimed = plan.wrap.timer is None
    programs = [WatchedProgram(factory, seed, each if untimed else None, at) for at, each in seen]
    programs[0].siblings = tuple(programs[1:]) if untimed else ()
    yield programs[0]


def _nothing(check: str, spawned: list[str]) -> str:
    """Why there is nothing to check, where a test has returned nothing and trained nothing here."""
    if spawned:
        own = f"nothing to check: this test starts processes of its own ({spawned[0]})"
        return f"{own}, and what they train cannot be watched from here: use ranks_agree"
    return f"nothing to check: the test returned nothing and trained nothing that {check} could watch"


def _in_ranks(subject: Subject, request: Request, plan: RunPlan) -> Program:
    """The subject is not called here: it may need the other processes."""
    from .ranks.gang import NoTraining
    from .ranks.program import RanksProgram

    try:
        program = RanksProgram(subject, request)
        program.begin(plan)
    except NoTraining as why:
        raise NotATraining(str(why)) from None
    return program


@contextmanager
@engine_frame
def _training_program(start: Start, left: list[str]) -> Iterator[Program]:
    try:
        yield TrainingProgram(start)
    except BaseException as error:
        for name in start.close():
            error.add_note(f"left changed: {name}")
        raise
    left.extend(start.close())


def _callable(subject: Any) -> Callable[[], object]:
    if not callable(subject) or isinstance(subject, torch.nn.Module):
        raise NotATraining(f"a Training is needed, or a function that makes one, not {described(subject)}")
    if missing := missing_arguments(subject):
        raise NotATraining(missing)
    return subject  # type: ignore[no-any-return]


def _threads(check: Check, request: Request) -> int:
    """0 keeps torch's own number. Workers share the cores: too many threads on a busy machine are ten times slower."""
    requested = request.values.get("threads", 1)
    if (
        check.times_steps or check.compares_runs or (not requested and request.workers == 1)
    ):  # measured as the user has it
        return 0
    return max(1, (requested or torch.get_num_threads()) // request.workers)


def _device(name: str | None) -> torch.device | None:
    if name is None:
        return None
    available = ["cpu"]
    if torch.accelerator.is_available():
        accelerator = torch.accelerator.current_accelerator()
        available.append(str(accelerator))
    if name.partition(":")[0] not in available:
        raise WrongSetting(f"--trainhealth-device: there is no {name!r} on this machine. Here: {', '.join(available)}")
    return torch.device(name)
