"""The time of a batch is measured as a DataLoader reads it, even while the user's own profiler runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset

from pytest_trainhealth.observe.signals.speed import call_times
from pytest_trainhealth.observe.signals.speed.call_times import CallTimes
from pytest_trainhealth.observe.signals.speed.line_times import LineTimes
from pytest_trainhealth.observe.signals.speed.loading import loading_of


class InOneGo(Dataset[Tensor]):
    """As those of Hugging Face."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: int) -> Tensor:
        raise AssertionError("no DataLoader reads it sample by sample")

    def __getitems__(self, indices: list[int]) -> list[Tensor]:
        self.asked.append(indices)
        return [torch.zeros(3).sin() for _ in indices]


def test_a_dataset_that_reads_many_samples_is_asked_for_a_batch() -> None:
    dataset = InOneGo()
    found = loading_of(DataLoader(dataset, batch_size=32))
    assert dataset.asked[0] == list(range(32))
    assert found is not None
    assert found.batch_size == 32
    assert found.item_place is not None
    assert "zeros(3).sin()" in found.item_place.code


class Asking(Dataset[int]):
    """Notes which hooks are on while it is read, and while a batch is put together."""

    def __init__(self) -> None:
        self.reading: list[bool] = []
        self.collating: list[bool] = []

    def __len__(self) -> int:
        return 20

    def __getitem__(self, index: int) -> int:
        self.reading.append(_is_watched())
        return index

    def collate(self, samples: list[int]) -> list[int]:
        self.collating.append(_is_watched())
        time.sleep(0.01)
        return samples


def _is_watched() -> bool:
    hooks = sys.getprofile(), sys.gettrace()
    return any(isinstance(getattr(hook, "__self__", None), CallTimes | LineTimes) for hook in hooks)


def test_nothing_is_timed_while_it_is_watched() -> None:
    """A hook makes Python code two or three times slower, and the workers that are needed as many more."""
    dataset = Asking()
    found = loading_of(DataLoader(dataset, batch_size=20, collate_fn=dataset.collate))
    assert dataset.reading[:20] == [False] * 20
    assert all(dataset.reading[20:])
    assert dataset.collating == [False, True]
    assert found is not None
    assert found.collate_place is not None
    assert found.collate_place.code == "time.sleep(0.01)"


@pytest.mark.parametrize("hook", [CallTimes, LineTimes])
def test_a_closer_look_that_is_still_open_is_not_timed(hook: type[CallTimes] | type[LineTimes]) -> None:
    """Where the last step of a watched test ends is not known, so the look at it ends after the samples are read."""
    dataset = Asking()
    with hook():
        loading_of(DataLoader(dataset, batch_size=4, collate_fn=dataset.collate))
        assert _is_watched()
    assert dataset.reading[:4] == [False] * 4
    assert dataset.collating[0] is False


def test_figures_are_kept_where_a_batch_can_be_made_only_once() -> None:
    class Emptied(Asking):
        def collate(self, samples: list[int]) -> list[int]:
            if self.collating:
                raise RuntimeError("there is no second time")
            return super().collate(samples)

    dataset = Emptied()
    found = loading_of(DataLoader(dataset, batch_size=4, collate_fn=dataset.collate))
    assert found is not None
    assert found.item > 0
    assert found.collate > 0


class Sleeping(Dataset[int]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        time.sleep(0.02)
        return index


class Computing(Sleeping):
    def __getitem__(self, index: int) -> int:
        return sum(i * i for i in range(100_000))


def test_waiting_is_told_from_computing() -> None:
    asleep, at_work = (loading_of(DataLoader(dataset, batch_size=4)) for dataset in (Sleeping(), Computing()))
    assert asleep is not None
    assert at_work is not None
    assert asleep.busy < 0.5 * at_work.busy
    assert at_work.busy <= 1.0


#: Many times as long as a batch after that.
_BEGINNING = 0.4


class Numbers(IterableDataset[Tensor]):
    """Endless, and slow to begin: as one that shuffles fills its buffer first."""

    def __init__(self) -> None:
        self.begun = 0
        self.given = 0

    def __iter__(self) -> Iterator[Tensor]:
        self.begun += 1
        time.sleep(_BEGINNING)
        while True:
            self.given += 1
            time.sleep(0.001)
            yield torch.tensor([1.0])


def test_an_endless_iteration_is_read_for_a_batch() -> None:
    dataset = Numbers()
    found = loading_of(DataLoader(dataset, batch_size=8))
    assert found is not None
    assert found.iterable
    assert (found.dataset, found.reader, found.batch_size) == ("Numbers", "__iter__", 8)
    assert 0 < found.item * 8 < _BEGINNING / 2  # which is no part of every batch
    assert dataset.begun == 2
    assert dataset.given == 16
    assert found.item_place is not None
    assert found.item_place.code == "time.sleep(0.001)"


class Finished(IterableDataset[Tensor]):
    def __iter__(self) -> Iterator[Tensor]:
        return iter(())


class Once(IterableDataset[Tensor]):
    def __init__(self) -> None:
        self.stream = iter(torch.arange(100.0))

    def __iter__(self) -> Iterator[Tensor]:
        return self.stream


class Broken(IterableDataset[Tensor]):
    def __iter__(self) -> Iterator[Tensor]:
        raise OSError("the connection is closed")


@pytest.mark.parametrize("kind", [Finished, Once, Broken])
def test_what_cannot_be_iterated_again_is_left_alone(kind: type[IterableDataset[Tensor]]) -> None:
    dataset = kind()
    found = loading_of(DataLoader(dataset, batch_size=4))
    assert found is not None
    assert found.iterable
    assert found.batch == 0.0
    if isinstance(dataset, Once):
        assert next(dataset.stream) == 0.0


@pytest.mark.parametrize("batch_size", [1, None])
def test_an_iteration_over_single_samples_and_over_whole_batches(batch_size: int | None) -> None:
    found = loading_of(DataLoader(Numbers(), batch_size=batch_size))
    assert found is not None
    assert found.batch_size == 1
    assert found.item > 0


class WrittenInC:
    """What `sys.getprofile()` gives under cProfile: no function, so it cannot be set again."""


@pytest.mark.parametrize("before", [None, WrittenInC(), lambda *told: None], ids=["none", "in C", "a function"])
def test_a_profiler_of_the_users_own_stays(monkeypatch: pytest.MonkeyPatch, before: Any) -> None:
    active = [before]
    monkeypatch.setattr(call_times.sys, "getprofile", lambda: active[-1])
    monkeypatch.setattr(call_times.sys, "setprofile", active.append)
    times = CallTimes()
    with times:
        looked = active[-1] is not before
    assert active[-1] is before
    assert looked == (before is None or callable(before))
    assert len(active) == (3 if looked else 1)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="cProfile is no profiling function any more")
def test_beside_cprofile() -> None:
    import cProfile

    profile = cProfile.Profile()
    profile.enable()
    try:
        with CallTimes() as times:
            sum([1])
        assert sys.getprofile() is profile
    finally:
        profile.disable()
    assert times.records() == []
