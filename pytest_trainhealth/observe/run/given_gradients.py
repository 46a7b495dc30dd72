"""`loss.backward(gradient=factor)` is the backward pass of `factor * loss`: whoever reads its graph has to see that.

A sign or a factor that is given this way turns a training round, or divides it by the number of passes, as one that is
written before the loss does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...tensors.aside import Aside
from ...tensors.function_modes import inside_transform, unseen


def with_its_gradient(roots: list[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    """The roots, or for a single number with a factor of its own their product; it knows where the pass begins.

    `args` and `kwargs` are those of `Tensor.backward()`, or of `torch.autograd.backward()` after its tensors.
    """
    given = args[0] if args else kwargs.get("gradient", kwargs.get("grad_tensors"))
    if given is None or len(roots) != 1 or inside_transform():
        return roots
    factor = given[0] if isinstance(given, (list, tuple)) and len(given) == 1 else given
    with Aside():  # modes of the user's own see even that a shape is asked for
        return _weighted(roots[0], factor)


@unseen
def _weighted(root: Tensor, factor: Any) -> list[Tensor]:
    if not _is_number(root) or not _is_number(factor) or root.grad_fn is None or factor.requires_grad:
        return [root]
    with torch.enable_grad():
        product = root * factor.detach()
    product.begins_at = root
    return [product]


def begins_at(root: Tensor) -> Tensor:
    """The tensor of the user's that a pass begins at."""
    found = getattr(root, "begins_at", root) if type(root) is Tensor else root
    return found if isinstance(found, Tensor) else root


def _is_number(value: Any) -> bool:
    plain = type(value) is Tensor and value.layout == torch.strided and value.is_floating_point()
    return plain and value.numel() == 1 and not value.is_meta
