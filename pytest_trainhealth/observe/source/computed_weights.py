"""Weights that a parametrisation computes, and that somebody writes into: the next forward pass computes them anew.

`weight_norm` of the old kind keeps the computed weight as an attribute until then; with `torch.nn.utils.parametrize`
each access computes it, so that an `nn.init` function is given a tensor that nobody else has. Either way an
initialisation is lost, as what is learnt (`weight_g` and `weight_v`, `original0`) keeps the values that it had.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import ParametrizationList
from torch.nn.utils.weight_norm import WeightNorm

from ...records.verdict import Place
from .authorship import author
from .places import user_place

#: Computed weights that are followed. By judgement: 1,000 are more than a factory looks at.
_MOST = 1000
#: Between whoever applies a parametrisation or reads a weight, and its computation.
_WRAPPERS = ("torch", "typing_extensions", "warnings", __name__.partition(".")[0])


@dataclass
class _Computed:
    weight: Tensor
    values: Tensor
    #: What it is computed from, and the values of that.
    sources: Sequence[Tensor]
    before: list[Tensor]
    place: Place | None
    #: Who computed it: "user", or a package, whose initialisation is its own business.
    by: str | None

    @property
    def is_written_over(self) -> bool:
        """Only it: where its sources were changed as well, somebody knows about them."""
        if self.by != "user":
            return False
        same = all(torch.equal(one.detach(), other) for one, other in zip(self.sources, self.before, strict=True))
        return same and not torch.equal(self.weight.detach(), self.values)


class ComputedWeights:
    """Follows the first steps at most: what a factory does, or a test before it trains."""

    def __init__(self) -> None:
        self._latest: dict[int, tuple[weakref.ref[nn.Module], str, _Computed]] = {}
        self._lost: list[tuple[weakref.ref[nn.Module], str, Place | None]] = []
        self._left = _MOST

    def note(self, holder: nn.Module, name: str, weight: object) -> None:
        """`holder`: the module, or the list of parametrisations of one of its weights."""
        if self._left <= 0 or not isinstance(weight, Tensor) or weight.is_meta:
            return
        self._left -= 1
        self._look_at(id(holder))
        sources = [p for key, p in holder.named_parameters(recurse=False) if key.startswith((name, "original"))]
        if any(weight.data_ptr() == each.data_ptr() for each in sources):
            return  # what is written into it is written into the parameter
        before = [each.detach().clone() for each in sources]
        computed = _Computed(weight, weight.detach().clone(), sources, before, user_place(), _author())
        self._latest[id(holder)] = (weakref.ref(holder), name, computed)

    def lost(self) -> list[tuple[nn.Module, str, Place | None]]:
        """The holders of weights that were written over so far, with their names and where they were read."""
        for key in list(self._latest):
            self._look_at(key)
        alive = [(holder(), name, place) for holder, name, place in self._lost]
        return [(holder, name, place) for holder, name, place in alive if holder is not None]

    def end(self) -> None:
        self._left = 0
        self._latest.clear()

    def _look_at(self, key: int) -> None:
        reference, name, computed = self._latest.pop(key, (None, "", None))
        if reference is not None and computed is not None and computed.is_written_over:
            self._lost.append((reference, name, computed.place))


def _author() -> str | None:
    """Torch marks the old kind as deprecated by a wrapper that is not its own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in _WRAPPERS:
        frame = frame.f_back
    return author(frame)


@contextmanager
def computed_weights_noted(made: ComputedWeights) -> Iterator[None]:
    """While a factory runs, or a test that is watched."""
    compute, forward = WeightNorm.compute_weight, ParametrizationList.forward

    def noted_compute(self: WeightNorm, module: nn.Module) -> Any:
        weight = compute(self, module)
        made.note(module, self.name, weight)
        return weight

    def noted_forward(self: ParametrizationList) -> Tensor:
        weight = forward(self)
        made.note(self, "original", weight)
        return weight

    WeightNorm.compute_weight = noted_compute  # type: ignore[method-assign]
    ParametrizationList.forward = noted_forward  # type: ignore[method-assign]
    try:
        yield
    finally:
        WeightNorm.compute_weight = compute  # type: ignore[method-assign]
        ParametrizationList.forward = forward  # type: ignore[method-assign]
