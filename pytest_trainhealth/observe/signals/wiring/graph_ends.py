"""Calls that take a tensor with gradients and return one that cannot carry them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ....records.wiring import GraphEnd
from ...calls.torch_calls import CallSignal
from ...run.signal import Cost
from ...source.places import user_place

#: Spelt as in the user's code. Calls of `item` and similar functions outside the model are logging.
_ENDS = {
    "detach": ".detach()", "detach_": ".detach_()", "data": ".data", "numpy": ".numpy()", "tolist": ".tolist()",
    "item": ".item()", "argmax": "argmax()", "argmin": "argmin()", "argsort": "argsort()",
    "round": "round()", "floor": "floor()", "ceil": "ceil()", "sign": "sign()", "long": ".long()", "int": ".int()",
    "bool": ".bool()", "gt": "a comparison", "lt": "a comparison", "ge": "a comparison", "le": "a comparison",
    "__gt__": "a comparison", "__lt__": "a comparison", "__ge__": "a comparison", "__le__": "a comparison",
    "eq": "a comparison", "new_tensor": "new_tensor()", "heaviside": "heaviside()", "bincount": "bincount()",
}  # fmt: skip


class GraphEnds(CallSignal):
    NAME, COST = "graph_ends", Cost.CLOSE

    def wanted(self) -> bool:
        return self._run.step < 2

    def seen(self, name: str, args: tuple[Any, ...], result: Any, module: str) -> None:
        if name not in _ENDS or not _carried(args):
            return
        place = user_place()
        end = GraphEnd(_ENDS[name], module, place)
        if all((e.operation, e.place) != (end.operation, end.place) for e in self._run.trace.wiring.graph_ends):
            self._run.trace.wiring.graph_ends.append(end)


def _carried(args: tuple[Any, ...]) -> bool:
    """Whether an argument was computed with gradients (the `.data` of a parameter is read for its size or device)."""
    return torch.is_grad_enabled() and any(isinstance(a, Tensor) and a.requires_grad and not a.is_leaf for a in args)
