"""Which numbers stand for a tensor, whatever it is made of.

A DTensor has its part of the whole here, and asking for the whole would wait for other processes. A jagged tensor has
the values of its rows. Of a class of the user's own nobody knows, and every question would be one that the class is
asked by us. Meta and fake tensors have no values at all.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.nn.parameter import is_lazy

#: Types of one byte and less that torch computes nothing with.
_TOO_SMALL = tuple(
    getattr(torch, name)
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
    if hasattr(torch, name)
)
_UNTOUCHED: Any = Tensor.__torch_dispatch__


class Unreadable(TypeError):
    """A tensor whose values nobody but its own class can read, or that has none."""

    def __init__(self, tensor: Tensor) -> None:
        where = " on the meta device" if tensor.is_meta else ""
        super().__init__(f"a {type(tensor).__name__}{where} has no values that can be read")


def values_of(tensor: Tensor) -> Tensor | None:
    """A plain, detached tensor that may be computed with: floating point, complex or whole numbers. None: not read."""
    if is_lazy(tensor):
        return None
    found = _plain(tensor)
    if found is None or found.is_meta or is_released(found):
        return None
    found = found.detach()
    if found.is_quantized:
        return found.dequantize()
    if found.layout != torch.strided:
        # without adding up what stands twice: the values, wherever they belong
        found = found._values() if found.layout == torch.sparse_coo else found.values()
    return found.to(torch.float32) if found.dtype in _TOO_SMALL else found


def is_ordinary(tensor: Tensor) -> bool:
    """Whether it is its own values, which almost all tensors are."""
    return type(tensor).__torch_dispatch__ is _UNTOUCHED and not tensor.is_meta and not is_released(tensor)


def is_sharded(tensor: Tensor) -> bool:
    """Whether this process has only its part of it."""
    return type(tensor).__torch_dispatch__ is not _UNTOUCHED and type(tensor).__name__ == "DTensor"


def is_released(tensor: Tensor) -> bool:
    """Whether its memory was given back while it still says its shape, as FSDP does between two uses of a layer.

    Whoever reads such a tensor reads memory that belongs to others, and the process ends.
    """
    if tensor.layout != torch.strided or tensor.is_nested:
        return False
    return tensor.untyped_storage().nbytes() == 0 and tensor.numel() > 0


def _plain(tensor: Tensor) -> Tensor | None:
    for _ in range(4):  # a parameter that is a DTensor of jagged tensors, say
        if is_functorch_wrapped_tensor(tensor):
            return None
        if type(tensor).__torch_dispatch__ is _UNTOUCHED:
            return None if tensor.is_nested and tensor.layout != torch.strided else tensor
        inner = _inside(tensor)
        if inner is None:
            return None
        tensor = inner
    return None


def _inside(tensor: Any) -> Tensor | None:
    kind = type(tensor)
    if not kind.__module__.startswith("torch."):
        return None
    name = {"DTensor": "_local_tensor", "NestedTensor": "_values"}.get(kind.__name__)
    found = None if name is None else getattr(tensor, name, None)
    return found if isinstance(found, Tensor) else None
