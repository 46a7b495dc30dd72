"""Where the time goes while a batch is made: reading each sample, or collating them."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from ....records.speed import CallRecord, LoadingRecord
from ....records.verdict import Place
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.authorship import is_library_file
from ...source.engine_frames import stand_in
from ...source.places import place_of
from .call_times import CallTimes
from .line_times import LineTimes

#: Seconds after which reading stops, even before the batch is full. By judgement: a diagnosis can afford a second.
_LONGEST = 1.0
#: Samples that are read again to find the slowest line, and the seconds after which reading stops. By judgement: 16
#: samples run each line often enough to time it.
_WATCHED, _LONGEST_WATCHED = 16, 0.5
_NO_MORE = object()
_Watching = AbstractContextManager[object]


class Loading(Signal):
    """When the run is over, a few samples are read in this process, as a worker would read them."""

    NAME, COST = "loading", Cost.SPEED

    def __init__(self, run: Run) -> None:
        self._run = run
        self._loader: Any = None
        self._patched = ExitStack()

    def run_begins(self) -> None:
        source = getattr(self._run.feed, "source", None)
        if isinstance(source, DataLoader):
            self._loader = source
        elif self._run.feed is None:  # a watched test has its own loaders; the first one it reads counts
            original = DataLoader.__iter__
            self._patched.callback(setattr, DataLoader, "__iter__", original)

            @stand_in
            def noted(loader: Any) -> Any:
                self._loader = self._loader or loader
                return original(loader)

            DataLoader.__iter__ = noted  # type: ignore[method-assign]

    def run_ends(self) -> None:
        self._patched.close()
        if self._loader is not None and sys.exc_info()[1] is None:  # after an error or Ctrl-C nobody wants to wait
            try:
                self._run.trace.speed.loading = loading_of(self._loader)
            except Exception:  # a sample that cannot be read by itself proves nothing
                self._run.trace.speed.loading = None
        self._loader = None


def loading_of(loader: Any) -> LoadingRecord | None:
    dataset = loader.dataset
    name, workers = type(dataset).__name__, loader.num_workers
    if isinstance(dataset, IterableDataset):
        known = LoadingRecord(name, workers, loader.batch_size or 1, item=0.0, iterable=True)
        try:
            return _measured(known, loader, lambda *how: _iterated(dataset, *how), dataset.__iter__)
        except Exception:  # cannot be read a second time: it is still worth knowing that the dataset is iterable
            return known
    if loader.batch_sampler is None:
        return None
    indices = list(next(iter(loader.batch_sampler)))
    known = LoadingRecord(name, workers, len(indices), item=0.0)
    # called once per batch if a dataset has it: that may be far cheaper than sample by sample
    reads_many = getattr(dataset, "__getitems__", None) or None
    if reads_many is not None:
        return _measured(known, loader, lambda *how: _read_many(reads_many, indices, *how), reads_many)
    return _measured(
        known,
        loader,
        lambda *how: _read((dataset[index] for index in indices), *how),
        getattr(type(dataset), "__getitem__", None),
    )


@dataclass
class _Reading:
    samples: Any
    #: How many samples were read, and the seconds that one took.
    count: int
    item: float
    #: The part of these seconds in which a processor was busy.
    busy: float


def _measured(
    known: LoadingRecord,
    loader: Any,
    read: Callable[[int, float, _Watching], _Reading],
    reader: Callable[..., Any] | None,
) -> LoadingRecord:
    """Reads twice: profiling slows Python code down two or three times, so the second pass only finds the lines."""
    with _unwatched():
        reading = read(known.batch_size, _LONGEST, nullcontext())
        began, computing = time.perf_counter(), time.thread_time()
        loader.collate_fn(reading.samples)
        collate, collate_busy = time.perf_counter() - began, time.thread_time() - computing
    of_all = reading.count / known.batch_size
    items = reading.item * reading.count
    in_items, in_collate = CallTimes(inside=__file__), CallTimes(inside=__file__)
    with suppress(Exception):  # the figures are known already; the lines are a bonus
        again = read(min(_WATCHED, known.batch_size), _LONGEST_WATCHED, in_items)
        with in_collate:
            loader.collate_fn(again.samples)
    return replace(
        known,
        item=reading.item,
        collate=collate / of_all,
        item_place=_slowest(in_items.records()) or _defined_at(reader),
        collate_place=_slowest(in_collate.records()) or _defined_at(loader.collate_fn),
        busy=min((reading.busy * items + collate_busy) / max(items + collate, 1e-12), 1.0),
    )


@contextmanager
def _unwatched() -> Iterator[None]:
    """Removes our own hooks: when a watched test ends, the closer look at its last step may still be open.

    Hooks of others, such as a debugger or coverage, slow down the steps just as much, and stay.
    """
    with ExitStack() as again:
        for get, put in ((sys.getprofile, sys.setprofile), (sys.gettrace, sys.settrace)):
            hook: Any = get()
            if isinstance(getattr(hook, "__self__", None), (CallTimes, LineTimes)):
                again.callback(put, hook)
                put(None)
        yield


def _read(samples: Iterator[Any], most: int, max_seconds: float, watching: _Watching) -> _Reading:
    taken: list[Any] = []
    seconds, busy = [], []
    ends = time.perf_counter() + max_seconds
    with watching:
        while len(taken) < most and (not taken or time.perf_counter() < ends):
            began, computing = time.perf_counter(), time.thread_time()
            sample = next(samples, _NO_MORE)
            if sample is _NO_MORE:
                break
            busy.append(time.thread_time() - computing)
            seconds.append(max(time.perf_counter() - began, 1e-9))
            taken.append(sample)
    # On a busy machine some samples are interrupted, and seem to wait; most are not.
    typical = median(own / whole for own, whole in zip(busy, seconds, strict=True))
    return _Reading(taken, len(taken), mean(seconds), max(typical, sum(busy) / sum(seconds)))


def _read_many(
    reads_many: Callable[[list[Any]], Any], indices: list[Any], most: int, max_seconds: float, watching: _Watching
) -> _Reading:
    """Reads a whole batch: its time may have little to do with how many samples are in it."""
    indices_read = indices[:most]
    with watching:
        began, computing = time.perf_counter(), time.thread_time()
        samples = reads_many(indices_read)
        busy, took = time.thread_time() - computing, time.perf_counter() - began
    return _Reading(samples, len(indices_read), took / len(indices_read), busy / max(took, 1e-9))


def _iterated(dataset: Any, most: int, max_seconds: float, watching: _Watching) -> _Reading:
    """Reads from a new iterator. If the dataset has only one, the next run would lack these samples.

    The first sample does not count: for it, an iteration opens files, or fills a shuffle buffer.
    """
    earlier, samples = iter(dataset), iter(dataset)
    if samples is earlier:
        raise ValueError("this can be iterated only once")
    first = next(samples)
    reading = _read(samples, max(most - 1, 1), max_seconds, watching)
    together = [first, *reading.samples][:most]
    return replace(reading, samples=together, count=len(together))


def _slowest(calls: list[CallRecord]) -> Place | None:
    return next((call.place for call in calls if call.place is not None), None)


def _defined_at(function: Callable[..., Any] | None) -> Place | None:
    try:
        file, line = inspect.getsourcefile(function), inspect.getsourcelines(function)[1]  # type: ignore[arg-type]
    except (OSError, TypeError):
        return None
    return None if file is None or is_library_file(file) else place_of(file, line)
