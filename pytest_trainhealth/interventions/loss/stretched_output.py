"""What the loss compares with its target is first stretched and shifted, by factors that are learnt.

If that heals a training, its output could not reach the targets: it comes straight out of a bounded function, which may
sit inside a layer (an LSTM's hidden state lies between -1 and 1).
"""

from __future__ import annotations

from contextlib import ExitStack

import torch
from torch import Tensor
from torch.optim import Optimizer

from ...observe.calls.functions import COMPARING
from ...observe.calls.torch_calls import Call
from ...observe.run.run import Run
from .._at_the_loss import AtTheLoss

#: How much faster the factors learn than the weights do: a scale has to move by 1 and more, a weight by a hundredth.
#: By judgement.
_FASTER = 10.0


class StretchedOutput(AtTheLoss):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        super().__init__(run, stack, "")
        self._run = run
        self._factors: dict[int, tuple[Tensor, Tensor]] = {}
        self._taught: set[int] = set()

    def before(self, call: Call) -> None:
        if call.name not in COMPARING or len(call.args) < 2 or not isinstance(call.args[1], Tensor):
            return
        output, target = call.args[0], call.args[1]
        if not output.requires_grad or target.requires_grad or not output.is_floating_point() or not output.ndim:
            return
        stretch, shift = self._of(output)
        call.args = (output * (1 + _FASTER * stretch) + _FASTER * shift, *call.args[1:])

    def _of(self, output: Tensor) -> tuple[Tensor, Tensor]:
        width = output.shape[-1]
        if width not in self._factors:
            new = (torch.zeros(width, device=output.device, dtype=output.dtype) for _ in range(2))
            stretch, shift = (each.requires_grad_(True) for each in new)
            self._factors[width] = (stretch, shift)
        return self._factors[width]

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        for width, factors in self._factors.items():
            if width not in self._taught:
                self._taught.add(width)
                optimizer.param_groups[0]["params"].extend(factors)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        for factors in self._factors.values():
            for factor in factors:
                factor.grad = None
