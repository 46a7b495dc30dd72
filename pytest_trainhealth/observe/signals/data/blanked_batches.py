"""Whether a step blanks values in the batch of the data itself, and then compares the output with that batch.

A batch from a loader is a copy, and a step may change it freely. A batch from a list is the data themselves: values set
to 0 there are lost for the next epoch. This is reported only if the same tensor is both the model's input and the
target of the loss: `noisy = x` is not a copy, and nothing is left to learn from.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.utils.hooks import RemovableHandle

from ....records.data import BlankedBatch
from ....tensors.batches import map_tensors, tensors
from ...run.run import Run
from ...run.signal import Cost, Signal
from .stored_data import Writes

#: Two steps that do so, and one that gets the first batch again, as it was left. By judgement: 2, as twice is not an
#: accident.
_STEPS = 2
#: Share of the values that one step blanks. By judgement: a hundredth at each visit is half of the data after 70
#: epochs.
_CLEAR = 0.01
#: Nodes of the graph that are searched for the target. By judgement: 64, as the target is near the loss.
_MOST_NODES = 64


class BlankedBatches(Signal):
    NAME, COST = "blanked_batches", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._handle: RemovableHandle | None = None
        self._open = ExitStack()
        self._writes: Writes | None = None
        #: Name, tensor, and its values before the step.
        self._given: list[tuple[str, Tensor, Tensor]] = []
        self._found: list[BlankedBatch] = []
        self._left: Any = None
        self._batch: Any = None

    def run_begins(self) -> None:
        if self._run.feed is not None and type(self._run.feed.source) is list:
            self._run.batch_changes.append(self._hand_out)

    def _hand_out(self, batch: Any) -> Any:
        again = self._run.step == _STEPS and len(self._found) == _STEPS
        return map_tensors(lambda _, tensor: tensor.clone(), self._left) if again else batch

    def step_begins(self, batch: object) -> None:
        feed = self._run.feed
        if self._run.step > _STEPS or feed is None or type(feed.source) is not list:
            return
        again = self._run.step == _STEPS
        if self._run.step and len(self._found) < self._run.step:
            return
        self._batch = batch
        self._given = [
            (name, tensor, tensor.detach().clone())
            for name, tensor in tensors(batch)
            if tensor.is_floating_point() and tensor.layout == torch.strided and (again or feed.keeps(tensor))
        ]
        if self._given:
            self._handle = register_module_forward_pre_hook(self._forward_begins)
            self._writes = self._open.enter_context(Writes([tensor for _, tensor, _ in self._given]))

    def _forward_begins(self, module: nn.Module, inputs: Any) -> None:
        """Finds the first module that is called with a blanked tensor."""
        for name, tensor, before in self._given:
            if any(_at(each) == tensor.data_ptr() for each in inputs):
                share = _blanked(before, tensor.detach())
                places = {} if self._writes is None else self._writes.places
                self._close()
                if share > _CLEAR:
                    self._note(BlankedBatch(name, [share], next(iter(places.values()), None)), tensor)
                return

    def _note(self, found: BlankedBatch, tensor: Tensor) -> None:
        if self._run.step == _STEPS:
            first = self._found[0]
            first.shares.append(found.shares[0])
            self._run.trace.data.blanked_batch = first
            return
        if not self._run.step:
            self._left = map_tensors(lambda _, each: each.detach().clone(), self._batch)
        self._found.append(found)
        self._given = [(found.name, tensor, tensor)]

    def backward_begins(self, roots: list[Tensor]) -> None:
        """The blanked tensor has to be the target, too."""
        if self._run.step < _STEPS and len(self._found) == self._run.step + 1:
            written = {tensor.data_ptr() for _, tensor, _ in self._given}
            if not any(_at(target) in written for target in _targets(roots)):
                self._found.pop()

    def step_ends(self) -> None:
        self._close()
        self._given, self._batch = [], None

    def run_ends(self) -> None:
        self.step_ends()

    def _close(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
        self._open.close()
        self._writes = None


def _at(thing: Any) -> int | None:
    """The address of its values; sparse tensors have none."""
    return thing.data_ptr() if isinstance(thing, Tensor) and thing.layout == torch.strided else None


def _blanked(before: Tensor, after: Tensor) -> float:
    """Share of the values that were set to one and the same value; 0 if anything else was written."""
    changed = before != after
    values = after[changed]
    return float(changed.double().mean()) if values.numel() and bool((values == values[0]).all()) else 0.0


def _targets(roots: list[Tensor]) -> list[Tensor]:
    """The targets that loss functions near the end of the graph have saved."""
    found: list[Tensor] = []
    nodes = [root.grad_fn for root in roots]
    for _ in range(_MOST_NODES):
        node = nodes.pop(0) if nodes else None
        if node is None:
            break
        try:
            target = getattr(node, "_saved_target", None)
        except RuntimeError:  # it was written into since then: backward() itself will complain
            target = None
        if isinstance(target, Tensor):
            found.append(target)
        nodes.extend(each for each, _ in node.next_functions if each is not None)
    return found
