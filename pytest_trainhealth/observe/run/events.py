"""The events of a run that can be listened to: their names, when each comes, and its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor, nn
from torch.optim import Optimizer


class Listener:
    """Base of everything that follows a run: signals, interventions, clocks. Override the events that you need.

    Only overridden methods are called, so an event that nobody needs costs nothing. A method whose name is not an event
    would never be called: tests/contract/test_listeners.py reports it as a spelling mistake.

    `ONLY_LOOKS`: it changes nothing, so that the training goes on without it if it cannot read what it is given.
    """

    ONLY_LOOKS: ClassVar[bool] = False

    def run_begins(self) -> None:
        """Once, with all hooks in place and before the first step."""

    def step_begins(self, batch: object) -> None:
        """Before each step, with its batch; in a watched test, the inputs of the first model called, or None."""

    def step_ends(self) -> None:
        """After each step, when its loss is in the trace."""

    def backward_begins(self, roots: list[Tensor]) -> None:
        """Before each backward pass, with the tensors it starts from: usually only the loss."""

    def backward_ends(self) -> None:
        """After each backward pass, when the gradients are available; not after one that raised."""

    def derivatives_taken(
        self, roots: Sequence[Tensor], inputs: Sequence[Tensor], derivatives: Sequence[object]
    ) -> None:
        """After `torch.autograd.grad()`: what it returned for each of its inputs, None where nothing leads there."""

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        """Before each `optimizer.step()`; if it calls a closure for its gradients, once that is done.

        `has_closure`: an optimizer that may call one several times (LBFGS). Gradients seen here are old.
        """

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        """After each `optimizer.step()`, when the parameters have moved."""

    def update_skipped(self, optimizer: Optimizer) -> None:
        """A loss scaler did not step this optimizer because it found gradients that are not finite."""

    def gradients_clearing(self, holder: Optimizer | nn.Module) -> None:
        """Before `zero_grad()` of an optimizer or a module does its work; not if a cure prevents it from doing so."""

    def gradients_cleared(self, holder: Optimizer | nn.Module) -> None:
        """After `zero_grad()` of an optimizer or a module."""

    def run_ends(self) -> None:
        """Once, also after an error: hooks and patches are removed here."""


#: The names of all events above.
EVENTS: tuple[str, ...] = tuple(name for name in vars(Listener) if name.islower() and not name.startswith("_"))
