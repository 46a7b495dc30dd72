"""Watches whatever trains while other code runs: a script's main(), a framework's fit(), a whole test.

The loop is not ours. So a step is what happens between one backward pass after an update and the next, losses are read
when backward() begins, and models and optimizers are recorded when they are first used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from ..interventions import install
from ..observe.run.events import Listener
from ..observe.run.hanging import DidNotComeBack
from ..observe.run.hooks import listening
from ..observe.run.late_parameters import LateParameters
from ..observe.run.loader_clock import Clock
from ..observe.run.run import Run
from ..observe.run.sampling import is_sampled
from ..observe.signals import make_signals
from ..observe.signals.numbers.finiteness import Finiteness
from ..observe.source.authorship import package_of
from ..observe.source.creation_sites import CreationSites, record_creation_sites
from ..observe.source.engine_frames import engine_frame
from ..observe.source.places import raised_at
from ..records.error_words import words_of
from ..records.numbers import Crash, NonFinite
from ..records.trace import Trace
from ..state.process import seed_everything, undisturbed
from ..state.process_settings import process_settings_kept
from ..tensors.batches import batch_size
from .plan import Look, RunPlan
from .training_program import add_places


class _Steps(Listener):
    """Turns backward passes and updates into steps, as signals expect them."""

    def __init__(self, run: Run, plan: RunPlan) -> None:
        self._run, self._plan = run, plan
        self._around = ExitStack()
        self._open = False
        self._updated = False
        self._backward = False
        self._handle: RemovableHandle | None = None
        self._loss = math.nan
        #: The step that something is wrapped around, beginning at the end of the step before it.
        self._wrapped: int | None = None

    def run_begins(self) -> None:
        self._look_for_forward_passes()
        self._wrap(0)

    def run_ends(self) -> None:
        self._close_step()
        self._stop_looking()

    def _look_for_forward_passes(self) -> None:
        """A hook on every module call costs too much for every step; only the sampled steps need it."""
        step, always = self._run.step, self._plan.look.every_step or self._plan.look.from_forward
        if always or step < 3 or is_sampled(step) or is_sampled(step + 1):
            self._handle = self._handle or register_module_forward_pre_hook(self._forward_begins)
        else:
            self._stop_looking()

    def _stop_looking(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _forward_begins(self, module: nn.Module, inputs: Any) -> None:
        if (self._open and not self._over) or not torch.is_grad_enabled():
            return
        run = self._run
        known = any(module is each for model in run.models.values() for each in model.modules())
        if not known and any(True for _ in module.parameters()):
            model = self._model_of(module)
            run.add_models({"" if not run.models else f"{type(model).__name__}{len(run.models)}": model})
        self._close_step()
        if run.trace.batch_size is None:
            # the first input decides: a hidden state passed along with it may have its samples in another dimension
            run.trace.batch_size = batch_size(inputs[:1]) or batch_size(inputs)
        self._begin_step(inputs)

    def _model_of(self, module: nn.Module) -> nn.Module:
        """The module itself, or the one it is a part of, if a loss goes around the model and calls its layers.

        Then the whole has more parameters, and an optimizer holds some of those, or the part is just a layer of torch.
        """
        sites = self._run.creation_sites
        whole = module if sites is None else sites.outermost(module)
        inside = {id(p) for p in module.parameters()}
        others = {id(p) for p in whole.parameters()} - inside
        held = {id(p) for o in self._run.optimizers.values() for group in o.param_groups for p in group["params"]}
        return whole if held & others or (others and package_of(type(module)) == "torch") else module

    def _begin_step(self, batch: Any) -> None:
        self._open, self._updated, self._backward = True, False, False
        self._run.emit("step_begins", batch)
        self._wrap(self._run.step)

    def _wrap(self, step: int) -> None:
        """Wraps a step before it begins with the first call of a model: its inputs and targets are computed earlier."""
        if self._wrapped is None and step in self._plan.wrap.around_step:
            self._wrapped = self._run.wrapped_step = step
            self._around.enter_context(self._plan.wrap.around_step[step](self._run))

    @property
    def _over(self) -> bool:
        """An update ends a step; so does a backward pass before the first update (there may never be one)."""
        return self._updated or (self._backward and not self._run.trace.update_count)

    def backward_ends(self) -> None:
        self._backward = True

    def backward_begins(self, roots: list[Tensor]) -> None:
        if self._over:
            self._close_step()
        if not self._open:
            self._begin_step(None)
        if len(roots) == 1 and roots[0].numel() == 1:
            self._loss = float(roots[0].detach())
            if not math.isfinite(self._loss) and self._run.trace.nonfinite is None:
                self._run.trace.nonfinite = NonFinite(self._run.step, "the loss", str(self._loss))

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._updated = True
        self._wrap(self._run.step + 1)

    def _close_step(self) -> None:
        if not self._open:
            return
        self._open = False
        run = self._run
        if self._wrapped is None or self._wrapped <= run.step:
            self._around.close()
        run.trace.losses.append(self._loss)
        run.emit("step_ends")
        if run.trace.nonfinite is None and math.isfinite(self._loss):
            run.trace.nonfinite = run.finiteness.after_step(self._loss, closely=self._plan.look.every_step)
        run.step += 1
        self._plan.budget.over()  # a lap; the loop is not ours to end
        self._look_for_forward_passes()


@contextmanager
def watching(plan: RunPlan) -> Iterator[Run]:
    run = Run()
    run.budget = plan.budget
    with ExitStack() as stack:
        run.creation_sites = creation_sites = stack.enter_context(record_creation_sites(run.add_optimizer))
        for intervention in plan.treatment.interventions:
            run.subscribe(install(intervention, run, stack))
        run.subscribe(run.loader_batches)  # first: a backward pass may begin a step, and then batches are counted
        steps = _Steps(run, plan)
        run.subscribe(steps)
        run.finiteness = Finiteness(run)
        for signal in (LateParameters(run), run.finiteness, *make_signals(run, plan.look.signals), Clock(run, stack)):
            run.subscribe(signal)
        stack.callback(_finish, run, creation_sites)
        stack.callback(run.end)
        stack.enter_context(listening(run))
        run.emit("run_begins")
        yield run


def _finish(run: Run, creation_sites: CreationSites) -> None:
    add_places(run, creation_sites)
    if run.trace.nonfinite is None and run.trace.losses:
        run.trace.nonfinite = run.finiteness.of_state()


@contextmanager
def watch(signals: tuple[str, ...] = ("gradients", "parameters", "stale_gradients", "modules")) -> Iterator[Trace]:
    """Records whatever trains inside the block. The trace is complete when the block ends."""
    with watching(RunPlan(max_steps=0, look=Look(signals))) as run:
        yield run.trace


class WatchedProgram:
    """A test that trains by itself; a re-run runs the whole test again."""

    start = None
    repeatable = True
    why_not = ""
    remarks: tuple[str, ...] = ()

    def __init__(self, body: Callable[[], object], seed: int, first_run: Trace | None = None) -> None:
        self._body, self._seed = body, seed
        self.first_run = first_run

    @engine_frame
    def record(self, plan: RunPlan) -> Trace:
        with (
            process_settings_kept(),
            undisturbed(),
            watching(plan) as run,
        ):  # what a run switches on is off for the next
            seed_everything(self._seed + plan.seed_offset)
            try:
                if plan.wrap.timer is None:
                    self._body()
                else:
                    plan.wrap.timer.drive(self._body, 1)
            except DidNotComeBack as hung:
                hung.what = f"step {run.step}"
                run.trace.cut_short = str(hung)
            except Exception as error:
                if not plan.treatment.cures and not plan.catch_errors:
                    raise
                if run.trace.loss_connected:  # otherwise the error is backward() saying that it is not
                    message = words_of(error).partition("\n")[0]
                    run.trace.crash = Crash(type(error).__name__, message, run.step, raised_at(error.__traceback__))
        return run.trace

    def count_flops(self, plan: RunPlan) -> None:
        return None
