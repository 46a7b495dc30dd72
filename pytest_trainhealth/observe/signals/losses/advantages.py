"""Log-probabilities weighted by what a critic's error is: does the weight rise or fall with the critic's own estimate?

An actor makes an action likelier by what its return is above the critic's estimate: the weight is return - value. The
critic does not mind whether that is squared as it is or turned round, but the actor does. Recognised by derivatives
alone: the weight is a detached copy of a tensor that falls or rises with an output of a layer with one unit, and that
the rest of the loss pulls to 0. Costs have the opposite sign: what it means, other figures have to show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ....records.losses import TurnedAdvantage
from ....records.verdict import Place
from ...calls.torch_calls import Call, CallSignal
from ...run.run import Run
from ...run.signal import Cost
from ...source.places import user_place

#: Values of a weight. By judgement: fewer may all be below 0, or alike, by chance.
_FEWEST = 8
#: The cosine between an error and its gradient. 1.0 where its square is the loss. By judgement: a Huber loss is above.
_PULLED_TO_0 = 0.9
#: Relatively, between the figure that a step returns and the loss that its backward pass begins with. By judgement:
#: float32 has six digits, and a printed figure three.
_ANOTHER = 1e-2


@dataclass
class _Weighted:
    product: Tensor
    #: What the weight was detached from.
    error: Tensor
    place: Place | None


class Advantages(CallSignal):
    NAME, COST = "advantages", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        #: By id: the detached copy, which is kept so that its id is not reused, and the tensor with the graph.
        self._detached: dict[int, tuple[Tensor, Tensor]] = {}
        self._heads: list[Tensor] = []
        self._weighted: list[_Weighted] = []
        self._found: TurnedAdvantage | None = None
        self._loss = math.nan

    def called(self, call: Call) -> None:
        first, result = call.args[0], call.result
        if call.error is not None or not isinstance(result, Tensor):
            return
        if call.name == "detach" and first.requires_grad and first.numel() >= _FEWEST:
            self._detached[id(result)] = (result, first)
        elif call.name == "linear" and result.requires_grad and result.shape[-1:] == (1,):
            self._heads.append(result)
        elif call.name == "mul" and len(call.args) > 1 and isinstance(call.args[1], Tensor):
            self._note(first, call.args[1], result)

    def _note(self, one: Tensor, other: Tensor, product: Tensor) -> None:
        for chances, weight in ((one, other), (other, one)):
            kept = self._detached.get(id(weight))
            if kept is None or not chances.requires_grad or chances.numel() != weight.numel():
                continue
            if float(chances.detach().max()) <= 0:
                self._weighted.append(_Weighted(product, kept[1], user_place()))

    def backward_begins(self, roots: list[Tensor]) -> None:  # type: ignore[override]
        super().backward_begins(roots)
        if len(roots) != 1 or roots[0].numel() != 1 or not self._weighted or not self._heads:
            return
        try:
            turned = next((each for each in self._weighted if self._is_turned(roots[0], each)), None)
        except RuntimeError:  # a graph that was freed, or cannot be traversed twice
            return
        if turned is not None:
            self._found, self._loss = TurnedAdvantage(self._run.step, turned.place), float(roots[0].detach())

    def _is_turned(self, root: Tensor, each: _Weighted) -> bool:
        slope, pull = torch.autograd.grad(root, [each.product, each.error], retain_graph=True, allow_unused=True)
        if slope is None or pull is None or float(slope.max()) >= 0:
            return False
        error = each.error.detach()
        size = float(error.norm()) * float(pull.norm())
        if not size or float((error * pull).sum()) < _PULLED_TO_0 * size:
            return False
        rises = torch.autograd.grad(each.error.sum(), self._heads, retain_graph=True, allow_unused=True)
        known = [found for found in rises if found is not None and bool(found.any())]
        return bool(known) and all(float(found.min()) > 0 for found in known)

    def step_ends(self) -> None:
        super().step_ends()
        losses = self._run.trace.losses
        if self._found is not None and losses:
            self._found.other_figure = abs(losses[-1] - self._loss) > _ANOTHER * max(abs(self._loss), abs(losses[-1]))
            self._run.trace.loss.turned_advantages.append(self._found)
        self._found, self._detached = None, {}
        self._heads, self._weighted = [], []
