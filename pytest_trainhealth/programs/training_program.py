"""Records a run of a `Training` from its start."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

from .. import wording
from ..frameworks.stepwise_loop import LoopEnded
from ..interventions import held_still, install, is_early
from ..observe.errors.crash import crash_of, is_without_a_graph
from ..observe.errors.error_watch import ErrorWatch
from ..observe.run.feed import Feed, NoData
from ..observe.run.foreign_optimizers import ForeignOptimizers
from ..observe.run.hanging import DidNotComeBack
from ..observe.run.hooks import listening
from ..observe.run.late_parameters import LateParameters
from ..observe.run.outside_parameters import outside_parameters
from ..observe.run.run import Run
from ..observe.run.seen_losses import SeenLosses
from ..observe.run.stepper import NotConnected, Stepper
from ..observe.signals import make_signals
from ..observe.signals.numbers.finiteness import Finiteness
from ..observe.source.creation_sites import CreationSites, record_creation_sites
from ..observe.source.engine_frames import engine_frame
from ..observe.source.named_values import rate_written_at
from ..observe.source.statements import statement_at
from ..records.trace import Trace
from ..state.process import undisturbed
from ..state.process_settings import process_settings_kept
from ..tensors.aside import Aside
from ..tensors.batches import batch_size
from ..training import Training
from .flops import count_flops
from .plan import RunPlan
from .start import Start
from .uncompiled import uncompiled


class TrainingRun(Run):
    """A run of a `Training` also knows what takes its steps, and the batch of the current one."""

    stepper: Stepper
    feed: Feed
    batch: Any = None

    def __init__(self, look_closely_at: int | None = None) -> None:
        super().__init__(look_closely_at)
        self.seen_losses = SeenLosses()

    def end(self) -> None:
        """A batch that a loader's workers made is an open file: it is let go of, whoever may still hold the run."""
        try:
            super().end()
        finally:
            self.batch = None


class TrainingProgram:
    """A training that can be run again and again."""

    siblings: tuple[TrainingProgram, ...] = ()

    def __init__(self, start: Start) -> None:
        self.start = start

    @property
    def repeatable(self) -> bool:
        return self.start.repeatable

    @property
    def why_not(self) -> str:
        return self.start.why_not

    @property
    def remarks(self) -> tuple[str, ...]:
        return (self.start.remark,) if self.start.remark else ()

    @property
    def first_run(self) -> None:
        return None

    def count_flops(self, plan: RunPlan) -> float | None:
        return count_flops(self, plan)

    @engine_frame
    def record(self, plan: RunPlan) -> Trace:
        with process_settings_kept(), undisturbed(), uncompiled(plan):  # what a run switches on is off for the next
            return self._recorded(plan)

    def _recorded(self, plan: RunPlan) -> Trace:
        early = TrainingRun(look_closely_at=plan.look.closely_at)
        with ExitStack() as stack:
            stack.callback(early.let_go)
            for intervention in plan.treatment.interventions:
                if is_early(intervention):  # what the factory draws and reads is part of what it changes
                    early.subscribe(install(intervention, early, stack))
            training = self.start.begin(plan.seed_offset, held_still(plan.treatment.interventions))
            early.trace.state.starts_differently = self.start.differing
            self._run(training, plan, early)
        return early.trace

    def _run(self, training: Training, plan: RunPlan, early: TrainingRun) -> None:
        with recorded(training, plan, self.start.creation_sites, early) as run:
            loop = _Loop(run, training, plan)
            try:
                (_plain_loop if plan.wrap.timer is None else plan.wrap.timer.drive)(loop.once, plan.max_steps)
            except DidNotComeBack as hung:
                hung.what = f"the batch for step {run.step}" if loop.waiting else f"step {run.step}"
                run.trace.cut_short = str(hung)
            loop.finish()


@contextmanager
def recorded(
    training: Training, plan: RunPlan, creation_sites: CreationSites, early: TrainingRun | None = None
) -> Iterator[TrainingRun]:
    """A run with its listeners; afterwards hooks are removed and batches restored, whatever happens.

    `early`: a run that has the interventions already which begin before the training is built.
    """
    run = early or TrainingRun(look_closely_at=plan.look.closely_at)
    run.creation_sites, run.budget, run.training = creation_sites, plan.budget, training
    run.most_batches, run.evaluated_enough = plan.look.most_batches, plan.look.evaluated_enough
    plan.budget.follows(run.trace.losses, plan.shown_steps)
    with begun(training, creation_sites):
        with _listened_to(training, plan, run, early):
            yield run
        add_places(run, creation_sites)


@contextmanager
def begun(training: Training, creation_sites: CreationSites) -> Iterator[None]:
    """The training, ready for its first step. A framework makes its optimizers only when its loop begins."""
    with ExitStack() as stack:
        with nullcontext() if training.framework_loop is None else record_creation_sites(into=creation_sites):
            stack.enter_context(training.running())
        yield


@contextmanager
def _listened_to(training: Training, plan: RunPlan, run: TrainingRun, early: TrainingRun | None) -> Iterator[None]:
    run.add_models(training.modules)
    for label, optimizer in training.optimizers.items():
        run.add_optimizer(optimizer, label)
    roots = [each for each in (training.loss, training.criterion, training.step) if each is not None]
    run.add_outside(outside_parameters(roots, lambda tensor: bool(run.held_by(tensor))))
    run.feed = Feed(training, one_batch=plan.one_batch, device=plan.device, begins_half_way=plan.begins_half_way)
    run.trace.batches, run.trace.without_data = run.feed.count, training.data is None
    run.trace.cured = bool(plan.treatment.cures)
    with ExitStack() as stack:
        for intervention in plan.treatment.interventions:
            if early is None or not is_early(intervention):
                run.subscribe(install(intervention, run, stack))
        run.finiteness = Finiteness(run)
        if training.step is not None:
            run.subscribe(run.seen_losses)
        run.subscribe(ForeignOptimizers(run, stack))
        for signal in (LateParameters(run), run.finiteness, *make_signals(run, plan.look.signals)):
            run.subscribe(signal)
        if plan.look.at_an_error:
            run.subscribe(ErrorWatch(run))
        stack.callback(run.end)
        stack.callback(run.feed.close)
        stack.enter_context(listening(run))
        run.emit("run_begins")
        if "memory" in plan.look.signals:  # it is about speed and memory
            run.feed.keep_ahead(plan.max_steps)
        yield


