"""Log-probabilities times rewards: the objective of a policy, recognised by the names in the user's line.

The same computation with a cost instead of a reward needs the opposite sign, so only the name can decide. It counts
only if the factor is just that name, without a minus or anything else around it.
"""

from __future__ import annotations

import ast

from torch import Tensor

from ...source.places import user_place

_BETTER = {"reward", "rewards", "return", "returns", "advantage", "advantages"}
_TURNED = {"neg", "negative", "negated", "minus", "inverse"}
#: Fewer values than these may all be below 0 by chance.
_FEWEST = 8


def is_rewarded(input: Tensor, factor: Tensor) -> bool:
    """For two tensors about to be multiplied: `input` has a graph, `factor` has none."""
    if input.numel() < _FEWEST or input.numel() != factor.numel() or float(input.max()) > 0:
        return False
    place = user_place()
    return place is not None and multiplies_by_reward(place.code)


def multiplies_by_reward(line: str) -> bool:
    try:
        tree = ast.parse(line.strip())
    except SyntaxError:  # only part of a longer statement
        return False
    products = (node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult))
    return any(_is_reward(side) for product in products for side in (product.left, product.right))


def _is_reward(side: ast.expr) -> bool:
    name = ""
    if isinstance(side, ast.Name):
        name = side.id
    elif isinstance(side, ast.Attribute):
        name = side.attr
    elif isinstance(side, ast.Subscript) and isinstance(side.slice, ast.Constant):
        name = str(side.slice.value)
    words = name.lower().split("_")
    return words[-1] in _BETTER and not _TURNED & set(words)
