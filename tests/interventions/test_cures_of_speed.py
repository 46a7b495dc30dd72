"""Cures that show why a training is slow: each changes nothing but the fault it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from pytest_trainhealth.analysis.timing import samples_a_step
from pytest_trainhealth.interventions.machine import detached
from pytest_trainhealth.observe.run.run import Run
from pytest_trainhealth.observe.signals.speed.live_graphs import nodes_of
from pytest_trainhealth.programs.plan import RunPlan, Treatment
from pytest_trainhealth.programs.watched_program import WatchedProgram
from pytest_trainhealth.records.intervention import Cure
from pytest_trainhealth.records.trace import Trace

PRELOADED = Cure("preloaded_batches", "", {"count": 4})


class Stream(IterableDataset[Tensor]):
    """Without a length, and without an end where there is no number."""

    def __init__(self, number: int | None) -> None:
        self._number = number

    def __iter__(self) -> Iterator[Tensor]:
        read = 0
        while self._number is None or read < self._number:
            read += 1
            yield torch.full((4,), float(read))


def script(loader: Callable[[], Any], epochs: int = 1, use: Callable[[Any], Tensor] = lambda batch: batch) -> Any:
    def body() -> None:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)
        batches = loader()
        for _ in range(epochs):
            for batch in batches:
                optimizer.zero_grad()
                model(use(batch)).square().mean().backward()
                optimizer.step()

    return body


def cured(body: Callable[[], object]) -> Trace:
    return WatchedProgram(body, 0).record(RunPlan(max_steps=0, treatment=Treatment(cures=(PRELOADED,))))


@pytest.mark.parametrize(("number", "steps"), [(0, 0), (2, 2), (20, 20), (None, 64)], ids=str)
def test_batches_without_a_length_are_as_many_as_there_are(number: int | None, steps: int) -> None:
    trace = cured(script(lambda: DataLoader(Stream(number), batch_size=1), epochs=2))
    assert trace.crash is None
    assert trace.steps == 2 * steps


def test_preloaded_batches_of_a_script_may_be_written_into() -> None:
    seen: list[float] = []

    def pops(batch: dict[str, Tensor]) -> Tensor:
        x = batch.pop("x")
        seen.append(float(x.sum()))
        return x.mul_(0.5)

    samples = [{"x": torch.full((4,), float(index))} for index in range(10)]
    trace = cured(script(lambda: DataLoader(samples, batch_size=1), use=pops))  # type: ignore[arg-type]
    assert trace.crash is None
    assert seen == [0, 4, 8, 12, 0, 4, 8, 12, 0, 4]


def test_each_loader_has_its_own_batches() -> None:
    seen: list[float] = []

    def body() -> None:
        for value in range(6):
            script(lambda: DataLoader(TensorDataset(torch.full((1, 4), float(value)))), use=noted)()  # noqa: B023

    def noted(batch: list[Tensor]) -> Tensor:
        seen.append(float(batch[0][0, 0]))
        return batch[0]

    cured(body)
    assert seen == [0, 1, 2, 3, 4, 5]


def raises_at_once(batch: Tensor) -> Tensor:
    raise KeyError("labels")


@pytest.mark.parametrize(
    "plan",
    [RunPlan(max_steps=0, treatment=Treatment(cures=(PRELOADED,))), RunPlan(max_steps=0, catch_errors=True)],
    ids=["cure", ""],
)
def test_a_script_that_a_rerun_breaks_is_noted(plan: RunPlan) -> None:
    trace = WatchedProgram(script(lambda: DataLoader(Stream(3)), use=raises_at_once), 0).record(plan)
    assert trace.crash is not None
    assert (trace.crash.kind, trace.crash.step) == ("KeyError", 0)
    assert trace.crash.place is not None
    assert trace.crash.place.code == 'raise KeyError("labels")'


def test_an_error_of_the_script_itself_is_raised() -> None:
    with pytest.raises(KeyError, match="labels"):
        WatchedProgram(script(lambda: DataLoader(Stream(3)), use=raises_at_once), 0).record(RunPlan(max_steps=0))


def test_only_what_a_run_has_made_is_detached() -> None:
    weight = nn.Parameter(torch.ones(3))
    before = weight * 2
    run = Run()
    run.feed = object()
    with ExitStack() as stack:
        cure = detached.Detached(run, stack)
        cure.run_begins()
        kept = weight * 3
        cure.step_ends()
    assert before.grad_fn is not None
    assert kept.grad_fn is None


def test_opponents_of_a_watched_test_need_their_graph_until_both_have_learned() -> None:
    """What was made is used by the maker's loss, after the critic has made its update."""

    def body() -> None:
        maker, critic = nn.Linear(2, 4), nn.Linear(4, 1)
        optimizers = [torch.optim.SGD(model.parameters(), 0.01) for model in (maker, critic)]
        total = torch.zeros(())
        for _ in range(20):
            made = maker(torch.randn(8, 2))
            for optimizer, seen, sign in zip(optimizers[::-1], (made.detach(), made), (1, -1), strict=True):
                optimizer.zero_grad()
                (sign * critic(seen)).mean().backward()
                optimizer.step()
            total = total + maker(torch.randn(8, 2)).mean()
            sizes.append(nodes_of([total]))

    sizes: list[int] = []
    trace = WatchedProgram(body, 0).record(RunPlan(max_steps=0, treatment=Treatment(cures=(Cure("detached", "", {}),))))
    assert trace.loss_connected
    assert trace.crash is None
    assert trace.update_count == 40
    assert max(sizes[8:]) < 40  # those of a few steps; all of them would be a hundred


def samples(batches: int, accumulated: int = 1, cure: Cure | None = None) -> set[float | None]:
    """Samples per step, as recorded for a watched script with epochs of this many batches of 8."""

    def body() -> None:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)
        loader = DataLoader(TensorDataset(torch.randn(8 * batches, 4)), batch_size=8)
        for _ in range(96 // batches):
            for index, (inputs,) in enumerate(loader):
                model(inputs).square().mean().backward()
                if (index + 1) % accumulated == 0:
                    optimizer.step()
                    optimizer.zero_grad()

    trace = WatchedProgram(body, 0).record(
        RunPlan(max_steps=0, treatment=Treatment(cures=() if cure is None else (cure,)))
    )
    assert len(trace.speed.loader_batches) > 1
    del trace.speed.loader_batches[:4], trace.speed.samples[:4]  # before an update each backward pass is a step
    return {samples_a_step(trace)} | set(trace.speed.loader_batches)


@pytest.mark.parametrize("batches", [1, 2, 8])
def test_the_end_of_an_epoch_is_no_batch(batches: int) -> None:
    assert samples(batches) == {8, 1}


def test_batches_that_were_read_beforehand_count_where_they_are_used() -> None:
    assert samples(8, accumulated=4, cure=PRELOADED) == samples(8, accumulated=4) == {32, 4}


@pytest.mark.parametrize("batches", [2, 3, 8])
def test_as_many_are_joined_as_is_said(batches: int) -> None:
    """Also where an epoch has fewer. The joined batch is one, whatever was read for it."""
    assert samples(batches, cure=Cure("larger_batches", "", {"count": 6})) == {48, 1}
