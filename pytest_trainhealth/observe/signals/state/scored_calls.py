"""What loss functions are given in an evaluation: how many classes were told right, and what a guess would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ....records.loss_functions import BINARY, NAMES, TARGET_AT, WITH_CLASSES
from ....tensors.function_modes import FunctionMode
from ...calls.loss_bounds import bounds
from ...calls.torch_calls import function_name

#: Most values that are kept to see what a guess would give. By judgement: 4 million take 16 MB.
_MOST = 4_000_000
#: Relative to the loss: a call that is all of it. By judgement: float32 has six digits, float16 three.
_SAME = 1e-3
#: The score from which on a class of two is told: of logits 0, of probabilities the half, 0.5.
_THRESHOLDS = {"binary_cross_entropy": 0.5}


class ScoredCalls(FunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.right = self.scored = 0
        #: How often each class had to be told.
        self._classes: dict[int, int] = {}
        #: The value of each call that is one number, and how many samples it is of.
        self.values: list[tuple[float, int]] = []
        self._kept: list[tuple[str, Tensor, Tensor, Mapping[str, Any]]] = []
        self._size = 0
        self._all_kept = True

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = function_name(func)
        if name in NAMES and isinstance(result, Tensor):
            with torch.no_grad(), torch._C.DisableTorchFunction():
                self._note(name, args, kwargs, result)
        return result

    @property
    def accuracy(self) -> float | None:
        return self.right / self.scored if self.scored else None

    @property
    def most_frequent(self) -> float | None:
        """The share of the most frequent class: whoever tells it always is right so often."""
        return max(self._classes.values()) / self.scored if self._classes and self.scored else None

    @property
    def kept(self) -> Sequence[tuple[str, Tensor, Tensor, Mapping[str, Any]]]:
        """Of every call its name, what it compares, and its settings; empty where these are too large."""
        return self._kept

    @property
    def loss(self) -> float | None:
        """The mean of the values, by samples."""
        samples = sum(count for _, count in self.values)
        return sum(value * count for value, count in self.values) / samples if samples else None

    def loss_by_guessing(self, losses: Sequence[float]) -> float | None:
        """The loss of the best constant answer to all that was seen. `losses`: the whole loss beside each call."""
        if not self._all_kept or not self._kept or len(self.values) != len(losses) or len(self._kept) != len(losses):
            return None
        factors = [loss / value if value else 1.0 for loss, (value, _) in zip(losses, self.values, strict=True)]
        if max(factors) - min(factors) > _SAME * abs(max(factors)) or factors[0] <= 0:
            return None
        name, first, _, kwargs = self._kept[0]
        alike = all(each[0] == name and each[1].shape[1:] == first.shape[1:] for each in self._kept)
        if not alike or kwargs.get("reduction", "mean") != "mean":
            return None
        inputs, targets = (torch.cat([each[at] for each in self._kept]) for at in (1, 2))  # type: ignore[misc]
        found = bounds(name, inputs, targets, kwargs).chance
        return None if found is None else factors[0] * found

    def _note(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Tensor) -> None:
        at = TARGET_AT[name]
        given = [*args[: at + 1], *([kwargs["target"]] if "target" in kwargs else [])]
        given = [kwargs["input"], *given] if "input" in kwargs else given
        if len(given) <= at or not isinstance(given[0], Tensor) or not isinstance(given[at], Tensor):
            return
        input, target = given[0], given[at]
        if not input.is_floating_point() or not input.numel() or not target.numel():
            return
        if result.numel() == 1:
            self.values.append((float(result), input.shape[0] if input.ndim > 1 else target.numel()))
        answers = _answers(name, input, target, kwargs)
        if answers is not None:
            self.right += int((answers[0] == answers[1]).sum())
            self.scored += answers[1].numel()
            labels, counts = torch.unique(answers[1], return_counts=True)
            for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
                self._classes[label] = self._classes.get(label, 0) + count
        self._size += input.numel() + target.numel()
        if self._size > _MOST or result.numel() != 1 or not target.ndim:
            self._all_kept = False
            self._kept = []
        elif self._all_kept:
            self._kept.append((name, input.detach().clone(), target.detach().clone(), _settings(kwargs)))


def _settings(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kwargs.items() if name not in ("input", "target")}


def _answers(name: str, input: Tensor, target: Tensor, kwargs: Mapping[str, Any]) -> tuple[Tensor, Tensor] | None:
    """For each class that had to be answers, the one that was, and the right one."""
    if name in WITH_CLASSES:
        dim = 1 if input.ndim > 1 else 0
        answers = input.argmax(dim)
        if target.is_floating_point():
            return (answers, target.argmax(dim)) if target.shape == input.shape else None
        if answers.shape != target.shape:
            return None
        counted = target != int(kwargs.get("ignore_index", -100))
        return answers[counted], target[counted]
    if name in BINARY and input.shape == target.shape:
        half = _THRESHOLDS["binary_cross_entropy"]
        return (input > _THRESHOLDS.get(name, 0.0)).long(), (target > half).long()
    return None
