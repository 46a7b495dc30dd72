"""Turns what a watched loop does into steps, as signals expect them.

The loop is not ours. So a step begins with the first call of a module that has parameters, or with a backward pass, and
ends before the first such call after an update. Its loss is what `backward()` was called on last; without
`backward()`, what `torch.autograd.grad()` was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch._C._functorch import get_unwrapped, is_functorch_wrapped_tensor
from torch.optim import Optimizer

from ..observe.run.events import Listener
from ..observe.run.reading import Reading
from ..observe.run.run import Run
from ..observe.run.sampling import is_sampled
from ..observe.run.seen_losses import running_line, value_of
from ..observe.run.trained_modules import TrainedModules
from ..observe.source.module_calls import Watching, before_call
from ..records.numbers import NonFinite
from ..tensors.batches import batch_size
from ..tensors.function_modes import inside_transform
from .plan import RunPlan

#: Steps at which everything is looked for. By judgement: 3, as the first two may be special cases.
_FIRST = 3

#: With the module that is called, and its inputs.
BeginsAnew = Callable[[nn.Module, Any], bool]


class WatchedSteps(Listener):
    """`begins_anew`: asked before a step begins with a call of this module; True if another run takes over with it."""

    ONLY_LOOKS = True

    def __init__(self, run: Run, plan: RunPlan, trained: TrainedModules, begins_anew: BeginsAnew) -> None:
        self._run, self._plan, self._trained, self._begins_anew = run, plan, trained, begins_anew
        self._around = ExitStack()
        self._open = False
        self._updated = False
        self._backward = False
        self._handle: Watching | None = None
        #: What `backward()` was called on in this step, by line: several losses may have a pass each.
        self._losses: dict[object, float] = {}
        self._loss: float | None = None
        #: When the first pass had been made, as the creation of objects is counted.
        self.first_pass: int | None = None
        #: Whether any backward pass was seen at all. If not, `torch.autograd.grad()` stands for it.
        self._by_backward = False
        #: The optimizers that were stepped in this step, if it began with an update.
        self._stepped: set[int] = set()
        #: A pass came without the call of a module before it: the loss is computed by functions. The next forward pass
        #: is seen only if its step begins as soon as all optimizers have been stepped.
        self._calls_nothing = False
        self._called = False
        self._waiting: set[str] = set()
        #: Whether a model or an optimizer was made since the latest step.
        self._made = False
        #: Modules that were seen to have no parameters.
        self._plain: set[int] = set()
        #: The step that something is wrapped around, beginning at the end of the step before it.
        self._wrapped: int | None = None

    def run_begins(self) -> None:
        self._look_for_forward_passes()
        self._wrap(0)

    def run_ends(self) -> None:
        if self._open and not self._updated and not self._backward:
            self._around.close()  # nothing was learnt in it: an evaluation with gradients
            self._open = False
        self._close_step()
        self._stop_looking()

    # -- forward passes ----------------------------------------------------------------------------------------------

    @property
    def _looks(self) -> bool:
        step, always = self._run.step, self._plan.look.every_step or self._plan.look.from_forward
        return always or self._made or step < _FIRST or is_sampled(step) or is_sampled(step + 1)

    def look_again(self) -> None:
        """A model or an optimizer was made: the next step may be its first."""
        self._made = True
        self._look_for_forward_passes()

    def _look_for_forward_passes(self) -> None:
        """A hook on every module call costs too much for every step; only the sampled steps need it."""
        if self._looks:
            self._handle = self._handle or before_call(self._module_called)
        else:
            self._stop_looking()

    def _stop_looking(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _module_called(self, module: nn.Module, inputs: Any) -> None:
        if self._run.emitting:
            return  # a listener calls the model once more: that begins no step of the loop
        with Reading(self._run, self):
            self.forward_begins(module, inputs)

    def forward_begins(self, module: nn.Module, inputs: Any) -> None:
        running = self._open and not self._over
        if running and self._trained.knows(module):
            self._called = True
            return
        if not torch.is_grad_enabled() or inside_transform() or not self._has_parameters(module):
            return
        if self._run.loader_batches.fetching and not self._trained.knows(module):
            self._trained.belongs_to_a_loader(module)
            return
        self._called = True
        if running:
            self._trained.called(module)
            return
        if not self._trained.knows(module) and self._begins_anew(module, inputs):
            return
        self._trained.called(module)
        self._close_step()
        if self._run.trace.batch_size is None:
            # the first input decides: a hidden state passed along with it may have its samples in another dimension
            self._run.trace.batch_size = batch_size(inputs[:1]) or batch_size(inputs)
        self._begin_step(inputs)

    def _has_parameters(self, module: nn.Module) -> bool:
        """A `Normalize` or `RandomCrop` that a loader calls for every sample begins no step."""
        if id(module) in self._plain:
            return False
        if any(True for _ in module.parameters()) or self._trained.knows(module):
            return True
        self._plain.add(id(module))
        return False

    # -- steps -------------------------------------------------------------------------------------------------------

    def _begin_step(self, batch: Any) -> None:
        self._open, self._updated, self._backward = True, False, False
        self._calls_nothing, self._waiting = False, set(self._run.optimizers)
        self._losses.clear()
        self._stepped.clear()
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

    @property
    def is_over(self) -> bool:
        """The latest step has had its update, and nothing of the next has been seen."""
        return self._open and self._updated

    def backward_ends(self) -> None:
        self._backward = True
        if self.first_pass is None and self._run.creation_sites is not None:
            self.first_pass = self._run.creation_sites.now

    def backward_begins(self, roots: list[Tensor]) -> None:
        if self._looks:
            self._trained.look_at_loss(roots)
        self._by_backward = True
        self._pass_begins(roots)

    def _pass_begins(self, roots: Sequence[Tensor]) -> None:
        line, unseen = running_line(), self._handle is not None and not self._called
        # before the first update, a pass from another line belongs to the same step: another loss of it
        if self._over and (self._updated or line in self._losses):
            self._close_step()
        if not self._open:
            self._begin_step(None)
            self._calls_nothing = unseen
        value = value_of(roots)
        if value is not None:
            self._losses[line] = value
            self._loss = sum(self._losses.values())
            if not math.isfinite(self._loss) and self._run.trace.nonfinite is None:
                self._run.trace.nonfinite = NonFinite(self._run.step, "the loss", str(self._loss))

    def derivatives_taken(
        self, roots: Sequence[Tensor], inputs: Sequence[Tensor], derivatives: Sequence[object]
    ) -> None:
        """Of a loss with regard to parameters, where `backward()` is never called."""
        if self._by_backward or len(roots) != 1 or not isinstance(roots[0], Tensor) or roots[0].numel() != 1:
            return
        if is_functorch_wrapped_tensor(roots[0]):
            inside = get_unwrapped(roots[0])
            if is_functorch_wrapped_tensor(inside):
                return  # within another transform a tensor stands for many
            self._run.trace.wiring.trains_unknown = True
            self._pass_begins([inside])
        elif any(self._run.has_parameter(each) or isinstance(each, nn.Parameter) for each in inputs):
            self._trained.look_at_leaves(inputs)
            self._pass_begins(roots)
        else:
            return
        self.backward_ends()

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        """Of gradients that were seen being computed by nobody: then an update is all that there is of a step."""
        if self._looks:
            self._trained.look_at_optimizers()
        if self._open and not (self._stepped and id(optimizer) in self._stepped):
            return
        self._close_step()
        self._begin_step(None)
        self._stepped = {id(optimizer)}

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._updated, self._called = True, False
        self._waiting.discard(self._run.add_optimizer(optimizer))
        self._wrap(self._run.step + 1)
        if self._calls_nothing and not self._waiting:
            self._close_step()
            self._begin_step(None)
            self._calls_nothing = True

    def _close_step(self) -> None:
        if not self._open:
            return
        self._open = False
        run = self._run
        if self._wrapped is None or self._wrapped <= run.step:
            self._around.close()
        loss = self._loss
        if loss is not None and not run.trace.loss_seen:
            # a step without a pass has the loss of the one before; those before the first pass have the first
            run.trace.losses[:] = [loss] * len(run.trace.losses)
        run.trace.loss_seen = loss is not None
        run.trace.losses.append(math.nan if loss is None else loss)
        run.emit("step_ends")
        if run.trace.nonfinite is None and (loss is None or math.isfinite(loss)):
            run.trace.nonfinite = run.finiteness.after_step(
                0.0 if loss is None else loss, closely=self._plan.look.every_step
            )
        run.step += 1
        self._plan.budget.over()  # a lap; the loop is not ours to end
        self._made = False
        self._look_for_forward_passes()
