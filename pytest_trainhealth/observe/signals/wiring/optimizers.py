"""Learning rates of each optimizer, and how often it was stepped."""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer

from ...run.run import Run
from ...run.signal import Cost, Signal

_SETTINGS = ("momentum", "dampening", "eps", "alpha", "weight_decay")


def _rate(optimizer: Optimizer) -> float:
    return max(float(group.get("lr", 0.0)) for group in optimizer.param_groups)


def _settings(group: dict[str, Any]) -> dict[str, float]:
    """The settings that are plain numbers, under the names that the user knows."""
    found = {name: float(group[name]) for name in _SETTINGS if isinstance(group.get(name), (int, float))}
    betas = group.get("betas")
    if isinstance(betas, (tuple, list)) and len(betas) == 2:
        found.update({f"betas[{index}]": float(beta) for index, beta in enumerate(betas)})
    return found


class Optimizers(Signal):
    NAME, COST = "optimizers", Cost.ALWAYS

    def __init__(self, run: Run) -> None:
        self._run = run
        self._updates = 0

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        record = self._run.trace.wiring.optimizers[self._run.add_optimizer(optimizer)]
        rate = _rate(optimizer)
        record.rates.append(rate)
        if self._run.sampled or not record.lr:
            record.lr[self._run.step] = rate
        if not record.settings:
            record.settings = _settings(optimizer.param_groups[0])
            record.initial_lr = max((float(g["initial_lr"]) for g in optimizer.param_groups if "initial_lr" in g),
                                    default=None)  # fmt: skip
            record.maximize = any(group.get("maximize", False) for group in optimizer.param_groups)
            record.weight_decay = max(float(group.get("weight_decay", 0.0)) for group in optimizer.param_groups)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._run.trace.wiring.optimizers[self._run.add_optimizer(optimizer)].steps += 1
        self._updates += 1

    def step_ends(self) -> None:
        self._run.trace.updates.append(self._updates)
        self._updates = 0
