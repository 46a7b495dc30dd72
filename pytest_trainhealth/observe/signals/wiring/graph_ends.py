"""Calls that take a tensor with gradients and return one that cannot carry them, and whose graph ends there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ....records.verdict import Place
from ....records.wiring import INDEX_OF, NO_GRAD, GraphEnd
from ....tensors.storage import memory_of
from ...calls.graph_leaves import leaves_of, tensors_in
from ...calls.torch_calls import CallSignal
from ...run.run import Run
from ...run.signal import Cost
from ...source.no_grad_lines import switched_off_at
from ...source.places import user_place

#: Spelt as in the user's code. Calls of `item` and similar functions outside the model are logging.
_ENDS = {
    "detach": ".detach()", "detach_": ".detach_()", "data": ".data", "data=": ".data", "numpy": ".numpy()",
    "tolist": ".tolist()", "item": ".item()", "argmax": "argmax()", "argmin": "argmin()", "argsort": "argsort()",
    "round": "round()", "floor": "floor()", "ceil": "ceil()", "trunc": "trunc()", "sign": "sign()", "sgn": "sign()",
    "long": ".long()", "int": ".int()", "bool": ".bool()", "gt": "a comparison", "lt": "a comparison",
    "ge": "a comparison", "le": "a comparison", "__gt__": "a comparison", "__lt__": "a comparison",
    "__ge__": "a comparison", "__le__": "a comparison", "eq": "a comparison", "new_tensor": "new_tensor()",
    "heaviside": "heaviside()", "bincount": "bincount()", "normal": "torch.normal()",
    "bernoulli": "torch.bernoulli()", "poisson": "torch.poisson()",
}  # fmt: skip
#: They take only the shape or the type of a tensor.
_ONLY_THE_SHAPE = ("_like", "new_empty", "new_full", "new_ones", "new_zeros", "type_as", "expand_as")
#: Graphs that are searched for their parameters. By judgement: more ends in one step are those of a loop.
_MOST_SEARCHES = 200


@dataclass
class _Index:
    tensor: Tensor
    function: str
    module: str
    place: Place | None
    #: What it was chosen from.
    given: list[Tensor]


class GraphEnds(CallSignal):
    NAME, COST = "graph_ends", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._names: dict[int, str] = {}
        self._searches = 0
        #: Indices of this step that nothing has used yet, by id, kept alive so that no other tensor gets theirs.
        self._indices: dict[int, _Index] = {}

    def wanted(self) -> bool:
        return self._run.step < 2

    def step_begins(self, batch: object) -> None:
        super().step_begins(batch)
        self._names = {id(p): name for name, p in self._run.parameters.items()}

    def backward_begins(self, roots: Any) -> None:
        super().backward_begins(roots)
        self._indices.clear()
        if self._open is not None:
            reached = leaves_of([root for root in roots if isinstance(root, Tensor)], self._names)
            for name, record in self._run.trace.wiring.parameters.items():
                record.in_graph = bool(record.in_graph) or name in reached

    def run_ends(self) -> None:  # and at the end of each step
        super().run_ends()
        self._indices.clear()

    def seen(self, name: str, args: tuple[Any, ...], result: Any, module: str) -> None:
        if self._indices and torch.is_grad_enabled():
            self._use_indices(args)
        given = [each for each in tensors_in(args) if each.requires_grad]
        if not torch.is_grad_enabled():
            # a parameter outside of a model's forward pass: an average of weights, an update by hand
            given = [each for each in given if not each.is_leaf or (module and id(each) in self._names)]
            if given and tensors_in(result):
                self._note(NO_GRAD, module, given)
            return
        # the `.data` of a parameter is read for its size or device
        given = [each for each in given if not each.is_leaf]
        if given and (name in _ENDS or _is_cut(name, result)):
            self._note(_ENDS.get(name, f"{name}()"), module, given)
        elif given and name.endswith("_") and self._is_inside_a_parameter(args[0]):
            self._note(_ENDS["data"], module, given)
        elif given and module and name in INDEX_OF:  # outside of a model it is a metric
            for index in (each for each in tensors_in(result) if each.dtype == torch.long):
                self._indices[id(index)] = _Index(index, name, module, user_place(), given)

    def _use_indices(self, args: tuple[Any, ...]) -> None:
        """Of many a `max()` only the values are used: its index ends a graph once something is done with it."""
        for tensor in tensors_in(args):
            used = self._indices.pop(id(tensor), None)
            if used is not None:
                self._note(INDEX_OF[used.function], used.module, used.given, used.place)

    def _is_inside_a_parameter(self, tensor: Tensor) -> bool:
        """Its `.data`: what is written there with a graph loses it, as the parameter itself is what is used."""
        own = tensor.is_leaf and id(tensor) in self._names
        return not own and any(memory_of(tensor) == memory_of(p) for p in self._run.parameters.values())

    def _note(self, operation: str, module: str, given: list[Tensor], place: Place | None = None) -> None:
        place = place or user_place()
        if operation == NO_GRAD:
            place = switched_off_at(place)
        ends = self._run.trace.wiring.graph_ends
        known = next((end for end in ends if (end.operation, end.place) == (operation, place)), None)
        if known is None:
            known = GraphEnd(operation, module, place)
            ends.append(known)
        if self._searches < _MOST_SEARCHES:
            self._searches += 1
            known.parameters |= leaves_of(given, self._names)


def _is_cut(name: str, result: Any) -> bool:
    """Something was computed, and none of it can carry gradients."""
    made = tensors_in(result)
    return bool(made) and not any(each.requires_grad for each in made) and not name.endswith(_ONLY_THE_SHAPE)
