"""The comparison notices each kind of change: one that could not differ would prove nothing."""

from __future__ import annotations

import contextvars
import decimal
import gc
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .seen_in_objects import seen_in_objects
from .seen_in_process import KINDS, differences, seen_in_process

_VARIABLE = contextvars.ContextVar("_VARIABLE", default=0)


class _FunctionMode(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


class _DispatchMode(TorchDispatchMode):
    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def called(change: Callable[[], Any], back: Callable[[], Any]) -> Iterator[None]:
    change()
    try:
        yield
    finally:
        back()


def a_thread(stack: ExitStack) -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    stack.callback(thread.join)
    stack.callback(over.set)


def a_child(stack: ExitStack) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stack.callback(process.wait)
    assert process.stdin is not None
    stack.callback(process.stdin.close)


def in_shared_memory(stack: ExitStack) -> None:
    block = shared_memory.SharedMemory(f"test_{os.getpid()}_seen", create=True, size=8)
    stack.callback(block.unlink)
    stack.callback(block.close)


def once(make: Callable[[], Any]) -> Callable[[ExitStack], None]:
    return lambda stack: stack.enter_context(make())


def flag(change: Callable[[], Any], back: Callable[[], Any]) -> Callable[[ExitStack], None]:
    return once(lambda: called(change, back))


CHANGES: dict[str, Callable[[ExitStack], Any]] = {
    "python random numbers": flag(random.random, lambda: None),
    "numpy random numbers": flag(np.random.rand, lambda: None),
    "torch random numbers": flag(lambda: torch.rand(1), lambda: None),
    "torch threads": flag(lambda: torch.set_num_threads(2), lambda: torch.set_num_threads(1)),
    "python threads": a_thread,
    "default dtype": flag(
        lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32)
    ),
    "default device": flag(lambda: torch.set_default_device("meta"), lambda: torch.set_default_device(None)),
    "gradient mode": once(torch.no_grad),
    "anomaly mode": once(lambda: torch.autograd.set_detect_anomaly(True)),
    "deterministic algorithms": flag(
        lambda: torch.use_deterministic_algorithms(True), lambda: torch.use_deterministic_algorithms(False)
    ),
    "autocast": once(lambda: torch.autocast("cpu")),
    "matrix precision": flag(
        lambda: torch.set_float32_matmul_precision("medium"), lambda: torch.set_float32_matmul_precision("highest")
    ),
    "denormal numbers": flag(lambda: torch.set_flush_denormal(True), lambda: torch.set_flush_denormal(False)),
    "saved tensor hooks": once(lambda: torch.autograd.graph.save_on_cpu()),
    "function modes": once(_FunctionMode),
    "dispatch modes": once(_DispatchMode),
    "hooks on every module": once(
        lambda: nn.modules.module.register_module_forward_hook(lambda module, inputs, output: None)
    ),
    "hooks on every optimizer": once(lambda: register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: None)),
    "functions of libraries": once(lambda: replaced(torch.Tensor, "backward", lambda self: None)),
    "printing": once(lambda: np.printoptions(precision=2)),
    "warning filters": once(lambda: warnings.catch_warnings(action="ignore")),
    "environment": flag(lambda: os.environ.update(SEEN="1"), lambda: os.environ.pop("SEEN")),
    "umask and processors": flag(lambda: os.umask(0o077), lambda: os.umask(0o022)),
    "open files": once(Path(os.devnull).open),
    "child processes": a_child,
    "temporary files": once(tempfile.TemporaryDirectory),
    "shared memory": in_shared_memory,
    "tracing": flag(lambda: threading.setprofile(print), lambda: threading.setprofile(None)),
    "signal handlers": flag(
        lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN), lambda: signal.signal(signal.SIGUSR2, signal.SIG_DFL)
    ),
    "alarms": flag(lambda: signal.setitimer(signal.ITIMER_REAL, 1000), lambda: signal.setitimer(signal.ITIMER_REAL, 0)),
    "hooks for exceptions": once(lambda: replaced(sys, "excepthook", print)),
    "streams": once(lambda: replaced(sys, "stdout", sys.__stderr__)),
    "interpreter": flag(lambda: sys.path.append("seen"), lambda: sys.path.remove("seen")),
    "garbage collection": flag(gc.disable, gc.enable),
    "logging set up": flag(lambda: logging.disable(50), lambda: logging.disable(0)),
    "context": flag(lambda: decimal.getcontext().__setattr__("prec", 5), lambda: decimal.setcontext(decimal.Context())),
}


