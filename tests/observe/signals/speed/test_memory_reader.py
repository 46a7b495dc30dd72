"""Memory is read on the model's device, from a source that knows it, or not at all."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import nn

from pytest_trainhealth.observe.run.run import Run
from pytest_trainhealth.observe.signals.speed import memory, memory_reader
from pytest_trainhealth.observe.signals.speed.memory import Memory
from pytest_trainhealth.observe.signals.speed.memory_reader import reader_for

CPU, CUDA = torch.device("cpu"), torch.device("cuda:1")


def test_a_tensor_shows() -> None:
    reader = reader_for(CPU)
    assert reader is not None
    before = reader.used()
    held = torch.ones(20_000_000)  # so large that no memory that was freed before is used again
    assert 75e6 < reader.used() - before < 85e6
    assert len(held)
    reader.close()


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_pages_tell_where_the_c_library_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_reader, "_allocated", lambda: None)
    test_a_tensor_shows()


def test_an_allocator_that_the_c_library_knows_nothing_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """It then says 0 whatever is in use, and a gate would pass whatever grows."""

    class Deaf:
        def __call__(self) -> Any:
            return memory_reader._Mallinfo2()

    monkeypatch.setattr(memory_reader.ctypes, "CDLL", lambda _: type("Library", (), {"mallinfo2": Deaf()}))
    assert memory_reader._allocated() is None


def test_on_windows_nobody_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_reader.sys, "platform", "win32")
    monkeypatch.setattr(memory_reader, "_STATM", memory_reader._STATM / "not there")
    assert reader_for(CPU) is None


def test_the_device_of_the_model_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[torch.device] = []
    for name, answer in (("reset_peak_memory_stats", None), ("memory_allocated", 7), ("max_memory_allocated", 9)):
        told = lambda device, answer=answer: asked.append(device) or answer  # noqa: E731
        monkeypatch.setattr(torch.accelerator, name, told)
    reader = reader_for(CUDA)
    assert reader is not None
    assert reader.most is not None
    assert (reader.used(), reader.most()) == (7, 9)
    assert set(asked) == {CUDA}


@pytest.mark.parametrize("error", [AttributeError, RuntimeError])
def test_a_device_that_does_not_say(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def raises(device: torch.device) -> None:
        raise error

    monkeypatch.setattr(torch.accelerator, "reset_peak_memory_stats", raises)
    assert reader_for(CUDA) is None


def test_an_accelerator_that_the_model_is_not_on_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "memory_allocated", lambda *_: 0)
    run = Run()
    run.add_models({"": nn.Linear(2, 2)})
    signal, held = Memory(run), []
    for run.step in range(12):
        signal.step_begins(None)
        held.append(torch.ones(1_000_000))
        signal.step_ends()
    signal.run_ends()
    speed = run.trace.speed
    assert speed.memory[-1] - speed.memory[0] == pytest.approx(44e6, rel=0.05)
    assert speed.peak_memory is not None
    assert speed.peak_memory >= speed.memory[-1]


def test_without_a_reading_there_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "reader_for", lambda device: None)
    run = Run()
    signal = Memory(run)
    signal.step_ends()
    signal.run_ends()
    assert run.trace.speed.memory == []
    assert run.trace.speed.peak_memory is None


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such module")
def test_the_most_a_process_ever_used() -> None:
    code = f"from {memory_reader.__name__} import _peak; print(_peak())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(said) > 50e6  # torch alone
