"""Modes of the user's own around a loop: what they count must be what the loop does, and nothing of ours."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from .loop import Loop, batches, classifier, learns, program


class _Functions(TorchFunctionMode):
    def __init__(self, noted: list[Any]) -> None:
        super().__init__()
        self.noted = noted

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.noted.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


class _Operations(TorchDispatchMode):
    def __init__(self, noted: list[Any]) -> None:
        super().__init__()
        self.noted = noted

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.noted.append(str(func))
        return func(*args, **(kwargs or {}))


def _inside(mode: Any, noted: list[Any]) -> Loop:
    model, optimizer = classifier()

    def step(batch: Any) -> Tensor:
        with mode:
            loss = learns(model, optimizer, batch)
        return loss

    return Loop(model, optimizer, step, batches(), noted)


@program
def functions_are_noted() -> Loop:
    noted: list[Any] = []
    return _inside(_Functions(noted), noted)


@program
def operations_are_noted() -> Loop:
    noted: list[Any] = []
    return _inside(_Operations(noted), noted)


@program
def functions_of_the_forward_pass_are_noted() -> Loop:
    """On in the forward pass, and off again before the backward pass."""
    model, optimizer = classifier()
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        with _Functions(noted), _Operations(noted):
            loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, batches(), noted)


@program
def flops_are_counted() -> Loop:
    model, optimizer = classifier()
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        with FlopCounterMode(display=False) as counter:
            loss = learns(model, optimizer, batch)
        noted.append((counter.get_total_flops(), sorted(counter.get_flop_counts())))
        return loss

    return Loop(model, optimizer, step, batches(), noted)


class _Rewrites(TorchFunctionMode):
    """Uses another function in place of one: a user's own fused kernel, say."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.relu:
            return F.gelu(args[0])
        return func(*args, **(kwargs or {}))


@program
def functions_are_exchanged() -> Loop:
    return _inside(_Rewrites(), [])


class _Breaks(TorchDispatchMode):
    """Raises at a function that the loop does not call."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(word in str(func) for word in ("norm.", "isfinite", "aten.item", "_local_scalar", "equal")):
            raise RuntimeError(f"{func} is not expected here")
        return func(*args, **(kwargs or {}))


@program
def what_is_not_expected_raises() -> Loop:
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)

    def step(batch: Any) -> Tensor:
        with _Breaks():
            return learns(model, optimizer, batch)

    return Loop(model, optimizer, step, batches())


@program
def a_mode_around_everything() -> Loop:
    """Put on when the program is built, and taken off when it is over."""
    model, optimizer = classifier()
    noted: list[Any] = []
    mode: Any = _Functions(noted)
    steps = iter(range(100))

    def step(batch: Any) -> Tensor:
        if next(steps) == 0:
            mode.__enter__()
        return learns(model, optimizer, batch)

    def close() -> None:
        mode.__exit__(None, None, None)

    loop = Loop(model, optimizer, step, batches(), noted)
    bare = loop.run

    def run() -> list[Any]:
        try:
            return bare()
        finally:
            close()

    loop.run = run  # type: ignore[method-assign]
    return loop


@program
def a_device_by_default() -> Loop:
    model, optimizer = classifier()
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        with torch.device("meta"):
            noted.append(str(torch.empty(1).device))
        with torch.device("cpu"):
            return learns(model, optimizer, batch)

    return Loop(model, optimizer, step, batches(), noted)


@program
def half_of_it_in_half_precision() -> Loop:
    model, optimizer = classifier()

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(batch[0]).float(), batch[1])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step, batches())


@program
def a_device_for_all() -> Loop:
    """Set and unset in the middle of a loop, as a script's own set-up may."""
    model, optimizer = classifier()
    noted: list[Any] = []
    steps = iter(range(100))

    def step(batch: Any) -> Tensor:
        number = next(steps)
        if number == 1:
            torch.set_default_device("cpu")
        if number == 4:
            torch.set_default_device(None)
        noted.append(str(torch.get_default_device()))
        return learns(model, optimizer, batch)

    return Loop(model, optimizer, step, batches(), noted)


@program
def a_factor_that_backward_is_given() -> Loop:
    """By method and by function: inside modes that count, and from a graph that is kept."""
    noted: list[Any] = []
    model, optimizer = classifier()

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        with _Functions(noted), _Operations(noted), torch.autograd.graph.saved_tensors_hooks(_packs(noted), _as_it_is):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward(torch.tensor(0.5), retain_graph=True)  # type: ignore[no-untyped-call]
            torch.autograd.backward([loss], grad_tensors=[torch.tensor(-0.25)])
            optimizer.step()
        noted.append(loss._version)
        return loss.detach()

    return Loop(model, optimizer, step, batches(), noted)


def _packs(noted: list[Any]) -> Any:
    def pack(saved: Tensor) -> Tensor:
        noted.append(tuple(saved.shape))
        return saved

    return pack


def _as_it_is(saved: Tensor) -> Tensor:
    return saved