def test_every_kind_is_tried_here() -> None:
    assert {*CHANGES, "working directory"} == {kind.__name__.replace("_", " ") for kind in KINDS}


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_of_the_process_is_seen(kind: str) -> None:
    before = seen_in_process()
    with ExitStack() as stack:
        CHANGES[kind](stack)
        found = differences(before, seen_in_process())
    assert [each.partition(":")[0] for each in found if each.startswith(kind)] == [kind]


def test_another_working_directory_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = seen_in_process()
    monkeypatch.chdir(tmp_path)
    assert any(each.startswith("working directory") for each in differences(before, seen_in_process()))


def test_without_a_change_nothing_is_seen() -> None:
    before = seen_in_process()
    assert differences(before, seen_in_process()) == []


class Thing:
    shared = 0
    __slots__ = ("__dict__", "slot")

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        self.weight = self.model[0].weight
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1, momentum=0.9)
        self.generator, self.source = torch.Generator(), np.random.default_rng(0)
        self.log: list[int] = []
        self.numbers, self.slot = np.zeros(3), [0]
        self.steps = (each for each in range(3))

        def step(seen: list[int] = self.log) -> int:
            return len(seen)

        self.step = step


def _set(name: str, value: Any) -> Callable[[Thing], Any]:
    return lambda thing: setattr(thing, name, value)


OBJECT_CHANGES: dict[str, Callable[[Thing], Any]] = {
    "a value": lambda thing: thing.weight.data.add_(1),
    "a bit": lambda thing: thing.weight.data.neg_().mul_(0),
    "a gradient of zeros": lambda thing: setattr(thing.weight, "grad", torch.zeros(2, 2)),
    "a place in memory": lambda thing: setattr(thing.weight, "data", thing.weight.data.clone()),
    "a buffer": lambda thing: thing.model[1].running_mean.add_(1),
    "a mode": lambda thing: thing.model[1].eval(),
    "frozen": lambda thing: thing.weight.requires_grad_(False),
    "a hook of a module": lambda thing: thing.model[0].register_forward_hook(lambda *_: None),
    "a hook of a tensor": lambda thing: thing.weight.register_hook(lambda gradient: None),
    "a hook after a gradient": lambda thing: thing.weight.register_post_accumulate_grad_hook(lambda tensor: None),
    "a hook of an optimizer": lambda thing: thing.optimizer.register_step_pre_hook(lambda *_: None),
    "the state of an optimizer": lambda thing: thing.optimizer.state[thing.weight].update(step=1),
    "a rate": lambda thing: thing.optimizer.param_groups[0].update(lr=0.2),
    "a group": lambda thing: thing.optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(1))]}),
    "a replaced parameter": lambda thing: setattr(
        thing.model[0], "weight", nn.Parameter(thing.weight.detach().clone())
    ),
    "a class": lambda thing: setattr(thing.model[0], "__class__", nn.Bilinear),
    "a method of one object": lambda thing: setattr(thing.model, "forward", thing.model.forward),
    "random numbers": lambda thing: torch.rand(1, generator=thing.generator),
    "random numbers of numpy": lambda thing: thing.source.random(),
    "a list": lambda thing: thing.log.append(1),
    "an array": lambda thing: thing.numbers.fill(1),
    "a new attribute": _set("other", 1),
    "a slot": _set("slot", [0]),
    "a generator that has begun": lambda thing: next(thing.steps),
    "a default": lambda thing: setattr(thing.step, "__defaults__", ([],)),
    "an attribute of a function": lambda thing: setattr(thing.step, "calls", 1),
}


@pytest.mark.parametrize("change", OBJECT_CHANGES)
def test_a_change_of_an_object_is_seen(change: str) -> None:
    thing = Thing()
    before = seen_in_objects({"thing": thing})
    assert differences(before, seen_in_objects({"thing": thing})) == []
    OBJECT_CHANGES[change](thing)
    assert differences(before, seen_in_objects({"thing": thing}))


def test_a_class_attribute_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    thing = Thing()
    before = seen_in_objects({"thing": thing})
    monkeypatch.setattr(Thing, "shared", 1)
    assert differences(before, seen_in_objects({"thing": thing})) == [
        "thing class.shared: ('int', '0') -> ('int', '1')"
    ]


def test_twins_are_the_same_without_identity() -> None:
    one, other = (seen_in_objects({"model": Thing().model}, identity=False) for _ in range(2))
    assert differences(one, other) == []
