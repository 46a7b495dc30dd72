"""Who has written into a tensor in place: seen by the version that torch counts for each tensor."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from torch import Tensor

from ...records.errors import Write
from ...records.verdict import Place
from ..source.places import user_place
from .known_tensors import KnownTensors

#: What autograd says of a tensor that it had kept: its shape, the version found, and the one that it was kept at.
_COMPLAINT = re.compile(
    r"\[torch\.[\w.]*Tensor \[(?P<shape>[\d, ]*)\]\].*is at version (?P<found>\d+); expected version (?P<kept>\d+)",
    re.DOTALL,
)
#: Writes that are remembered. By judgement: those of two steps of an optimizer with a few thousand parameters.
_MOST = 20_000
#: Lines that are shown. By judgement: if more fit, the message says more than they do.
_MOST_LINES = 3


@dataclass
class _Written:
    operation: str
    place: Place | None
    shape: tuple[int, ...]
    version: int
    tensor: int


class Writes:
    def __init__(self) -> None:
        self._written: list[_Written] = []

    def clear(self) -> None:
        self._written.clear()

    def versions(self, tensors: Iterable[Tensor]) -> list[tuple[Tensor, int]]:
        return [(tensor, version) for tensor in tensors if (version := _version(tensor)) is not None]

    def note(self, operation: str, before: list[tuple[Tensor, int]]) -> None:
        place, looked = None, False
        for tensor, version in before:
            now = _version(tensor)
            if now is None or now <= version or len(self._written) >= _MOST:
                continue
            if not looked:
                place, looked = user_place(), True
            self._written.append(_Written(operation, place, tuple(tensor.shape), now, id(tensor)))

    def that_fit(self, message: str, known: KnownTensors) -> tuple[Write, ...]:
        """Those after which autograd found a tensor of this shape other than it had kept it: the first of each."""
        complaint = _COMPLAINT.search(message)
        if complaint is None:
            return ()
        shape = tuple(int(size) for size in complaint["shape"].split(",") if size.strip())
        kept, found = int(complaint["kept"]), int(complaint["found"])
        between = [each for each in self._written if kept < each.version <= found]
        # or one that it is a view of: they share their version
        same = [each for each in between if each.shape == shape] or [
            each for each in between if prod(each.shape) > prod(shape)
        ]
        # a tensor that was written to up to the version found, and no further
        ends = {each.tensor for each in same if each.version == found}
        fitting = [each for each in same if each.tensor in ends and each.version == kept + 1] or [
            each for each in same if each.tensor in ends
        ]
        words = [Write(each.operation, each.place, known.parameter_by_id(each.tensor)) for each in fitting]
        return tuple(dict.fromkeys(words))[:_MOST_LINES]


def _version(tensor: Tensor) -> int | None:
    try:
        return tensor._version
    except RuntimeError:  # a tensor of inference mode has none
        return None
