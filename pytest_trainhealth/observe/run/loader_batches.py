"""What the loaders of a watched test hand out, and how much of it a step learns from.

Loaders for validation hand out batches, too. A loader is used for training if its batch is the latest one when a
backward pass begins.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from torch import Tensor

from ...tensors.batches import batch_size, tensors
from .events import Listener


class LoaderBatches(Listener):
    ONLY_LOOKS = True

    def __init__(self) -> None:
        #: A cure replaces the loaders: it notes the batches that it hands out, and those that it reads do not count.
        self.by_a_cure = False
        #: While a loader makes a batch. What it calls for that is not of the step.
        self.fetching = False
        #: Batches and samples by loader, until they are counted. Samples are 0 if the size of a batch is unknown.
        self._given: dict[object, tuple[int, int]] = {}
        self._latest: object = None
        self._learned_from: set[object] = set()
        #: Not kept alive: whether a step lets go of its batch is its own business.
        self._latest_tensors: list[tuple[str, ref[Tensor]]] = []

    def note(self, loader: Any, batch: Any) -> None:
        """`loader` may be its iterator: the two share their sampler, and no other loader has it."""
        self._latest = _key(loader._index_sampler)
        batches, samples = self._given.get(self._latest, (0, 0))
        self._latest_tensors = [(name, ref(tensor)) for name, tensor in tensors(batch)]
        self._given[self._latest] = batches + 1, samples + (batch_size(batch) or 0)

    def latest_tensors(self) -> list[Tensor]:
        """Of the latest batch that a loader gave, those that still exist."""
        return [tensor for _, tensor in self.latest_named()]

    def latest_named(self) -> list[tuple[str, Tensor]]:
        """The same, each with its name in the batch: `[0]`, `['image']`."""
        return [(name, tensor) for name, each in self._latest_tensors if (tensor := each()) is not None]

    def backward_begins(self, roots: object) -> None:
        if self._latest is not None:
            self._learned_from.add(self._latest)

    def counted(self) -> tuple[int, int]:
        """Batches and samples used for training since the last call. Those of other loaders may still be used: an epoch
        with a new loader reads its first batch before it trains on it."""
        given = [self._given.pop(loader) for loader in self._learned_from & self._given.keys()]
        return sum(batches for batches, _ in given), sum(samples for _, samples in given)


def _key(sampler: Any) -> object:
    """Epochs may create new loaders, and a new one may get the id of one that is gone."""
    try:
        key = ref(sampler)
        hash(key)
    except TypeError:  # a list of batches, for example
        return id(sampler)
    return key
