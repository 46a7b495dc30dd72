"""Gradients that are turned round on their way back: two losses that pull against each other, on purpose.

A gradient reversal layer (adversarial domain adaptation) passes its input on and hands the gradient back with the other
sign, by an `autograd.Function` or a hook of one's own. Its loss has no bottom: it goes up and down as either side wins.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from ....tensors.readable import values_of
from ...run.reading import Reading
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.engine_frames import stand_in

#: Steps that are examined. By judgement: a reversal is there from the start, if only with a small factor; at the first
#: step the factor may still be 0.
_STEPS = 3
#: Cosine between the gradient that came and the one that was handed on. By judgement: exactly -1 but for rounding.
_OPPOSITE = -0.999
#: Nodes of a graph that are visited. By judgement: a graph of more than 20,000 would take a while.
_MOST_NODES = 20_000


class Reversals(Signal):
    NAME, COST = "reversals", Cost.ALWAYS

    def __init__(self, run: Run) -> None:
        self._run = run
        self._patched = ExitStack()
        self._handles: list[Any] = []
        #: The run, until it ends.
        self._listening = [run]

    def run_begins(self) -> None:
        original: Any = Tensor.register_hook

        @wraps(original)
        @stand_in
        def noted(tensor: Tensor, hook: Callable[[Tensor], Any]) -> Any:
            return original(tensor, hook if self._run.emitting else self._compared(hook))

        self._patched.callback(setattr, Tensor, "register_hook", original)
        Tensor.register_hook = noted  # type: ignore[method-assign]

    def run_ends(self) -> None:
        """The user's hook lives on in a graph, where no garbage collection looks: it must not lead to a run that ended
        in the middle of a step, and that holds this graph."""
        self._patched.close()
        self._remove()
        self._listening.clear()

    def backward_begins(self, roots: list[Tensor]) -> None:
        if self._run.step < _STEPS and not self._run.trace.wiring.reversed_gradients:
            for node in _functions(roots):
                self._handles.append(node.register_hook(self._looking(self._looked_at)))

    def step_ends(self) -> None:
        self._remove()
        if self._run.step >= _STEPS - 1:
            self._patched.close()

    def _remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _looked_at(self, handed_on: tuple[Any, ...], came: tuple[Any, ...]) -> None:
        if any(_is_reversed(before, after) for before in came for after in handed_on):
            self._run.trace.wiring.reversed_gradients += 1

    def _compared(self, hook: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
        listening = self._listening

        def compared(gradient: Tensor) -> Any:
            result = hook(gradient)
            for run in listening:
                with Reading(run, self):
                    if run.step < _STEPS and _is_reversed(gradient, result):
                        run.trace.wiring.reversed_gradients += 1
            return result

        return compared


def _functions(roots: list[Tensor]) -> list[Any]:
    """Nodes of the user's own `autograd.Function`s."""
    found: list[Any] = []
    seen: set[Any] = set()
    open_nodes: list[Any] = [root.grad_fn for root in roots if isinstance(root, Tensor)]
    while open_nodes and len(seen) < _MOST_NODES:
        node = open_nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if isinstance(node, BackwardCFunction):
            found.append(node)
        open_nodes.extend(each for each, _ in node.next_functions)
    return found


def _is_reversed(before: Any, after: Any) -> bool:
    if not isinstance(before, Tensor) or not isinstance(after, Tensor) or before.shape != after.shape:
        return False
    if before.layout != torch.strided or after.layout != torch.strided or not before.is_floating_point():
        return False
    came, went = values_of(before), values_of(after)
    if came is None or went is None or came.shape != went.shape:
        return False
    cosine = torch.nn.functional.cosine_similarity(came.flatten().double(), went.flatten().double(), dim=0)
    return came.numel() > 1 and float(cosine) <= _OPPOSITE
