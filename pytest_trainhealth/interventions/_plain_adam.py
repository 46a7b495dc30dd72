"""Adam with one rate and default settings in the place of every optimizer: the optimizer of the reference recipe.

The user's own optimizer still steps, so that its schedules and the loop go on as before; what it did to the parameters
is undone, and the step of Adam is taken from the gradients that it had. Where no optimizer of torch's steps at all, but
parameters move between two backward passes, somebody else's optimizer or the loop itself moves them: that is undone at
the end of the step.
"""

from __future__ import annotations

from contextlib import ExitStack

import torch
from torch import Tensor
from torch.optim import Adam, Optimizer

from ..observe.run.events import Listener
from ..observe.run.moves_between_passes import MovesBetweenPasses
from ..observe.run.run import Run


class PlainAdam(Listener):
    def __init__(self, run: Run, stack: ExitStack, rate: float = 1e-3) -> None:
        self._run, self._rate = run, rate
        self._stand_ins: dict[int, Adam] = {}
        self._before: dict[int, list[tuple[Tensor, Tensor, Tensor | None]]] = {}
        self._by_hand: MovesBetweenPasses | None = MovesBetweenPasses(run, of=lambda parameter: parameter.requires_grad)
        #: For what no optimizer of torch's moves.
        self._own: Adam | None = None

    def backward_ends(self) -> None:
        if self._by_hand is not None:
            self._by_hand.pass_ended()

    def step_ends(self) -> None:
        if self._by_hand is None:
            return
        moved = [(self._run.parameters[name], *self._by_hand.left(name)) for name in self._by_hand.since_then()]
        self._by_hand.forget()
        if not moved:
            return
        with torch._C.DisableTorchFunction():
            theirs = [(parameter, parameter.grad) for parameter, _, _ in moved]
            with torch.no_grad():
                for parameter, value, gradient in moved:
                    parameter.copy_(value)
                    parameter.grad = gradient
            self._own = self._own or Adam([moved[0][0]], lr=self._rate)
            _also(self._own, [parameter for parameter, _, _ in moved])
            self._own.step()
            for parameter, grad in theirs:
                parameter.grad = grad

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if optimizer is self._own:
            return
        self._by_hand = None
        if id(optimizer) in map(id, self._stand_ins.values()):
            return
        if has_closure:  # its gradients are computed inside its step
            self._run.trace.applied.without_effect.append("plain_adam")
            return
        held = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
        self._before[id(optimizer)] = [(p, p.detach().clone(), _copy(p.grad)) for p in held]

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        before = self._before.pop(id(optimizer), None)
        if before is None:
            return
        climbs = bool(optimizer.param_groups[0].get("maximize"))
        with torch._C.DisableTorchFunction():  # no part of the user's step, whatever looks at that or changes it
            with torch.no_grad():
                for parameter, value, gradient in before:
                    parameter.copy_(value)
                    parameter.grad = gradient
            self._stand_in(optimizer, [p for p, _, _ in before], climbs).step()

    def _stand_in(self, optimizer: Optimizer, parameters: list[Tensor], climbs: bool) -> Adam:
        known = self._stand_ins.get(id(optimizer))
        if known is None:
            unique = list({id(p): p for p in parameters}.values())
            known = self._stand_ins[id(optimizer)] = Adam(unique, lr=self._rate, maximize=climbs)
        _also(known, parameters)
        return known


def _also(adam: Adam, parameters: list[Tensor]) -> None:
    held = {id(p) for p in adam.param_groups[0]["params"]}
    adam.param_groups[0]["params"] += [p for p in parameters if id(p) not in held]


def _copy(gradient: Tensor | None) -> Tensor | None:
    """Dense: Adam takes no sparse gradients."""
    if gradient is None:
        return None
    return (gradient.to_dense() if gradient.layout != torch.strided else gradient).detach().clone()