class _Loop:
    """Takes step after step until the plan is fulfilled. A timer may be the one that calls `once()`."""

    def __init__(self, run: TrainingRun, training: Training, plan: RunPlan) -> None:
        self._run, self._plan = run, plan
        self._stepper = run.stepper = Stepper(training)
        self._stepper.seen = run.seen_losses
        run.take_step = self._stepper.take
        self.over = False
        #: For a batch.
        self.waiting = False

    def once(self) -> float | None:
        """Takes a step and returns its seconds. None when there is nothing left to do."""
        if self.over:
            return None
        run, plan, trace = self._run, self._plan, self._run.trace
        began = time.perf_counter()
        self.waiting = True
        try:
            batch = run.feed.take() if plan.wrap.resume_from is None else plan.wrap.resume_from(run)
        except Exception as error:
            ours = isinstance(error, NoData) or plan.wrap.resume_from is not None
            if ours or not (plan.treatment.cures or plan.catch_errors):
                raise
            trace.crash = crash_of(error, run, run.step, reading_data=True)
            self.over = True
            return None
        self.waiting = False
        moved: float = run.feed.moving
        waited = time.perf_counter() - began - moved
        trace.speed.waits.append(waited)
        if run.feed.starting:
            trace.speed.worker_starts.append(run.step)
        if not run.step or plan.wrap.resume_from is not None:
            with Aside():
                trace.batch_size = batch_size(batch)
        for change in (
            run.batch_changes if plan.wrap.resume_from is None else ()
        ):  # a batch kept for a reproducer has already been changed
            batch = change(batch)
        run.batch = batch
        took = _take(run, self._stepper, batch, plan)
        if took is None:
            self.over = True
            return None
        trace.speed.computes.append(moved + took)
        loss = trace.losses[-1] if trace.loss_seen else 0.0
        trace.nonfinite = run.finiteness.after_step(loss, closely=plan.look.every_step)
        late = plan.budget.over()
        run.step += 1
        self.over = bool(trace.nonfinite or plan.stop_when(trace) or run.step >= plan.max_steps)
        if late and not self.over:
            trace.cut_short = plan.budget.used_up(
                f"{run.step} of at most {wording.plural(plan.max_steps, 'step')} taken"
            )
            self.over = True
        return waited + trace.speed.computes[-1]

    def finish(self) -> None:
        self._run.trace.nonfinite = self._run.trace.nonfinite or self._run.finiteness.of_state()


def _plain_loop(once: Callable[[], object], most: int) -> None:
    for _ in range(most):
        once()


def _take(run: TrainingRun, stepper: Stepper, batch: Any, plan: RunPlan) -> float | None:
    """Takes one step and returns its own seconds, without those for listeners and for restoring batches.

    None when the run ends here: the loss reaches no parameter, or the code raises with a cure installed.
    """
    trace = run.trace
    began, overhead = time.perf_counter(), trace.speed.overhead
    run.emit("step_begins", batch)
    try:
        around = plan.wrap.around_step.get(run.step)
        if around is None:
            loss = stepper.take(batch)
        else:
            run.wrapped_step = run.step
            with around(run):
                loss = stepper.take(batch)
    except NotConnected:
        trace.loss_connected = False
        return None
    except LoopEnded as over:
        trace.cut_short = str(over)
        return None
    except Exception as error:
        if is_without_a_graph(error, trace):
            return None
        if plan.treatment.cures or plan.catch_errors:
            trace.crash = crash_of(error, run, run.step)
            return None
        error.add_note(f"raised in step {run.step} of {plan.purpose or 'a training health check'}")
        raise
    finally:
        taken = time.perf_counter()
        run.feed.give_back()
        trace.speed.overhead += time.perf_counter() - taken
    trace.losses.append(loss)
    if stepper.unseen:
        trace.loss_seen = False
    run.emit("step_ends")  # waits for a device that is still busy: that time belongs to the step
    return time.perf_counter() - began - (trace.speed.overhead - overhead)


def add_places(run: Run, creation_sites: CreationSites) -> None:
    """Records where the optimizers and modules of this run were created, if the factory showed it."""
    for label, optimizer in run.optimizers.items():
        record = run.trace.wiring.optimizers[label]
        record.place = record.place or creation_sites(optimizer)
        record.statement = record.statement or statement_at(record.place)
        rate = optimizer.defaults.get("lr")
        if record.place is not None and record.rate_place is None and isinstance(rate, float):
            named = rate_written_at(record.statement, rate, record.place.file)
            record.rate_place, record.rate_name = named or (None, "")
    for scheduler, noted in run.schedulers:
        noted.made_at = noted.made_at or creation_sites(scheduler)
    first = creation_sites.first_of(run.optimizers.values())
    for path, module in run.named_modules():
        if path in run.trace.wiring.modules:
            record_of = run.trace.wiring.modules[path]
            record_of.place = creation_sites(module)
            record_of.after_optimizer = creation_sites.after(module, first)
