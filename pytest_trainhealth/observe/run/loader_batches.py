"""What the loaders of a watched test hand out, and how much of it a step learns from.

Loaders for validation hand out batches, too. One that is learned from is known by its batch being the latest when a
backward pass begins.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from ...tensors.batches import batch_size
from .events import Listener


class LoaderBatches(Listener):
    def __init__(self) -> None:
        #: A cure stands in for the loaders: then it notes what it hands out, and what it reads is its own business.
        self.by_a_cure = False
        #: Batches and samples by loader, until they are counted. Samples are 0 where a batch does not tell.
        self._given: dict[object, tuple[int, int]] = {}
        self._latest: object = None
        self._learned_from: set[object] = set()

    def note(self, loader: Any, batch: Any) -> None:
        """`loader`, or its iterator: they have their sampler in common, and no other loader has it."""
        self._latest = _key(loader._index_sampler)
        batches, samples = self._given.get(self._latest, (0, 0))
        self._given[self._latest] = batches + 1, samples + (batch_size(batch) or 0)

    def backward_begins(self, roots: object) -> None:
        if self._latest is not None:
            self._learned_from.add(self._latest)

    def counted(self) -> tuple[int, int]:
        """Batches and samples that were learned from, since this was last asked. What comes from other loaders may be
        learned from yet: the first batch of an epoch that has a loader of its own."""
        given = [self._given.pop(loader) for loader in self._learned_from & self._given.keys()]
        return sum(batches for batches, _ in given), sum(samples for _, samples in given)


def _key(sampler: Any) -> object:
    """Loaders come and go with epochs, and another may take the place of one that is gone."""
    try:
        key = ref(sampler)
        hash(key)
    except TypeError:  # a list of batches, for one
        return id(sampler)
    return key
