"""A few letters that differ when any bit of a value does."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

#: Bytes of a fingerprint. By judgement: with 8, two of a billion values look alike once in forty runs of a lifetime.
_BYTES = 8
#: How deep values inside of values are read. By judgement: the state of an optimizer has 3 levels.
_DEEPEST = 8


class NoFingerprint(TypeError):
    """An object that says nothing about its values."""


def fingerprint(value: Any) -> str:
    """Of tensors, arrays, numbers, text and containers of these. Raises `NoFingerprint` for anything else."""
    found = hashlib.blake2b(digest_size=_BYTES)
    _add(found, value, 0)
    return found.hexdigest()


def _add(found: Any, value: Any, depth: int) -> None:
    if isinstance(value, Tensor):
        found.update(f"{value.dtype}{tuple(value.shape)}".encode())
        found.update(_bytes(value))
    elif isinstance(value, np.ndarray) and value.dtype != object:
        found.update(f"{value.dtype}{value.shape}".encode())
        found.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, np.generic)):
        found.update(f"{type(value).__name__}{value!r}".encode())
    elif isinstance(value, (Mapping, list, tuple, set, frozenset)) and depth < _DEEPEST:
        found.update(f"{type(value).__name__}{len(value)}".encode())
        parts: Any = value.items() if isinstance(value, Mapping) else value
        if isinstance(value, (set, frozenset)):
            parts = sorted(value, key=repr)
        for part in parts:
            _add(found, part, depth + 1)
    else:
        raise NoFingerprint(type(value).__name__)


@torch.no_grad()
def _bytes(tensor: Tensor) -> Any:
    if is_lazy(tensor) or tensor.is_meta:
        return b""
    plain = tensor.detach()
    if plain.is_quantized:
        plain = plain.int_repr()
    elif plain.layout is not torch.strided:
        plain = plain.to_dense()
    flat = plain.resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().data if flat.numel() else b""
