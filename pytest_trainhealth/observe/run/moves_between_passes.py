"""Parameters that something moved since the last backward pass.

Of `p.data -= rate * p.grad`, of an optimizer that somebody wrote, and of what LBFGS does between two calls of its
closure no hook tells, so that values are compared.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from ...tensors.function_modes import unseen
from .run import Run


class MovesBetweenPasses:
    """`of`: the parameters that are looked at; unless told, those that no optimizer of torch's holds."""

    def __init__(self, run: Run, of: Callable[[Tensor], bool] | None = None) -> None:
        self._run = run
        self._of = of or (lambda parameter: not run.held_by(parameter))
        #: With the gradients that the last pass has left.
        self._left: dict[str, tuple[Tensor, Tensor]] = {}

    @unseen
    def pass_ended(self) -> None:
        self._left = {}
        for name, parameter in self._run.parameters.items():
            grad = parameter.grad
            if self._of(parameter) and not is_lazy(parameter) and grad is not None and _has_values(grad):
                self._left[name] = (parameter.detach().clone(), grad.detach().clone())

    @unseen
    def since_then(self) -> dict[str, bool]:
        """What has moved, and whether its gradient is the one that the last pass has left."""
        found = {}
        for name, (values, gradient) in self._left.items():
            parameter = self._run.parameters[name]
            if parameter.shape == values.shape and not torch.equal(parameter.detach(), values):
                grad = parameter.grad
                found[name] = grad is not None and grad.shape == gradient.shape and torch.equal(grad.detach(), gradient)
        return found

    def left(self, name: str) -> tuple[Tensor, Tensor]:
        """The values and the gradient of a parameter when the last pass had ended."""
        return self._left[name]

    def follow_gradients(self, names: list[str]) -> bool:
        """Whether each of them went against its gradient, as plain descent goes, and nowhere else."""
        return all(self._cosine(name) <= -_AGAINST for name in names)

    def climb_gradients(self, names: list[str]) -> bool:
        """Whether each of them went along its gradient, and nowhere else."""
        return all(self._cosine(name) >= _AGAINST for name in names)

    @unseen
    def _cosine(self, name: str) -> float:
        """Between what a parameter changed by and its gradient."""
        values, gradient = self._left[name]
        change = (self._run.parameters[name].detach().double() - values.double()).flatten()
        along = gradient.double().flatten()
        both = float(change.norm() * along.norm())
        return float(change @ along) / both if both else 0.0

    def forget(self) -> None:
        self._left = {}

    @unseen
    def cleared(self) -> bool:
        return not any(_has_values(self._run.parameters[name].grad) for name in self._left)


#: The cosine between a change and the gradient, either way round. By judgement: descent has 1 but for rounding, which
#: takes up to 1e-3 where the values are large against their change.
_AGAINST = 0.99


def _has_values(grad: Tensor | None) -> bool:
    return grad is not None and grad.layout == torch.strided and bool(grad.detach().any())
