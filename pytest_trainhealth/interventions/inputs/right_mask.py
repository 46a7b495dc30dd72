"""Gives a model the mask that belongs to its tokens, though its caller gave another or none."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from ...observe.run.run import Run
from ...observe.signals.probes.padded_tokens import pad_tokens
from .._at_the_arguments import AtTheArguments


class RightMask(AtTheArguments):
    def __init__(self, run: Run, stack: ExitStack, tokens: str, mask: str) -> None:
        super().__init__(run, stack)
        self._tokens, self._mask = tokens, mask

    def changed(self, module: nn.Module, given: dict[str, Any]) -> None:
        tokens, before = given.get(self._tokens), given.get(self._mask)
        padding = next(iter(pad_tokens(module)), None)
        if isinstance(tokens, Tensor) and padding is not None:
            kind = before.dtype if isinstance(before, Tensor) else torch.int64
            given[self._mask] = (tokens != padding).to(kind)
