"""Gradient norms as the optimizer sees them, and whether gradients survive from backward() to step()."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor
from torch.optim import Optimizer

from ....records.wiring import ParameterRecord
from ....tensors.function_modes import unseen
from ....tensors.norms import norms, root_mean_square
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place

#: Steps at which gradients are also measured right after backward(). By judgement: 2, as code that clears gradients too
#: early does so at each step.
_CLOSE = 2


class Gradients(Signal):
    NAME, COST = "gradients", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._measured: set[str] = set()
        #: Parameters not yet seen with a gradient: they are checked at every step, not only at the sampled ones.
        self._awaited: set[str] = set()
        self._known = 0
        self._looks = True
        self._fresh = False
        #: Of parameters that no optimizer of torch's holds: what a pass has left. Whoever steps with it may clear it.
        self._passed: dict[str, float] = {}
        self._by_backward = False

    def looks_on(self) -> bool:
        """Whether this step is measured in full."""
        return self._run.sampled

    def step_begins(self, batch: object) -> None:
        known = self._run.trace.wiring.parameters
        if self._awaited or len(known) > self._known or self._run.step < 2:
            self._awaited = {n for n, p in known.items() if p.trainable and not p.has_gradient}
            self._known = len(known)
        self._measured.clear()
        self._passed.clear()
        self._looks = self.looks_on()

    def backward_ends(self) -> None:
        self._fresh = self._by_backward = True
        run = self._run
        if self._looks or self._awaited:
            self._note_unheld(
                {n: p.grad for n, p in run.parameters.items() if not run.held_by(p) and p.grad is not None}
            )
        if run.step < _CLOSE:
            total = root_mean_square(p.grad for p in run.parameters.values() if p.grad is not None)
            run.trace.wiring.after_backward[run.step] = max(total, run.trace.wiring.after_backward.get(run.step, 0.0))

    def derivatives_taken(
        self, roots: Sequence[Tensor], inputs: Sequence[Tensor], derivatives: Sequence[object]
    ) -> None:
        """Where nothing calls backward(), these are the gradients that the training learns from."""
        if not self._by_backward and (self._looks or self._awaited):
            found = {
                id(each): grad for each, grad in zip(inputs, derivatives, strict=False) if isinstance(grad, Tensor)
            }
            self._note_unheld({n: found[id(p)] for n, p in self._run.parameters.items() if id(p) in found})

    def _note_unheld(self, gradients: dict[str, Tensor]) -> None:
        if not self._looks:
            gradients = {name: grad for name, grad in gradients.items() if name in self._awaited}
        self._passed |= dict(zip(gradients, norms([grad.detach() for grad in gradients.values()]), strict=True))

    def gradients_clearing(self, holder: object) -> None:
        """No optimizer has used these gradients, and none will: this is the last chance to measure them."""
        if self._fresh and self._looks:
            self._measure([n for n in self._run.trace.wiring.parameters if n not in self._measured])

    def gradients_cleared(self, holder: object) -> None:
        if self._fresh and self._run.trace.wiring.cleared_at is None:
            self._run.trace.wiring.cleared_at = user_place()
        self._fresh = False

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if not has_closure:
            self._at_update(optimizer)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if has_closure:
            self._at_update(optimizer)
        self._fresh = False

    def _at_update(self, optimizer: Optimizer) -> None:
        run = self._run
        if not self._looks and not self._awaited:
            return
        label = run.add_optimizer(optimizer)
        # parameters that no optimizer holds are measured now, too: the model's zero_grad() may be next
        names = [n for n, p in run.trace.wiring.parameters.items() if label in p.held_by or not p.held_by]
        found = self._measure(names if self._looks else [n for n in names if n in self._awaited])
        held = [n for n in names if label in run.trace.wiring.parameters[n].held_by]
        if run.step < _CLOSE and held:
            total = math.sqrt(sum(found.get(name, 0.0) ** 2 for name in held))
            run.trace.wiring.at_update[run.step] = max(total, run.trace.wiring.at_update.get(run.step, 0.0))

    def step_ends(self) -> None:
        if not self._looks and not self._awaited:
            return
        left = self._run.trace.wiring.parameters if self._looks else self._awaited
        self._measure([n for n in left if n not in self._measured])

    @unseen
    def _measure(self, names: list[str]) -> dict[str, float]:
        run = self._run
        reached: list[str] = []
        for name in names:
            self._measured.add(name)
            record = run.trace.wiring.parameters[name]
            if run.parameters[name].requires_grad:
                record.frozen_since = None
            elif record.trainable and record.frozen_since is None:
                record.frozen_since = run.step
            if run.parameters[name].grad is not None:
                reached.append(name)
            elif run.trace.wiring.parameters[name].trainable:
                _keep(run.trace.wiring.parameters[name], run.step, None)
        grads = [run.parameters[name].grad for name in reached]
        found = dict(zip(reached, norms([g for g in grads if g is not None]), strict=True))
        for name, norm in found.items():
            _keep(run.trace.wiring.parameters[name], run.step, self._passed.get(name, norm))
        for name in names:
            if name in self._passed and name not in found:
                _keep(run.trace.wiring.parameters[name], run.step, self._passed[name])
        return found


def _keep(record: ParameterRecord, step: int, norm: float | None) -> None:
    """A parameter may be measured twice in a step (two optimizers): the measurement with a gradient counts."""
    if record.gradients.get(step) is None:
        record.gradients[step] = norm
