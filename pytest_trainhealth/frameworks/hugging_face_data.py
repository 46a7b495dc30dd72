"""What a Hugging Face Trainer trains on, and how its loop gets batches from somewhere else.

A step is one update: where gradients are accumulated over several batches, the Trainer reads all of them before it
computes anything, because a loss is divided by the number of tokens in all of them. So they are handed out together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .stepwise_loop import StepwiseLoop

#: Batches. By judgement, as for Lightning: a test hands in a few batches of a data set whose epochs are far longer.
_SHORTEST_EPOCH = 10


def batches_of(loader: Any, together: int) -> Any:
    """The batches of a Trainer's own loader; `together`: so many for each update."""
    # what accelerate makes of a loader moves batches to the device, which each step does as well, and tells the running
    # loop that an epoch is over
    plain = getattr(loader, "base_dataloader", loader)
    return plain if together == 1 else Groups(plain, together)


class Groups:
    """Lists of batches, for one update each. What is left over at the end of an epoch is left out."""

    def __init__(self, loader: Any, together: int) -> None:
        self.loader, self.together = loader, together

    def __len__(self) -> int:
        return max(len(self.loader) // self.together, 1)

    def __iter__(self) -> Iterator[list[Any]]:
        group: list[Any] = []
        whole = False
        for batch in self.loader:
            group.append(batch)
            if len(group) == self.together:
                whole = True
                yield group
                group = []
        if group and not whole:  # all there is
            yield [group[index % len(group)] for index in range(self.together)]


class EndlessEpochs:
    """What the Trainer takes for its loader: epochs of the length of the data, whose batches come from the run."""

    def __init__(self, loop: StepwiseLoop, data: Any, together: int) -> None:
        self._loop, self._together = loop, together
        self._updates = max(_length(data), _SHORTEST_EPOCH)

    def __len__(self) -> int:
        return self._updates * self._together

    def __iter__(self) -> Iterator[Any]:
        for _ in range(self._updates):
            given = self._loop.next_batch()
            yield from given if self._together > 1 else (given,)


def _length(data: Any) -> int:
    try:
        return len(data)
    except TypeError:  # a stream
        return _SHORTEST_EPOCH
