"""A layer that reads both ways shows, at either end of its output, what each direction says after its last step."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.module_calls import after_call


class BothEnds(Listener):
    def __init__(self, run: Run, stack: ExitStack, layers: Sequence[str]) -> None:
        self._run, self._stack, self._layers = run, stack, layers
        self._known: set[int] = set()

    def run_begins(self) -> None:
        self.step_begins(None)

    def step_begins(self, batch: object) -> None:
        for path, module in self._run.named_modules():
            if path in self._layers and isinstance(module, nn.RNNBase) and id(module) not in self._known:
                self._known.add(id(module))
                self._stack.callback(after_call(_at_both_ends, module).remove)


def _at_both_ends(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
    assert isinstance(module, nn.RNNBase)
    made = output[0]
    if not isinstance(made, Tensor) or not module.bidirectional:
        return output  # packed sequences have no end in common
    by_time = made.movedim(1 if module.batch_first and made.ndim == 3 else 0, 0)
    forward, backward = by_time.chunk(2, -1)
    ends = torch.cat((forward[-1], backward[0]), -1)[None]
    if len(by_time) < 2:
        return output
    joined = torch.cat((ends, by_time[1:-1], ends))
    return (joined.movedim(0, 1) if module.batch_first and made.ndim == 3 else joined), *output[1:]
