"""Follows the factor of a loss scaler (`torch.amp.GradScaler`) from the loss to the optimizer.

The scaler multiplies the loss by a large factor, and `unscale_()` (which `scaler.step()` calls by itself) takes it out
of the gradients again. Both signals and cures need to know whether an optimizer gets the gradients without the factor.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.amp.grad_scaler import GradScaler
from torch.optim import Optimizer

#: Operations between the scaled loss and the tensor that backward() is called on. By judgement: a division by the
#: number of passes, and one or two changes of shape.
_DEEP = 4
#: A smaller factor is none. By judgement: scalers start at 65,536, and halve it when gradients overflow.
_SMALLEST = 2.0


@dataclass
class _Held:
    """What became of the gradients that one optimizer holds."""

    optimizer: Optimizer
    #: The factor by which backward passes multiplied them, and whether it was taken out again.
    scale: float = 1.0
    unscaled_by: float = 1.0
    plain_pass: bool = False
    before: tuple[Any, ...] = ()


class LossScale:
    """Tell it of each backward pass, clearing and update."""

    def __init__(self, optimizers: Callable[[], list[Optimizer]]) -> None:
        self._optimizers = optimizers
        self._held: dict[int, _Held] = {}
        #: Nodes of the graph at which a scaler multiplied a loss, kept so that their ids are not reused.
        self._scaled: dict[int, tuple[Any, float]] = {}
        self._pass = 1.0

    def listen(self, stack: ExitStack) -> None:
        scale, unscale = GradScaler.scale, GradScaler.unscale_

        def scaling(scaler: GradScaler, outputs: Any) -> Any:
            result = scale(scaler, outputs)
            if scaler.is_enabled() and isinstance(result, Tensor) and result.grad_fn is not None:
                self._scaled[id(result.grad_fn)] = (result.grad_fn, scaler.get_scale())
            return result

        def unscaling(scaler: GradScaler, optimizer: Optimizer) -> None:
            unscale(scaler, optimizer)
            if scaler.is_enabled():
                self._of(optimizer).unscaled_by *= scaler.get_scale()

        stack.callback(setattr, GradScaler, "scale", scale)
        stack.callback(setattr, GradScaler, "unscale_", unscale)
        GradScaler.scale, GradScaler.unscale_ = scaling, unscaling  # type: ignore[method-assign, assignment]

    @property
    def in_use(self) -> bool:
        """A loss has been scaled, or gradients unscaled: nobody else has to pay for this."""
        return bool(self._scaled) or bool(self._held)

    def pass_begins(self, roots: list[Tensor]) -> None:
        if not self.in_use:
            return
        self._pass = max((self._factor(root) for root in roots), default=1.0)
        for optimizer in self._optimizers():
            self._of(optimizer).before = _versions(optimizer)

    def pass_ends(self) -> None:
        for held in self._held.values():
            if held.before != _versions(held.optimizer):
                held.scale = max(held.scale, self._pass)
                held.plain_pass = held.plain_pass or self._pass < _SMALLEST

    def cleared(self) -> None:
        for key, held in list(self._held.items()):
            if all(p.grad is None or not p.grad.any() for p in _parameters(held.optimizer)):
                self._held[key] = _Held(held.optimizer)

    def factor(self, optimizer: Optimizer) -> float:
        """By which its gradients are too large (above 1) or too small, as far as the scaler's calls go.

        A fused optimizer takes the factor out itself, inside the scaler's step.
        """
        held = self._held.get(id(optimizer))
        if held is None or getattr(optimizer, "grad_scale", None) is not None:
            return 1.0
        if held.scale >= _SMALLEST and held.unscaled_by < _SMALLEST:
            return held.scale
        never_scaled = held.plain_pass and held.scale < _SMALLEST
        return 1 / held.unscaled_by if never_scaled and held.unscaled_by >= _SMALLEST else 1.0

    def updated(self, optimizer: Optimizer) -> None:
        if id(optimizer) in self._held:
            self._of(optimizer).unscaled_by = 1.0

    def step_over(self) -> None:
        """The graphs of this step are gone."""
        self._scaled.clear()

    def _of(self, optimizer: Optimizer) -> _Held:
        return self._held.setdefault(id(optimizer), _Held(optimizer))

    def _factor(self, root: Tensor) -> float:
        """Of a loss that the scaler multiplied, or the user by hand with the scaler's factor."""
        largest, node = 1.0, root.grad_fn
        for _ in range(_DEEP):
            if node is None:
                break
            if id(node) in self._scaled:
                return self._scaled[id(node)][1]
            other: Any = getattr(node, "_saved_other", None) if type(node).__name__ == "MulBackward0" else None
            if isinstance(other, Tensor) and other.numel() == 1:
                largest = max(largest, abs(float(other)))
            inner = [each for each, _ in node.next_functions if each is not None]
            node = inner[0] if len(inner) == 1 else None
        return largest


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _versions(optimizer: Optimizer) -> tuple[Any, ...]:
    return tuple(None if p.grad is None else (id(p.grad), p.grad._version) for p in _parameters(optimizer))
