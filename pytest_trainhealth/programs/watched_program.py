"""Watches whatever trains while other code runs: a script's main(), a framework's fit(), a whole test.

Models and optimizers are recorded when they are first used. A test may train one model after the other: each of them
gets a run of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn
from torch.optim import Optimizer

from ..interventions import install
from ..observe.errors.crash import crash_of, is_without_a_graph
from ..observe.errors.error_watch import ErrorWatch
from ..observe.run.foreign_optimizers import ForeignOptimizers
from ..observe.run.hanging import DidNotComeBack
from ..observe.run.hooks import listening
from ..observe.run.late_parameters import LateParameters
from ..observe.run.loader_clock import Clock
from ..observe.run.run import Run
from ..observe.run.trained_modules import TrainedModules
from ..observe.signals import make_signals
from ..observe.signals.numbers.finiteness import Finiteness
from ..observe.source.creation_sites import CreationSites, record_creation_sites
from ..observe.source.engine_frames import engine_frame
from ..records.trace import Trace
from ..state.process import seed_everything, undisturbed
from ..state.process_settings import process_settings_kept
from .plan import Look, RunPlan
from .training_program import add_places
from .uncompiled import uncompiled
from .watched_steps import WatchedSteps


class Watch:
    """The runs of a watched test. Events go to the latest; the others are over, and only their traces are left.

    `only`: the number of the training that is of interest; the others are followed, but not looked at. `splits`:
    whether trainings are told apart at all.
    """

    def __init__(self, plan: RunPlan, *, only: int | None = None, splits: bool = True) -> None:
        self._plan, self._only, self._splits = plan, only, splits
        self._stack = ExitStack()
        self._sites = CreationSites()
        self._steps: WatchedSteps
        self.traces: list[Trace] = []
        self.run: Run
        #: That of the latest run.
        self.emit: Callable[..., None]

    @contextmanager
    def watching(self) -> Iterator[Watch]:
        with ExitStack() as whole:
            self._sites = whole.enter_context(record_creation_sites(self._optimizer_made))
            self._begin()
            self._sites.on_parameter = self._something_made
            # the same record goes on while a training that was returned is run, and then nobody watches
            whole.callback(setattr, self._sites, "on_parameter", None)
            whole.callback(self._end)
            whole.enter_context(listening(self))
            self.run.emit("run_begins")
            yield self

    @property
    def has_begun(self) -> bool:
        """Whether anything was trained, or was about to be when something raised."""
        return bool(self.run.models or self.run.optimizers) or any(trace.losses for trace in self.traces)

    @property
    def step(self) -> int:
        """The one that the test is at: after an update, the next has begun."""
        return self.run.step + self._steps.is_over

    # -- what `listening` needs of a run -----------------------------------------------------------------------------

    @property
    def emitting(self) -> bool:
        return self.run.emitting

    @property
    def refuses_clearing(self) -> Callable[[Any], bool] | None:
        return self.run.refuses_clearing

    # -- one run after the other -------------------------------------------------------------------------------------

    def _end(self) -> None:
        self._stack.close()  # of the latest run

    def let_go(self) -> None:
        """Of what was trained: only the traces are asked for from now on."""
        self.run.let_go()

    def _optimizer_made(self, optimizer: Optimizer) -> None:
        self.run.add_optimizer(optimizer)
        self._something_made()

    def _something_made(self) -> None:
        self._steps.look_again()

    def _begin(self) -> None:
        plan = self._plan if self._only in (None, len(self.traces)) else self._plan.plain()
        self.run = run = Run(look_closely_at=plan.look.closely_at)
        self.emit = run.emit
        self.traces.append(run.trace)
        self._stack = ExitStack()
        run.budget, run.creation_sites = plan.budget, self._sites
        run.most_batches = plan.look.most_batches
        plan.budget.follows(run.trace.losses)
        run.trace.cured, run.trace.watched = bool(plan.treatment.cures), True
        for intervention in plan.treatment.interventions:
            run.subscribe(install(intervention, run, self._stack))
        run.subscribe(ForeignOptimizers(run, self._stack))
        run.subscribe(run.loader_batches)  # first: a backward pass may begin a step, and then batches are counted
        trained = TrainedModules(run, self._sites)
        self._steps = WatchedSteps(run, plan, trained, self._begins_anew)
        run.subscribe(self._steps)
        run.finiteness = Finiteness(run)
        clock = Clock(run, self._stack)
        for signal in (LateParameters(run), run.finiteness, *make_signals(run, plan.look.signals), clock):
            run.subscribe(signal)
        if plan.look.at_an_error:
            run.subscribe(ErrorWatch(run))
        self._stack.callback(_finish, run, trained, self._sites)
        self._stack.callback(run.end)

    def _begins_anew(self, module: nn.Module, inputs: Any) -> bool:
        if not self._splits or not self._is_another(module):
            return False
        held = {id(each) for each in module.parameters()}
        taken = [label for label, each in self.run.optimizers.items() if held & _ids_held(each)]
        optimizers = [self.run.forget_optimizer(label) for label in taken]
        self._stack.close()
        self._begin()
        for optimizer in optimizers:
            self.run.add_optimizer(optimizer)
        self.run.emit("run_begins")
        self._steps.forward_begins(module, inputs)
        return True

    def _is_another(self, module: nn.Module) -> bool:
        """Whether its model was made after the first pass of the current training, and its optimizer, if there are
        any, holds nothing of that."""
        began, parameters = self._steps.first_pass, list(module.parameters())
        if began is None or not all(self._sites.registered_after(each, began) for each in parameters):
            return False
        ids, known = {id(each) for each in parameters}, {id(each) for each in self.run.parameters.values()}
        holding = [held for each in self.run.optimizers.values() if ids & (held := _ids_held(each))]
        return (bool(holding) or not self.run.optimizers) and not any(known & held for held in holding)


def _ids_held(optimizer: Optimizer) -> set[int]:
    return {id(p) for group in optimizer.param_groups for p in group["params"]}


def _finish(run: Run, trained: TrainedModules, creation_sites: CreationSites) -> None:
    trained.forget_idle()
    add_places(run, creation_sites)
    if run.trace.nonfinite is None and run.trace.losses:
        run.trace.nonfinite = run.finiteness.of_state()


@contextmanager
def watching(plan: RunPlan) -> Iterator[Run]:
    """Whatever trains inside the block, as one training."""
    with Watch(plan, splits=False).watching() as watched:
        yield watched.run


@contextmanager
def watch(signals: tuple[str, ...] = ("gradients", "parameters", "stale_gradients", "modules")) -> Iterator[Trace]:
    """Records whatever trains inside the block, as one training. The trace is complete when the block ends."""
    with watching(RunPlan(max_steps=0, look=Look(signals))) as run:
        yield run.trace


class WatchedProgram:
    """A test that trains by itself; a re-run runs the whole test again.

    `number`: which of its trainings this is about, if it trains one model after the other.
    """

    start = None
    siblings: tuple[WatchedProgram, ...] = ()
    repeatable = True
    why_not = ""
    remarks: tuple[str, ...] = ()

    def __init__(self, body: Callable[[], object], seed: int, first_run: Trace | None = None, number: int = 0) -> None:
        self._body, self._seed, self._number = body, seed, number
        self.first_run = first_run

    @engine_frame
    def record(self, plan: RunPlan) -> Trace:
        watch = Watch(plan, only=self._number)
        # what a run switches on is off for the next
        with process_settings_kept(), undisturbed(), uncompiled(plan), watch.watching():
            seed_everything(self._seed + plan.seed_offset)
            try:
                if plan.wrap.timer is None:
                    self._body()
                else:
                    plan.wrap.timer.drive(self._body, 1)
            except DidNotComeBack as hung:
                hung.what = f"step {watch.run.step}"
                watch.traces[-1].cut_short = str(hung)
            except Exception as error:
                trace = watch.traces[-1]
                if not is_without_a_graph(error, trace):
                    if not plan.treatment.cures and not plan.catch_errors:
                        raise
                    trace.crash = crash_of(error, watch.run, watch.step)
        watch.let_go()
        return watch.traces[min(self._number, len(watch.traces) - 1)]

    def count_flops(self, plan: RunPlan) -> None:
        return None
