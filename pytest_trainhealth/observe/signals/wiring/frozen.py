"""Whether frozen values change all the same: parameters in an optimizer's step, or the statistics of a BatchNorm.

A parameter also counts as frozen if the step, or a hook of the user's, sets its gradient to 0: weight decay still
changes it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import Optimizer

from ....records.wiring import FrozenChange
from ....tensors.module_paths import full_path
from ...calls.hooked_gradients import HookedGradients
from ...run.run import Run
from ...run.signal import Cost, Signal

#: Steps at which statistics are compared. By judgement: two of the first 4 are enough to call it a habit
#: (analysis/wiring.py).
_STEPS = 4


class Frozen(Signal):
    NAME, COST = "frozen", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known = 0
        self._before: dict[str, Tensor] = {}
        self._norms: dict[str, _BatchNorm] = {}
        self._statistics: dict[str, Tensor] = {}
        #: Parameters that are unfrozen now and then: frozen by turns, not for good.
        self._thawed: set[str] = set()
        #: Parameters whose gradient was not 0 right after backward(); then those for which an optimizer got exactly 0.
        self._reached: set[str] = set()
        self._zeroed: dict[str, Tensor] = {}
        self._hooked = HookedGradients(self._looking)

    def run_begins(self) -> None:
        self._meet_models()

    def step_begins(self, batch: object) -> None:
        if len(self._run.models) > self._known:
            self._meet_models()
        self._reached.clear()
        if self._run.step < _STEPS:
            self._statistics = {path: _mean(norm).clone() for path, norm in self._norms.items()}

    def step_ends(self) -> None:
        for path, before in self._statistics.items():
            own = [self._run.trace.wiring.parameters.get(f"{path}.{name}") for name in ("weight", "bias")]
            by_hand = any(record is not None and record.moved for record in own)
            if not by_hand and not bool((_mean(self._norms[path]) == before).all()):
                self._note(path, "statistics")
        self._statistics.clear()
        self._hooked.forget()

    def run_ends(self) -> None:
        self._hooked.forget()

    def backward_begins(self, roots: list[Tensor]) -> None:
        self._hooked.reached.clear()
        if self._run.step < _STEPS and self._may_decay():
            self._hooked.look_at(self._run.parameters)

    def backward_ends(self) -> None:
        if self._run.step < _STEPS and self._may_decay():
            self._reached.update(n for n, p in self._run.parameters.items() if p.requires_grad and _has_gradient(p))
            self._reached |= self._hooked.reached

    def _may_decay(self) -> bool:
        """Without weight decay no parameter moves whose gradient is 0. An optimizer may be seen at its first step."""
        optimizers = self._run.optimizers.values()
        return not optimizers or any(group.get("weight_decay") for o in optimizers for group in o.param_groups)

    def gradients_cleared(self, holder: object) -> None:
        self._reached.clear()  # zero_grad() sets gradients to 0 as well, which does not count

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        run, label = self._run, self._run.add_optimizer(optimizer)
        self._before.clear()
        self._zeroed = {} if has_closure else self._zeroed_by_hand(optimizer)
        for name, parameter in run.parameters.items():
            if parameter.requires_grad:
                if name in run.trace.wiring.frozen_changes:
                    del run.trace.wiring.frozen_changes[name]
                    self._thawed.add(name)
            elif parameter.grad is not None and label in run.held_by(parameter) and name not in self._thawed:
                self._before[name] = parameter.detach().clone()

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        for name, before in self._before.items():
            if not bool((self._run.parameters[name] == before).all()):
                self._note(name, self._run.add_optimizer(optimizer))
        self._before.clear()
        for name, before in self._zeroed.items():
            if not bool((self._run.parameters[name] == before).all()):
                self._note(name, self._run.add_optimizer(optimizer), self._run.trace.wiring.zeroed_changes)
        self._zeroed.clear()

    def _zeroed_by_hand(self, optimizer: Optimizer) -> dict[str, Tensor]:
        """Parameters with weight decay, if the same optimizer holds others whose gradients were not set to 0."""
        if not self._reached:
            return {}
        decays = {id(p): bool(group.get("weight_decay")) for group in optimizer.param_groups for p in group["params"]}
        decaying = {n: p for n, p in self._run.parameters.items() if n in self._reached and id(p) in decays}
        zeroed = {n: p for n, p in decaying.items() if p.grad is not None and not _has_gradient(p)}
        if len(zeroed) == len(decaying):
            return {}
        return {n: p.detach().clone() for n, p in zeroed.items() if decays[id(p)]}

    def _note(self, name: str, by: str, records: dict[str, FrozenChange] | None = None) -> None:
        records = self._run.trace.wiring.frozen_changes if records is None else records
        record = records.setdefault(name, FrozenChange(name, by))
        if self._run.step not in record.steps:
            record.steps.append(self._run.step)

    def _meet_models(self) -> None:
        for prefix, model in list(self._run.models.items())[self._known :]:
            for path, norm in _frozen_norms(model):
                full = full_path(prefix, path)
                if (norm.training or self._run.modes_are_the_users) and not self._has_twin(full, norm):
                    self._norms[full] = norm
        self._known = len(self._run.models)

    def _has_twin(self, path: str, norm: _BatchNorm) -> bool:
        """A target network or averaged teacher next to its student: `target.net.1` next to `online.net.1`.

        It is as wide; a wider teacher of the same class is no copy.
        """
        inner = path.partition(".")[2]
        return "." in inner and any(
            name.endswith(f".{inner}.weight") and not name.startswith(f"{path}.") and p.requires_grad
            for name, p in self._run.parameters.items()
            if p.shape == norm.weight.shape
        )


def _frozen_norms(model: nn.Module) -> list[tuple[str, _BatchNorm]]:
    """BatchNorms that have statistics and frozen parameters, and come after a frozen layer."""
    found: list[tuple[str, _BatchNorm]] = []
    frozen_before = False
    for path, module in model.named_modules():
        own = list(module.parameters(recurse=False))
        if isinstance(module, _BatchNorm) and own:
            kept = module.running_mean is not None and bool(module.num_batches_tracked)
            if kept and frozen_before and not any(p.requires_grad for p in own):
                found.append((path, module))
        elif own:
            frozen_before = not any(p.requires_grad for p in own)
    return found if any(p.requires_grad for p in model.parameters()) else []


def _has_gradient(parameter: Tensor) -> bool:
    grad = parameter.grad
    return grad is not None and (grad.layout != torch.strided or bool(grad.detach().any()))


def _mean(norm: _BatchNorm) -> Tensor:
    assert norm.running_mean is not None
    return norm.running_mean.detach()
