"""Rows of a table that a hard choice has picked, in place of what they were picked for, with no way for a gradient.

A quantizer looks up the nearest row of its table, by `argmin()`, and hands that row on. A choice has no gradient, so
what comes before it learns from the rest of the model only if the row is added to it (`z + (row - z).detach()`), or in
another differentiable way. Without that, all that reaches it is the pull towards the row that it was replaced by: its
gradient is then a multiple of the difference between the two, which it never is where anything else reaches it as well.

That alone is a clustering. It is a fault where the row goes on into the rest of the model, which is trained as if what
comes before the choice took part.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ....records.wiring import DetachedSample
from ...calls.torch_calls import Call, CallSignal
from ...run.run import Run
from ...run.signal import Cost
from ...source.places import user_place

#: Steps that are examined, fewest values, most choices of a step, and the cosine from which on two directions are
#: one. By judgement: the same as for samples that are drawn without a graph (detached_samples.py).
_STEPS, _ENOUGH, _MOST, _PARALLEL = 4, 16, 8, 0.9999
_CHOICES = {"argmin", "argmax", "min", "max", "topk"}
_COMPARISONS = {"mse_loss", "sub", "__sub__", "subtract", "rsub", "__rsub__"}
#: These hand on the values as they are.
_SAME = {
    *("view", "view_as", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "permute", "transpose", "detach"),
    *("contiguous", "clone", "float", "to", "type", "type_as", "movedim", "swapaxes", "data", "mT", "T"),
}
_PRODUCTS = {"matmul", "__matmul__", "mm", "bmm", "einsum"}
_SHAPES_ONLY = ("View", "Reshape", "Unsafe", "Permute", "Transpose", "Squeeze", "Unsqueeze", "Alias", "Clone", "Expand")


class _Pick:
    """A row for each of the values that it was chosen for."""

    def __init__(self, rows: Tensor, choice: str) -> None:
        self.rows = rows.detach()
        self.record = DetachedSample(f"{choice}()", user_place(), choice=True)
        #: What was compared with the rows: the gradient that came to it, and to what it is another shape of.
        self.heard = False
        self.sizes: list[float] = []
        #: The rows went into something else.
        self.goes_on = False


class HardChoices(CallSignal):
    NAME, COST = "hard_choices", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._forget()

    def _forget(self) -> None:
        #: Tensors of this step by where their values lie; they are held, so that the place is not given to another one.
        self._held: list[Tensor] = []
        self._chosen: dict[int, str] = {}
        self._one_hot: dict[int, str] = {}
        self._picks: dict[int, _Pick] = {}
        self._handles: list[Any] = []

    def wanted(self) -> bool:
        return self._run.step < _STEPS

    def step_ends(self) -> None:
        super().step_ends()
        self._close()
        for pick in {id(each): each for each in self._picks.values()}.values():
            alike = len(pick.sizes) > 1 and max(pick.sizes) - min(pick.sizes) <= (1 - _PARALLEL) * max(pick.sizes)
            if pick.record.penalty_only and pick.goes_on and alike:
                known = self._run.trace.wiring.detached_samples.setdefault(str(pick.record.place), pick.record)
                known.steps.append(self._run.step)
        self._forget()

    def run_ends(self) -> None:
        super().run_ends()
        self._close()

    def _close(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def called(self, call: Call) -> None:
        if call.error is not None or not torch.is_grad_enabled():
            return
        if call.name in _CHOICES:
            self._choose(call)
        elif self._chosen or self._one_hot or self._picks:
            self._follow(call)

    def _choose(self, call: Call) -> None:
        found = call.result if isinstance(call.result, Tensor) else getattr(call.result, "indices", None)
        if isinstance(found, Tensor) and found.dtype == torch.int64 and call.args[0].requires_grad and found.ndim:
            self._note(self._chosen, found, call.name)

    def _follow(self, call: Call) -> None:
        given = [each for each in (*call.args, *call.kwargs.values()) if isinstance(each, Tensor)]
        picks = [self._picks[place] for each in given if (place := _place(each)) in self._picks]
        if not isinstance(call.result, Tensor):
            return
        if picks:
            self._use(call, given, picks[0])
            return
        choice = next((self._chosen[place] for each in given if (place := _place(each)) in self._chosen), "")
        hot = next((self._one_hot[place] for each in given if (place := _place(each)) in self._one_hot), "")
        if choice and call.name in _SAME:
            self._note(self._chosen, call.result, choice)
        elif choice and (call.name == "one_hot" or call.name.startswith("scatter")):
            self._note(self._one_hot, call.result, choice)
        elif hot and call.name in _SAME:
            self._note(self._one_hot, call.result, hot)
        elif (choice and call.name in ("embedding", "__getitem__", "index_select")) or (hot and call.name in _PRODUCTS):
            enough = call.result.is_floating_point() and call.result.numel() >= _ENOUGH
            if enough and len(self._picks) < _MOST:
                self._note(self._picks, call.result, _Pick(call.result, choice or hot))

    def _use(self, call: Call, given: list[Tensor], pick: _Pick) -> None:
        if call.name in _SAME:
            self._note(self._picks, call.result, pick)
            return
        rows = pick.rows.numel()
        others = [each for each in given if _place(each) not in self._picks and each.numel() == rows]
        if call.name in _COMPARISONS and others:
            self._compare(others[0], next(each for each in given if _place(each) in self._picks), pick)
        elif not others and call.result.requires_grad:
            pick.goes_on = True  # a layer, a sum with something smaller: it is part of the model

    def _compare(self, values: Tensor, rows: Tensor, pick: _Pick) -> None:
        node, index = values.grad_fn, values.output_nr
        if node is None or pick.heard or values.shape != rows.shape:
            return
        pick.heard = True
        difference = (values.detach() - rows.detach()).double().flatten()

        def arrived(gradients: tuple[Any, ...]) -> None:
            gradient = gradients[index] if index < len(gradients) else None
            if isinstance(gradient, Tensor) and gradient.numel() == difference.numel():
                pick.record.penalty_only = _parallel(difference, gradient.detach().double().flatten())
                pick.sizes.append(float(gradient.detach().double().norm()))

        self._handles.append(node.register_prehook(self._looking(arrived)))
        self._listen_before(node, index, pick)

    def _listen_before(self, node: Any, index: int, pick: _Pick) -> None:
        """What the values are another shape of may be used elsewhere: then more than this gradient comes to it."""
        while type(node).__name__.startswith(_SHAPES_ONLY) and len(node.next_functions) == 1:
            node, index = node.next_functions[0]

        def arrived(gradients: tuple[Any, ...]) -> None:
            gradient = gradients[index] if index < len(gradients) else None
            if isinstance(gradient, Tensor):
                pick.sizes.append(float(gradient.detach().double().norm()))

        if node is not None:
            self._handles.append(node.register_prehook(self._looking(arrived)))

    def _note(self, where: dict[int, Any], tensor: Tensor, what: Any) -> None:
        self._held.append(tensor.detach())
        where[_place(tensor)] = what


def _place(tensor: Tensor) -> int:
    return tensor.data_ptr() if tensor.layout == torch.strided else 0


def _parallel(one: Tensor, other: Tensor) -> bool:
    size = float(one.norm() * other.norm())
    return size > 0 and float(one @ other) > _PARALLEL * size
