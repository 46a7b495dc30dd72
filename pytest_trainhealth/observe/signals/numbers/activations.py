"""Units that are zero for every sample, and bounded functions that are saturated."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ....records.numbers import ActivationRecord
from ...calls.functions import WEIGHING
from ...calls.torch_calls import CallSignal
from ...run.run import Run
from ...run.signal import Cost
from ...source.places import user_place

_RECTIFIERS = {"relu", "relu_", "relu6", "threshold", "hardtanh", "clamp_min"}
#: Where a bounded function has next to no slope: within 1 % of its range from either end.
_ENDS = {"sigmoid": (0.01, 0.99), "sigmoid_": (0.01, 0.99), "tanh": (-0.98, 0.98), "tanh_": (-0.98, 0.98)}


class Activations(CallSignal):
    NAME, COST = "activations", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._counts: dict[str, int] = {}

        #: By the id of its output, which is kept alive during the step, each softmax over the features of samples.
        self._softmaxes: dict[int, tuple[Tensor, str, ActivationRecord]] = {}

    def step_begins(self, batch: object) -> None:
        self._counts.clear()
        super().step_begins(batch)

    def step_ends(self) -> None:
        super().step_ends()
        self._softmaxes.clear()

    def seen(self, name: str, args: tuple[Any, ...], result: Any, module: str) -> None:
        if name == "softmax" and isinstance(result, Tensor) and result.ndim > 1 and result.requires_grad:
            self._note_softmax(result, module)
        elif name in WEIGHING and id(args[0]) in self._softmaxes and _is_weight(args):
            _, key, record = self._softmaxes[id(args[0])]
            record.feeds = module
            self._run.trace.numbers.activations[key] = record
        name = name.rstrip("_")
        if (name not in _RECTIFIERS and name not in _ENDS) or not isinstance(result, Tensor) or result.ndim < 2:
            return
        place = f"{module}:{name}"
        count = self._counts[place] = self._counts.get(place, 0) + 1
        if f"{place}:{count}" not in self._run.trace.numbers.activations:
            record = ActivationRecord(name, module, result.shape[1], place=user_place())
            rectifier = self._layers().get(module)
            record.is_module, record.in_place = rectifier is not None, bool(getattr(rectifier, "inplace", False))
            self._run.trace.numbers.activations[f"{place}:{count}"] = record
        record = self._run.trace.numbers.activations[f"{place}:{count}"]
        with torch.no_grad():
            if name in _RECTIFIERS:
                record.dead[self._run.step] = _dead_share(result)
            else:
                low, high = _ENDS[name]
                record.saturated[self._run.step] = float(((result < low) | (result > high)).float().mean())

    def _layers(self) -> dict[str, nn.Module]:
        return {path: module for path, module in self._run.named_modules() if isinstance(module, (nn.ReLU, nn.ReLU6))}

    def _note_softmax(self, result: Tensor, module: str) -> None:
        """Kept for now: it counts once its output is multiplied with the weights of a layer."""
        place = f"{module}:softmax"
        count = self._counts[place] = self._counts.get(place, 0) + 1
        record = ActivationRecord("softmax", module, result.shape[-1], place=user_place())
        self._softmaxes[id(result)] = result, f"{place}:{count}", record


def _is_weight(args: tuple[Any, ...]) -> bool:
    """An attention multiplies its shares with values, which are no parameters."""
    return len(args) > 1 and isinstance(args[1], nn.Parameter)


def _dead_share(output: Tensor) -> float:
    """Channels are the second dimension in images and the last in sequences: the smaller share is certain."""
    silent = output == 0
    shares = []
    for dim in {1, output.ndim - 1}:
        others = [d for d in range(output.ndim) if d != dim]
        shares.append(float(silent.all(dim=others[0]).float().mean()) if len(others) == 1 else _share(silent, others))
    return min(shares)


def _share(silent: Tensor, dims: list[int]) -> float:
    for dim in sorted(dims, reverse=True):
        silent = silent.all(dim=dim)
    return float(silent.float().mean())
