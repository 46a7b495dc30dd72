"""Where the time goes while a batch is made: each sample's `__getitem__`, or putting them together."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import islice
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from ..facts import Place
from ..records.speed import CallRecord, LoadingRecord
from .calling import CallTimes
from .places import place_of
from .run import Run

#: Samples that are read to know what one takes, and the seconds after which fewer have to do.
_SAMPLES, _LONGEST = 16, 1.0


class Loading:
    """When the run is over a few samples are read in this process, as a worker would read them."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._loader: Any = None
        self._patched = ExitStack()

    def run_begins(self) -> None:
        source = getattr(self._run.feed, "source", None)
        if isinstance(source, DataLoader):
            self._loader = source
        elif self._run.feed is None:  # a watched test has its own loaders; the first that it reads counts
            original = DataLoader.__iter__
            self._patched.callback(setattr, DataLoader, "__iter__", original)

            def noted(loader: Any) -> Any:
                self._loader = self._loader or loader
                return original(loader)

            DataLoader.__iter__ = noted  # type: ignore[method-assign]

    def run_ends(self) -> None:
        self._patched.close()
        if self._loader is not None:
            try:
                self._run.trace.speed.loading = loading_of(self._loader)
            except Exception:  # a sample that cannot be read by itself tells nothing
                self._run.trace.speed.loading = None
            self._loader = None


def loading_of(loader: Any) -> LoadingRecord | None:
    dataset = loader.dataset
    if isinstance(dataset, IterableDataset) or loader.batch_sampler is None:
        return None
    indices = list(next(iter(loader.batch_sampler)))
    samples, item, dearest = _read(dataset, indices[:_SAMPLES])
    began = time.perf_counter()
    with CallTimes(inside=__file__) as calls:
        loader.collate_fn(samples)
    collate = (time.perf_counter() - began) * len(indices) / len(samples)
    own = dearest or _defined_at(getattr(type(dataset), "__getitem__", None))
    return LoadingRecord(
        type(dataset).__name__,
        loader.num_workers,
        len(indices),
        item,
        collate,
        own,
        _dearest(calls.records()) or _defined_at(loader.collate_fn),
    )


def _read(dataset: Any, indices: list[Any]) -> tuple[list[Any], float, Place | None]:
    """Samples, the seconds that one takes, and the dearest line."""
    samples: list[Any] = []
    began = time.perf_counter()
    for index in indices:
        samples.append(dataset[index])
        if time.perf_counter() - began > _LONGEST:
            break
    took = (time.perf_counter() - began) / len(samples)
    with CallTimes(inside=__file__) as calls:  # once more: being watched takes time
        for index in islice(indices, 2):
            dataset[index]
    return samples, took, _dearest(calls.records())


def _dearest(calls: list[CallRecord]) -> Place | None:
    return next((call.place for call in calls if call.place is not None), None)


def _defined_at(function: Callable[..., Any] | None) -> Place | None:
    try:
        file, line = inspect.getsourcefile(function), inspect.getsourcelines(function)[1]  # type: ignore[arg-type]
    except (OSError, TypeError):
        return None
    from .origin import is_library_file

    return None if file is None or is_library_file(file) else place_of(file, line)
