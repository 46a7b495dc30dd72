"""Moves labels back by one position, where they are ahead of the tokens that they are given with."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from ...observe.run.run import Run
from .._at_the_arguments import AtTheArguments


class LabelsMovedBack(AtTheArguments):
    def __init__(self, run: Run, stack: ExitStack, tokens: str, labels: str) -> None:
        super().__init__(run, stack)
        self._tokens, self._labels = tokens, labels

    def changed(self, module: nn.Module, given: dict[str, Any]) -> None:
        tokens, labels = given.get(self._tokens), given.get(self._labels)
        if isinstance(tokens, Tensor) and isinstance(labels, Tensor) and tokens.shape == labels.shape:
            given[self._labels] = torch.cat([tokens[:, :1].to(labels.dtype), labels[:, :-1]], 1)
