"""Whether an optimizer steps with gradients that another's backward pass left on its parameters.

The generator's pass goes through the discriminator, and leaves there how to be fooled. Where nothing clears that before
the discriminator's own pass, it follows the sum of both. What a later part gets from the pass of an earlier one is no
gradient of its own loss; what an earlier part (a trunk) gets from the passes of several later ones may be meant to add
up, and so may passes that say the same: those that train both parts. A pass of its own, which ends before the earlier
part, as a discriminator's does at samples that are detached, is about something else, however alike the two may be at
first: an undecided discriminator is pulled the same way by both.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from ...run.run import Run
from ...run.signal import Cost, Signal

#: Steps that are looked at, each at the cost of a copy of the gradients. By judgement: 6, of which two are enough to
#: conclude (analysis/wiring.py).
_STEPS = 6
#: The cosine between what was left and the optimizer's own. Of two discriminators at their first steps: -0.60 to 0.18.
#: By judgement: two passes of the same loss agree in more than half.
_ANOTHER_LOSS = 0.5
#: Of the gradient of its own pass. By judgement: less than a hundredth does nothing to it.
_WORTH_MENTIONING = 0.01

Left = list[tuple[Tensor, Tensor]]
Hook = Callable[[Tensor], None]


class LeakedGradients(Signal):
    NAME, COST = "leaked_gradients", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        #: By the optimizer: whose update came after the pass that left them, and parameters with those gradients.
        self._left: dict[int, tuple[Optimizer, Left]] = {}
        #: Those that had another pass since, and all optimizers that it came to.
        self._another_pass: dict[int, set[int]] = {}
        #: Optimizers without gradients when the last backward pass began, and in which order it came to each.
        self._clear_before: set[int] = set()
        self._reached: list[int] = []
        self._hooks: list[RemovableHandle] = []

    def backward_begins(self, roots: object) -> None:
        if len(self._run.optimizers) < 2 or self._run.step >= _STEPS:
            return
        self._clear_before = {id(each) for each in self._run.optimizers.values() if _is_clear(each)}
        for key, (_, left) in list(self._left.items()):
            if key in self._clear_before:
                del self._left[key]  # as it should be
                self._another_pass.pop(key, None)
            elif all(p.grad is not None and torch.equal(p.grad, gradient) for p, gradient in left):
                self._another_pass.setdefault(key, set())
        self._reached = []
        self._unhook()
        for optimizer in self._run.optimizers.values():
            for parameter in _held(optimizer):
                if parameter.requires_grad and parameter.is_leaf:
                    hook = parameter.register_post_accumulate_grad_hook(self._looking(self._reaches(id(optimizer))))  # type: ignore[no-untyped-call]
                    self._hooks.append(hook)

    def _reaches(self, key: int) -> Hook:
        def note(parameter: Tensor) -> None:
            if key not in self._reached:
                self._reached.append(key)

        return note

    def backward_ends(self) -> None:
        self._unhook()
        for key, others in self._another_pass.items():
            others.update(self._reached if key in self._reached else ())

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        giver, left = self._left.pop(id(optimizer), (optimizer, []))
        reached = self._another_pass.get(id(optimizer))
        if not left or not reached:
            return
        leaked = torch.cat([gradient.flatten() for _, gradient in left])
        own = torch.cat([(p.grad - gradient).flatten() for p, gradient in left if p.grad is not None])
        if len(own) != len(leaked) or not bool(own.any()):
            return
        its_own = id(giver) not in reached and float(leaked.norm() / own.norm()) > _WORTH_MENTIONING
        if its_own or float(torch.nn.functional.cosine_similarity(own, leaked, dim=0)) < _ANOTHER_LOSS:
            leaks = self._run.trace.wiring.leaked_gradients.setdefault(self._run.add_optimizer(optimizer), {})
            leaks[self._run.step] = self._run.add_optimizer(giver)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._left.pop(id(optimizer), None)
        self._another_pass.pop(id(optimizer), None)
        if len(self._run.optimizers) < 2 or self._run.step >= _STEPS:
            return
        used = {id(p) for p in _held(optimizer)}
        for other in self._run.optimizers.values():
            if id(other) in self._left or not self._came_through(other, optimizer):
                continue
            held = [p for p in _held(other) if id(p) not in used]
            left = [(p, p.grad.detach().clone()) for p in held if p.grad is not None and p.grad.is_floating_point()]
            if any(bool(gradient.any()) for _, gradient in left):
                self._left[id(other)] = (optimizer, left)

    def _came_through(self, other: Optimizer, optimizer: Optimizer) -> bool:
        """On its way back the last pass came to `other` first, which had no gradients before."""
        order = [key for key in self._reached if key in (id(other), id(optimizer))]
        return order == [id(other), id(optimizer)] and id(other) in self._clear_before

    def run_ends(self) -> None:
        self._unhook()
        self._left.clear()

    def _unhook(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()


def _held(optimizer: Optimizer) -> list[Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _is_clear(optimizer: Optimizer) -> bool:
    return not any(p.grad is not None and bool(p.grad.any()) for p in _held(optimizer))
