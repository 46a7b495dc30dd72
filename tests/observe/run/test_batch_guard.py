"""The user's batches are protected from every step, in a way that does not show in a step's time and memory."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.run.batch_guard import BatchGuard
from pytest_trainhealth.observe.run.feed import Feed
from pytest_trainhealth.programs.plan import Look, RunPlan, Treatment
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram, recorded
from pytest_trainhealth.records.intervention import Cure


class Labelled(Dataset[dict[str, Tensor]]):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"x": torch.full((4,), float(index)), "labels": torch.tensor(index % 2)}


class Endless(IterableDataset[Tensor]):
    def __iter__(self) -> Iterator[Tensor]:
        while True:
            yield torch.ones(4)


def training(data: Any, step: Callable[[nn.Module, Any], Tensor] | None = None) -> Training:
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def own_step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        loss = step(model, batch) if step is not None else model(batch).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=own_step, data=data)


def pops(model: nn.Module, batch: Any) -> Tensor:
    labels = batch.pop("labels")
    return nn.functional.cross_entropy(model(batch["x"].mul_(0.5)), labels)


def drained(notes: SimpleQueue[Any]) -> list[Any]:
    """A list in a step's closure would be put back to its start."""
    return [notes.get() for _ in range(notes.qsize())]


def noting_copies(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    copied: list[Tensor] = []
    original = Tensor.clone

    def clone(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        copied.append(tensor)
        return original(tensor, *args, **kwargs)

    monkeypatch.setattr(Tensor, "clone", clone)
    return copied


@pytest.mark.parametrize("data", [torch.randn(6, 4), [torch.randn(6, 4) for _ in range(50)]], ids=["one", "list"])
def test_a_timed_run_copies_before_its_first_step(monkeypatch: pytest.MonkeyPatch, data: Any) -> None:
    copied = noting_copies(monkeypatch)
    plan = RunPlan(max_steps=9, look=Look(signals=("memory",)), one_batch=False)
    begun = Start(training(data), seed=0, factory=None)
    with recorded(begun.begin(), plan, begun.creation_sites) as run:
        assert len({id(tensor) for tensor in copied if tensor.shape == (6, 4)}) <= 9
        copied.clear()
        for _ in range(9):
            run.feed.take()
            run.feed.give_back()
    begun.close()
    assert copied == []


def test_preloaded_batches_are_protected_like_all_that_come_again() -> None:
    plan = RunPlan(
        max_steps=12, treatment=Treatment(cures=(Cure("preloaded_batches", "", {"count": 2}),)), one_batch=False
    )
    notes: SimpleQueue[float] = SimpleQueue()

    def noted(model: nn.Module, batch: Any) -> Tensor:
        notes.put(float(batch["x"].sum()))
        return pops(model, batch)

    begun = Start(training(DataLoader(Labelled(), batch_size=4), noted), seed=0, factory=None)
    trace = TrainingProgram(begun).record(plan)
    begun.close()
    assert trace.crash is None
    seen = drained(notes)
    assert len(seen) == 12
    assert seen == seen[:2] * 6


def test_preloading_copies_before_the_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    cure = Cure("preloaded_batches", "", {"count": 2})
    plan = RunPlan(max_steps=12, look=Look(signals=("memory",)), treatment=Treatment(cures=(cure,)), one_batch=False)
    begun = Start(training(DataLoader(Labelled(), batch_size=4), pops), seed=0, factory=None)
    with recorded(begun.begin(), plan, begun.creation_sites) as run:
        copied = noting_copies(monkeypatch)
        for _ in range(4):
            run.feed.take()
    begun.close()
    assert copied == []


@pytest.mark.parametrize("persistent", [False, True], ids=["", "persistent"])
def test_workers_end_with_the_run_that_started_them(persistent: bool) -> None:
    alive: SimpleQueue[int] = SimpleQueue()

    def counted(model: nn.Module, batch: Any) -> Tensor:
        alive.put(len(multiprocessing.active_children()))
        return pops(model, batch)

    def factory() -> Training:
        loader = DataLoader(Labelled(), batch_size=4, num_workers=1, persistent_workers=persistent)
        return training(loader, counted)

    report = diagnose(factory, checks=["trains_without_nan"], steps=5)
    assert report.healthy
    assert max(drained(alive)) == 1
    assert multiprocessing.active_children() == []


class Damaged(Labelled):
    def __getitem__(self, index: int) -> dict[str, Tensor]:
        if index == 5:
            raise ValueError("no such file")
        return super().__getitem__(index)


def test_workers_end_although_an_error_still_refers_to_them() -> None:
    feed = Feed(training(DataLoader(Damaged(), batch_size=4, num_workers=2)), one_batch=False)
    with pytest.raises(ValueError, match="no such file") as held:
        feed.take(), feed.take()
    feed.close()
    assert held.tb is not None
    assert multiprocessing.active_children() == []


def test_workers_that_the_user_has_running_go_on() -> None:
    loader = DataLoader(Labelled(), batch_size=4, num_workers=1, persistent_workers=True)
    next(iter(loader))
    workers = multiprocessing.active_children()
    feed = Feed(training(loader), one_batch=False)
    feed.take()
    feed.close()
    assert multiprocessing.active_children() == workers
    del loader, feed


@pytest.mark.parametrize("count", [0, 1], ids=["no workers", "one worker"])
def test_the_first_batch_of_worker_processes_is_known(count: int) -> None:
    feed = Feed(training(DataLoader(Labelled(), batch_size=4, num_workers=count)), one_batch=False)
    starting = [(feed.take(), feed.starting)[1] for _ in range(7)]
    feed.close()
    assert starting == [count and step % 3 == 0 for step in range(7)]


def test_it_is_known_where_the_data_have_no_length() -> None:
    feed = Feed(training(DataLoader(Endless(), batch_size=4, num_workers=1)), one_batch=False)
    starting = [(feed.take(), feed.starting)[1] for _ in range(3)]
    feed.close()
    assert starting == [True, False, False]
    assert multiprocessing.active_children() == []


def test_a_batch_that_is_reshaped_in_place_gets_its_shape_back() -> None:
    first, second = torch.randn(4, 3), torch.zeros(4)
    values, guard = first.clone(), BatchGuard()
    guard.keep((first, second))
    for _ in range(2):
        first.unsqueeze_(1).add_(1)
        second += 1
        guard.restore()
        assert torch.equal(first, values)
        assert torch.equal(second, torch.zeros(4))


class Cuts:
    """A loader that hands out its data themselves."""

    def __init__(self) -> None:
        self.data = torch.ones(12, 4)

    def __len__(self) -> int:
        return 4

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.data[at : at + 5] for at in (0, 3, 6, 7))  # they overlap


def test_data_that_steps_write_into_are_as_before_when_the_run_ends() -> None:
    loader, seen = Cuts(), SimpleQueue[float]()

    def step(model: nn.Module, batch: Tensor) -> Tensor:
        seen.put(float(batch[0, 0]))
        return model(batch.mul_(0.5)).square().mean()  # type: ignore[no-any-return]

    program = TrainingProgram(Start(training(loader, step), seed=0))
    for _ in range(2):
        program.record(RunPlan(max_steps=6, one_batch=False))
        assert torch.equal(loader.data, torch.ones(12, 4))
    assert [seen.get() for _ in range(12)] == [1, 0.5, 0.5, 0.25, 0.5, 0.125] * 2  # within a run the writes stay
