"""Of how many steps the graph is still there after an update, when nothing can be computed with it any more.

Each graph gets marks that go when it goes: on what modules return, and on what `backward()` is called on. As soon as
those of one step have gone, nothing keeps them all, and no more are marked: in nearly every training at its third step.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import Any
from weakref import ref

from torch import Tensor, nn
from torch.optim import Optimizer

from ....tensors.batches import tensors
from ....tensors.tracing import is_traced
from ....training import is_one_batch
from ...run.given_gradients import begins_at
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.module_calls import Watching

#: Steps whose graphs may still be somebody's: the one before, and one that a variable of a loop holds until it is
#: written again. By judgement.
_LATEST = 2
#: What refers to itself goes when the garbage collector comes by. It is called for the first step that lasts, and then
#: every so many steps. By judgement: it takes a tenth of a second.
_COLLECTED_EVERY = 32
_KEY = "pytest-trainhealth"


class _Mark:
    __slots__ = ("__weakref__",)


class _Step:
    def __init__(self, updates: int) -> None:
        self.updates = updates
        self.marks: list[ref[_Mark]] = []

    @property
    def lasts(self) -> bool:
        return any(mark() is not None for mark in self.marks)


class LastingGraphs(Signal):
    NAME, COST = "lasting_graphs", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._steps: list[_Step] = []
        self._updates = 0
        self._watching: Watching | None = None
        self._over = False

    def run_begins(self) -> None:
        self._watching = self._after_call(self._ran)
        training = self._run.training
        if training is not None and not is_one_batch(training.data):
            with suppress(TypeError, NotImplementedError):  # a stream has no length
                self._run.trace.wiring.lasting_graphs.a_pass = len(training.data)

    def step_begins(self, batch: object) -> None:
        if self._over:
            return
        self._look()
        if self._over:
            return
        self._steps.append(_Step(self._updates))

    def backward_begins(self, roots: list[Tensor]) -> None:
        if not self._over:
            for root in roots:
                self._mark(begins_at(root))

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._updates += 1

    def run_ends(self) -> None:
        self._end()

    def _ran(self, module: nn.Module, args: Any, output: Any) -> None:
        if not is_traced():
            for _, tensor in tensors(output):
                self._mark(tensor)

    def _mark(self, tensor: Any) -> None:
        node = getattr(tensor, "grad_fn", None)
        if node is None or not self._steps or _KEY in node.metadata:  # used again, it is still one graph
            return
        mark = node.metadata[_KEY] = _Mark()
        self._steps[-1].marks.append(ref(mark))

    def _look(self) -> None:
        marked = [step for step in self._steps[:-_LATEST] if step.marks and step.updates < self._updates]
        if not marked:
            return
        kept = self._run.trace.wiring.lasting_graphs
        if all(step.lasts for step in marked) and (not kept.steps or len(marked) % _COLLECTED_EVERY == 0):
            gc.collect()
        kept.steps = len(marked) if all(step.lasts for step in marked) else 0
        if not kept.steps:
            self._end()

    def _end(self) -> None:
        self._over = True
        self._steps.clear()
        if self._watching is not None:
            self._watching.remove()
            self._watching = None
