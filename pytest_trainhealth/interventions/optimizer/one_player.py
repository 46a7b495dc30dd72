"""One of several optimizers learns and the others hold still; the losses of its own turns are noted."""

from __future__ import annotations

from contextlib import ExitStack

from torch import Tensor
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class OnePlayer(Listener):
    """The loss of a turn is the sum of what backward passes started from since the last update, whosever that was."""

    def __init__(self, run: Run, stack: ExitStack, player: str) -> None:
        self._run, self._player = run, player
        self._losses: list[Tensor] = []
        self._set_aside: list[tuple[Tensor, Tensor]] = []

    def backward_begins(self, roots: list[Tensor]) -> None:
        self._losses += [root.detach().sum() for root in roots]

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if self._run.optimizers.get(self._player) is optimizer:
            return
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._set_aside.append((parameter, parameter.grad))
                    parameter.grad = None

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        for parameter, gradient in self._set_aside:
            parameter.grad = gradient
        self._set_aside.clear()
        if self._run.optimizers.get(self._player) is optimizer and self._losses:
            self._run.trace.applied.player_losses.append(sum(float(loss) for loss in self._losses))
        self._losses.clear()
