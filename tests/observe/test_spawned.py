"""Processes that user code starts are noted with the line that starts them; workers of a loader are not."""

from __future__ import annotations

import multiprocessing
from multiprocessing.process import BaseProcess

import torch
from torch.utils.data import DataLoader

from pytest_trainhealth.observe.source.spawned import note_spawning


def nothing() -> None:
    pass


def test_a_process_of_the_user_is_noted_once():
    context = multiprocessing.get_context("fork")
    with note_spawning() as found:
        for _ in range(2):
            process = context.Process(target=nothing)
            process.start()
            process.join()
    (line,) = found
    assert line.startswith("multiprocessing.ForkProcess at ")
    assert "test_spawned.py:" in line


def test_workers_of_a_loader_are_not():
    with note_spawning() as found:
        assert len(list(DataLoader(torch.arange(4), num_workers=1))) == 4
    assert found == []


def test_nothing_is_left_of_it():
    before = BaseProcess.start
    with note_spawning():
        pass
    assert BaseProcess.start is before
