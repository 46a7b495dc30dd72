"""Garbage that waits for Python's collector is not growth; objects that are held are."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any, ClassVar
from weakref import WeakSet

import pytest

from pytest_trainhealth.observe.run.run import Run
from pytest_trainhealth.observe.signals.speed import memory
from pytest_trainhealth.observe.signals.speed.memory import Memory
from pytest_trainhealth.observe.signals.speed.memory_reader import Reader

MB = 1_000_000


class Output:
    """A megabyte, for as long as it lives."""

    alive: ClassVar[WeakSet[Output]] = WeakSet()

    def __init__(self, *, in_a_cycle: bool = False) -> None:
        self.itself = self if in_a_cycle else None
        Output.alive.add(self)


@pytest.fixture(autouse=True)
def collections(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How often the collector was called; it does not come by itself meanwhile."""
    collect, called = gc.collect, list[int]()
    Output.alive.clear()
    monkeypatch.setattr(memory, "reader_for", lambda device: Reader(lambda: 7 * MB + MB * len(Output.alive)))
    monkeypatch.setattr(gc, "collect", lambda: called.append(1) or collect())
    gc.disable()
    yield called
    gc.enable()


def readings(step: Any, steps: int = 33) -> list[int]:
    run = Run()
    signal = Memory(run)
    for run.step in range(steps):
        step()
        signal.step_ends()
    signal.run_ends()
    return [reading - 7 * MB for reading in run.trace.speed.memory]


@pytest.mark.parametrize("steps", [1, 5, 7, 33])
def test_garbage_is_no_growth(steps: int) -> None:
    found = readings(lambda: Output(in_a_cycle=True), steps)
    assert len(found) == steps
    assert set(found[4:]) <= {0}


def test_what_is_held_grows(collections: list[int]) -> None:
    held: list[Output] = []
    assert readings(lambda: held.append(Output())) == [MB * step for step in range(1, 34)]


def test_what_is_held_shows_among_garbage() -> None:
    held: list[Output] = []

    def step() -> None:
        held.append(Output())
        for _ in range(9):
            Output(in_a_cycle=True)

    found = readings(step)
    assert found[4:] == [MB * step for step in range(5, 34)]


def test_where_nothing_grows_nothing_is_collected(collections: list[int]) -> None:
    readings(Output)
    assert collections == [1]  # before the first


def test_the_peak_counts_garbage() -> None:
    run = Run()
    signal = Memory(run)
    signal.step_ends()
    for _ in range(3):
        Output(in_a_cycle=True)
        signal.step_ends()
    signal.run_ends()
    assert run.trace.speed.peak_memory == 10 * MB
