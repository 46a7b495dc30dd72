"""What may be listened to in a run: the events by name, when each comes, and what it is told with."""

from __future__ import annotations

from torch import Tensor, nn
from torch.optim import Optimizer


class Listener:
    """Base of whatever follows a run: signals, interventions, clocks. Override the events that you need.

    Only overridden methods are called, so an event that nobody needs costs nothing; and a method whose name is no event
    would never be called, which tests/contract/test_listeners.py takes for the spelling mistake that it is.
    """

    def run_begins(self) -> None:
        """Once, with all hooks in place and before the first step."""

    def step_begins(self, batch: object) -> None:
        """Before each step, with its batch; in a watched test with what its first model is called with, or None."""

    def step_ends(self) -> None:
        """After each step, when its loss is in the trace."""

    def backward_begins(self, roots: list[Tensor]) -> None:
        """Before each backward pass, with the tensors it starts from: as a rule the loss alone."""

    def backward_ends(self) -> None:
        """After each backward pass, when the gradients are there; not after one that raised."""

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        """Before each `optimizer.step()`. With a closure, gradients are computed inside of it: these are old ones."""

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        """After each `optimizer.step()`, when the parameters have moved."""

    def update_skipped(self, optimizer: Optimizer) -> None:
        """A loss scaler did not step this optimizer, having found gradients that are not finite."""

    def gradients_clearing(self, holder: Optimizer | nn.Module) -> None:
        """Before `zero_grad()` of an optimizer or a module does its work; not where a cure keeps it from that."""

    def gradients_cleared(self, holder: Optimizer | nn.Module) -> None:
        """After `zero_grad()` of an optimizer or a module."""

    def run_ends(self) -> None:
        """Once, also after an error: whatever was hooked or patched is taken off here."""


#: All of the above, by name.
EVENTS: tuple[str, ...] = tuple(name for name in vars(Listener) if not name.startswith("_"))
