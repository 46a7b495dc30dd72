"""What takes the memory: the largest tensors there were when no more was to be had."""

from __future__ import annotations

import gc
from typing import Any

import torch
from torch import Tensor

from ...records.error_words import words_of
from ...records.errors import HeldTensor
from ..run.run import Run
from .known_tensors import KnownTensors

#: Tensors that are named. By judgement: of more, each takes little.
_MOST = 3
#: Bytes. By judgement: what takes less than a MB is not what fills a memory.
_LARGE = 1_000_000
_WORDS = ("can't allocate memory", "out of memory", "unable to allocate")


def is_about_memory(error: BaseException) -> bool:
    """Torch's own class for accelerators, Python's, and on a CPU a RuntimeError that says so."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(word in words_of(error).lower() for word in _WORDS)


def held_tensors(run: Run, inputs: Any) -> tuple[tuple[HeldTensor, ...], int]:
    """Each piece of memory once, however many tensors look at it; and the bytes of all."""
    known = KnownTensors(run, inputs)
    found: dict[int, tuple[int, Tensor]] = {}
    for each in gc.get_objects():
        if not issubclass(type(each), Tensor):
            continue
        try:
            storage = each.untyped_storage()
            found.setdefault(storage.data_ptr(), (storage.nbytes(), each))
        except Exception:  # without memory of its own: sparse, or of another kind altogether
            continue
    found.pop(0, None)
    sizes = sorted(found.values(), key=lambda pair: pair[0], reverse=True)
    largest = tuple(
        HeldTensor(known.name_of(each), tuple(each.shape), str(each.dtype).removeprefix("torch."), size)
        for size, each in sizes[:_MOST]
        if size >= _LARGE
    )
    return largest, sum(size for size, _ in sizes)
