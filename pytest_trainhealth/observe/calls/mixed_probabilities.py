"""Probabilities that were mixed after their sigmoid or softmax: a mean over time, weighted by attention, a maximum.

Read off the autograd graph: each way back from the tensor leads to such a function, through operations that only mix,
choose or move values. Nothing that is trained comes after it, which could turn probabilities into scores again.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

#: By the names of their operations in the graph.
_PROBABILITIES = {"Sigmoid": "sigmoid", "Hardsigmoid": "hardsigmoid", "Softmax": "softmax"}
_MIXES = frozenset((
    "Mul", "Div", "Add", "Sub", "Rsub", "Pow", "Sum", "Mean", "Prod", "Bmm", "Where", "MaskedFill",
    "Max", "Min", "Amax", "Amin", "Maximum", "Minimum", "Median", "Sort", "Topk", "Kthvalue",
    "Clamp", "ClampMin", "ClampMax", "Cat", "Stack", "Unbind", "Split", "SplitWithSizes", "Index", "IndexSelect",
    "Gather", "Select", "Slice", "Narrow", "Expand", "Repeat", "Clone", "Alias", "ToCopy", "View", "UnsafeView",
    "ReshapeAlias", "Squeeze", "Unsqueeze", "Permute", "Transpose", "T", "AvgPool2D", "AvgPool3D", "AdaptiveAvgPool2D",
    "AdaptiveAvgPool3D", "MaxPool2DWithIndices", "MaxPool3DWithIndices", "UpsampleNearest1D", "UpsampleNearest2D",
    "UpsampleLinear1D", "UpsampleBilinear2D",
))  # fmt: skip
#: Operations that are followed at most. By judgement: pooling takes some five of them, and noisy-or some ten.
_MOST_NODES = 100


def mixed_from(tensor: Tensor) -> tuple[str, ...]:
    """The functions whose outputs it is a mix of; none if anything else has a part in it."""
    found: set[str] = set()
    seen: set[Any] = {tensor.grad_fn} - {None}
    todo = list(seen)
    while todo:
        node = todo.pop()
        name = node.name().partition("Backward")[0]
        if name in _PROBABILITIES:
            found.add(_PROBABILITIES[name])
            continue
        if name not in _MIXES or len(seen) > _MOST_NODES:
            return ()
        fresh = {inner for inner, _ in node.next_functions if inner is not None} - seen
        seen |= fresh
        todo += fresh
    return tuple(sorted(found))
