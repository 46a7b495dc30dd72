"""Whether a sample differs each time it is read. It is read again only if the stored data have changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ....records.data import SampleChange
from ....records.verdict import Place
from ....tensors.batches import tensors
from ....tensors.norms import norms
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import place_of
from .stored_data import Stored, Writes, dataset_of, put_back_random_numbers, stored_in

#: How often a sample is read once it is known that something writes into the stored data. By judgement: three readings
#: tell a change that goes on from one that happened once.
_READS = 3
#: Other samples that are read in between. By judgement: 3 are enough to fill a shared buffer.
_BETWEEN = 3
#: A change beyond rounding, relative to the sample. By judgement: rounding is 1e-7 in float32.
_CLEAR = 1e-3
#: Smallest assumed size of a sample, so that one of zeros has a limit, too: below any value that matters (1e-12).
_NO_ZERO = 1e-12


class Samples(Signal):
    NAME, COST = "samples", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._stored: list[Stored] = []

    def run_begins(self) -> None:
        dataset = dataset_of(self._run.feed.source) if self._run.feed is not None else None
        self._stored = [] if dataset is None else stored_in(dataset)

    def run_ends(self) -> None:
        changed = [s for s in self._stored if s.changed]
        dataset = dataset_of(self._run.feed.source) if changed and self._run.feed is not None else None
        if dataset is not None:
            with put_back_random_numbers() as again:
                self._run.trace.data.sample_change = _read_again(dataset, changed, again)
        self._stored.clear()


def _read_again(dataset: Any, changed: list[Stored], again: Callable[[], None]) -> SampleChange | None:
    """Reads one sample with the same random numbers: twice from the same data, then with others read in between."""
    before = [Stored(s.name, s.values) for s in changed]
    writes = Writes([s.values for s in changed])

    def read() -> list[Tensor]:
        again()
        with writes:
            return [t.detach().clone() for _, t in tensors(_as_tensors(dataset[0]))]

    def put_back() -> None:
        for stored in before:
            stored.put_back()

    try:
        first = read()
        put_back()
        found = [read()]
        if _differ(first, found[0]):
            return None  # it changes by itself: a schedule, or its own random numbers
        for _ in range(_READS - 1):
            for _ in range(_BETWEEN):
                dataset[0]  # goes on with other random numbers
            found.append(read())
        culprit = sorted({stored.name for stored in before if stored.changed})
    except Exception:  # a sample that cannot be read by itself proves nothing
        return None
    finally:
        put_back()
    if not culprit or not _differ(found[0], found[-1]):
        return None
    means = tuple(float(values[0].double().mean()) for values in found)
    place = next(iter(writes.places.values()), None) or _place_of_getitem(dataset)
    return SampleChange(type(dataset).__name__, culprit[0], 0, means, place)


def _as_tensors(sample: Any) -> Any:
    if isinstance(sample, np.ndarray):
        return torch.from_numpy(sample.copy()) if sample.dtype.kind in "fiub" else None
    if isinstance(sample, (list, tuple)):
        return [_as_tensors(each) for each in sample]
    return {key: _as_tensors(each) for key, each in sample.items()} if isinstance(sample, dict) else sample


def _differ(one: list[Tensor], other: list[Tensor]) -> bool:
    """Whether any tensor of the sample changed by more than rounding."""
    for first, second in zip(one, other, strict=False):
        if first.shape == second.shape:
            change, size = norms([second.double() - first.double(), first.double()])
            if change > _CLEAR * max(size, _NO_ZERO):
                return True
    return False


def _place_of_getitem(dataset: Any) -> Place | None:
    try:
        file, line = inspect.getsourcefile(type(dataset).__getitem__), inspect.getsourcelines(type(dataset).__getitem__)
    except (OSError, TypeError):
        return None
    return None if file is None else place_of(file, line[1])
