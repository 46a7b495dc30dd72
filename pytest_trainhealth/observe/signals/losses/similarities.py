"""Measures of likeness between outputs and targets of the batch, which should become large: cosines and overlaps.

An overlap (dice, Jaccard, Tversky) is recognised by how the loss depends on the prediction p and its product with the
mask t: every hit counts the same, every predicted value counts the same the other way, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ....records.losses import Similarity
from ...calls.activation_origin import Outputs
from ...calls.torch_calls import Call
from ...source.places import user_place

#: A row of length 1 but for rounding: float16 has three digits. By judgement.
_UNIT = 1e-2
#: Relative to the largest: derivatives count as equal within this. By judgement: float32 has six digits.
_EQUAL = 1e-4
#: Different derivatives, of all values: one for each sample, class or both. By judgement: a mask of fewer than 8 values
#: for each of them is not judged.
_FEW = 1 / 8
#: How far a part of the loss may differ from the whole, relatively. By judgement, as in loss_calls.py.
_SAME = 1e-3
_SQUASHED = ("sigmoid", "softmax")


@dataclass
class _Found:
    record: Similarity
    #: The cosines; of an overlap the prediction, its product with the mask, and the mask.
    tensors: tuple[Tensor, ...]


class Similarities:
    def __init__(self, outputs: Outputs, given: Callable[[Tensor], bool]) -> None:
        """`given`: whether a tensor stands in the batch."""
        self._outputs, self._given = outputs, given
        self._found: list[_Found] = []
        #: Products of two tensors whose rows have length 1, kept so that their ids are not reused.
        self._unit_products: dict[int, Tensor] = {}

    def clear(self) -> None:
        self._found.clear()
        self._unit_products.clear()

    def note(self, call: Call, step: int) -> None:
        """To be called after each torch call outside of layers whose result has a graph."""
        first, second = call.args[0], call.args[1] if len(call.args) > 1 else None
        if call.name == "sum" and id(first) in self._unit_products and _over_the_last(call):
            self._add("cosine_similarity", step, call.result)
        if call.name not in ("cosine_similarity", "mul") or not isinstance(second, Tensor):
            return
        output, target = (first, second) if first.requires_grad else (second, first)
        if target.requires_grad or not target.is_floating_point() or target.shape != output.shape or target.ndim < 1:
            return
        if call.name == "cosine_similarity" and self._given(target):
            self._add("cosine_similarity", step, call.result)
        elif call.name == "mul" and _is_mask(target):
            made = self._outputs.made(output)
            if made is not None and made.activation in _SQUASHED and self._given(target):
                self._add("overlap", step, output, call.result, target)
        elif call.name == "mul" and _unit_rows(output) and _unit_rows(target) and self._given(target):
            self._unit_products[id(call.result)] = call.result

    def _add(self, kind: str, step: int, *tensors: Tensor) -> None:
        self._found.append(_Found(Similarity(kind, step, user_place(), float(tensors[0].detach().mean())), tensors))

    def wanted(self) -> list[Tensor]:
        """The tensors whose share in the loss says what a similarity is to it."""
        return [tensor for each in self._found for tensor in each.tensors[:2]]

    def weigh(self, root: Tensor, share_of: Callable[[Tensor], Tensor | None]) -> list[Similarity]:
        """Those that make up the loss that backward() was called on, with the way it goes with them.

        `share_of`: what the backward pass has brought to a tensor. To be called without gradients.
        """
        found, self._found = self._found, []
        weighed = [each.record for each in found if _weigh(each, root, share_of)]
        self.clear()
        return weighed


def _weigh(found: _Found, root: Tensor, share_of: Callable[[Tensor], Tensor | None]) -> bool:
    shares = [share for share in map(share_of, found.tensors[:2]) if share is not None]
    if len(shares) < len(found.tensors[:2]):
        return False
    if found.record.kind == "overlap":
        return _weigh_overlap(found, *shares)
    (share,), (cosines,) = shares, found.tensors
    whole, part = float(root), float((share * cosines).sum())
    even = float(share.max() - share.min()) <= _EQUAL * float(share.abs().max())
    found.record.rises = float(share.sum()) > 0
    # 1 - cosine and -cosine are as they should be: only the cosine itself needs to be all of the loss
    return even and bool(share.any()) and (not found.record.rises or abs(part - whole) <= _SAME * abs(whole))


def _weigh_overlap(found: _Found, of_prediction: Tensor, of_hits: Tensor) -> bool:
    rest = of_prediction - of_hits * found.tensors[2]
    if not _few(of_hits) or not _few(rest):
        return False
    found.record.rises = bool((of_hits > 0).all()) and bool((rest < 0).all())
    return found.record.rises or (bool((of_hits < 0).all()) and bool((rest > 0).all()))


def _few(derivatives: Tensor) -> bool:
    largest = float(derivatives.abs().max())
    if not 0 < largest < float("inf"):
        return False
    different: int = torch.unique((derivatives.double() / (largest * _EQUAL)).round()).numel()
    return different <= max(1.0, _FEW * derivatives.numel())


def _is_mask(tensor: Tensor) -> bool:
    ones = tensor == 1
    return bool(ones.any()) and bool((ones | (tensor == 0)).all()) and not bool(ones.all())


def _unit_rows(tensor: Tensor) -> bool:
    return tensor.shape[-1] > 1 and bool(((tensor.detach().norm(dim=-1) - 1).abs() < _UNIT).all())


def _over_the_last(call: Call) -> bool:
    dim = call.kwargs.get("dim", call.args[1] if len(call.args) > 1 else None)
    dim = dim[0] if isinstance(dim, (tuple, list)) and len(dim) == 1 else dim
    return bool(dim in (-1, call.args[0].ndim - 1))
