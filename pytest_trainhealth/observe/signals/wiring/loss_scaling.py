"""Whether optimizers step with gradients that a loss scaler's factor is still in, or was taken out of for nothing."""

from __future__ import annotations

import math
from contextlib import ExitStack

from torch import Tensor
from torch.optim import Optimizer

from ....records.wiring import WronglyScaled
from ....tensors.norms import norms
from ...calls.loss_scale import LossScale
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place

#: Steps that are examined. By judgement: a loop that mixes up its scaler does so at every step.
_STEPS = 8
#: Of the factor, and no less, is still in the gradients: code of one's own may have divided by it. By judgement: a
#: clip may take half.
_MOST_OF_IT = 0.5


class LossScaling(Signal):
    NAME, COST = "loss_scaling", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._patched = ExitStack()
        self._scale = LossScale(lambda: list(run.optimizers.values()))
        self._after_backward: dict[int, float] = {}

    def run_begins(self) -> None:
        self._scale.listen(self._patched)

    def run_ends(self) -> None:
        self._patched.close()

    def backward_begins(self, roots: list[Tensor]) -> None:
        if self._looks:
            self._scale.pass_begins(roots)

    def backward_ends(self) -> None:
        if self._looks and self._scale.in_use:
            self._scale.pass_ends()
            self._after_backward = {id(o): _norm(o) for o in self._run.optimizers.values()}

    def gradients_cleared(self, holder: object) -> None:
        if self._looks:
            self._scale.cleared()

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        factor = self._scale.factor(optimizer) if self._looks and not has_closure else 1.0
        before = self._after_backward.get(id(optimizer), 0.0)
        if factor == 1 or not 0 < before < math.inf:
            return
        now = _norm(optimizer)
        still = now > _MOST_OF_IT * before if factor > 1 else now < before * factor / _MOST_OF_IT
        if still and math.isfinite(now):
            label = self._run.add_optimizer(optimizer)
            found = WronglyScaled(self._run.step, label, factor, now, user_place())
            self._run.trace.wiring.wrongly_scaled.append(found)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._scale.updated(optimizer)

    def step_ends(self) -> None:
        self._scale.step_over()
        if self._run.step == _STEPS:
            self._patched.close()

    @property
    def _looks(self) -> bool:
        return self._run.step < _STEPS


def _norm(optimizer: Optimizer) -> float:
    grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    return math.hypot(*norms([g for g in grads if not g.is_sparse]))
