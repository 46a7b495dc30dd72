"""Leaves padding out of the loss: labels at padded positions become the value that a loss over classes ignores."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch import Tensor, nn

from ...observe.run.run import Run
from .._at_the_arguments import AtTheArguments

#: The `ignore_index` of torch's loss functions, unless they are told another. By judgement: so do models.
_IGNORED = -100


class PaddingNotCounted(AtTheArguments):
    """`mask`: the argument that is 1 at real positions; where it is empty, `tokens` other than `filling` are real."""

    def __init__(self, run: Run, stack: ExitStack, labels: str, tokens: str, filling: float, mask: str = "") -> None:
        super().__init__(run, stack)
        self._labels, self._tokens, self._filling, self._mask = labels, tokens, filling, mask

    def changed(self, module: nn.Module, given: dict[str, Any]) -> None:
        labels, tokens, mask = (given.get(name) for name in (self._labels, self._tokens, self._mask))
        if not isinstance(labels, Tensor):
            return
        if isinstance(mask, Tensor) and mask.shape == labels.shape:
            real = mask.bool()
            padding = real if bool((labels[real] == self._filling).all()) else ~real
        elif isinstance(tokens, Tensor) and tokens.shape == labels.shape:
            padding = tokens == self._filling
        else:
            return
        given[self._labels] = labels.masked_fill(padding, _IGNORED)
