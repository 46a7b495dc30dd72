"""Parameters that an optimizer holds, that get gradients, and that its steps leave as they are.

Only those that have not moved yet are examined, which in a healthy training are none after the first step.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from ....records.wiring import LostUpdates as Record
from ...run.run import Run
from ...run.signal import Cost, Signal

#: Times the spacing of numbers around a value, by which an update has to change it. By judgement: one is the least
#: change there is, and a decaying momentum or a dampened gradient makes an update a few times smaller.
_VISIBLE = 8.0


class LostUpdates(Signal):
    NAME, COST = "lost_updates", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._before: dict[str, tuple[Tensor, int]] = {}
        #: Values before the first update of the step.
        self._at_first: dict[str, Tensor] = {}

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._before.clear()
        if not self._run.step or has_closure:
            return
        label = self._run.add_optimizer(optimizer)
        groups = {id(p): group for group in optimizer.param_groups for p in group["params"]}
        for name, record in self._run.trace.wiring.parameters.items():
            if record.moved or not record.trainable or label not in record.held_by:
                continue
            parameter = self._run.parameters[name]
            if is_lazy(parameter) or not _has_gradient(parameter) or id(parameter) not in groups:
                continue
            lost = record.lost = record.lost or Record()
            group = groups[id(parameter)]
            lost.count += 1
            lost.rate = max(lost.rate, float(group.get("lr", 1.0)))
            lost.initial_rate = float(group["initial_lr"]) if "initial_lr" in group else lost.initial_rate
            lost.too_small = _is_too_small(parameter, lost.rate)
            lost.constant = bool((parameter.detach() == parameter.detach().flatten()[0]).all())
            self._before[name] = (parameter.detach().clone(), parameter._version)
            self._at_first.setdefault(name, self._before[name][0])

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        for name, (values, version) in self._before.items():
            parameter, lost = self._run.parameters[name], self._run.trace.wiring.parameters[name].lost
            assert lost is not None
            lost.written = lost.written or parameter._version != version
            lost.changed = lost.changed or not torch.equal(parameter.detach(), values)
        self._before.clear()

    def step_ends(self) -> None:
        """Whether it moved after all is seen at every step; elsewhere, only at sampled ones."""
        for name, values in self._at_first.items():
            if not torch.equal(self._run.parameters[name].detach(), values):
                self._run.trace.wiring.parameters[name].moved = True
        self._at_first.clear()


def _has_gradient(parameter: Tensor) -> bool:
    grad = parameter.grad
    return grad is not None and (grad.layout != torch.strided or bool(grad.detach().any()))


def _is_too_small(parameter: Tensor, rate: float) -> bool:
    """Whether plain descent would change none of the values, in their type of number.

    A bias before a BatchNorm has a gradient that is nothing but rounding, and rightly stays where it is.
    """
    assert parameter.grad is not None
    if not parameter.is_floating_point() or parameter.grad.layout != torch.strided or not rate:
        return False
    values, spacing = parameter.detach(), torch.finfo(parameter.dtype).eps
    return not bool((rate * parameter.grad.detach().abs() > _VISIBLE * spacing * values.abs()).any())
