"""Makes torch report to a `Run` what happens: global hooks where torch has them, wrapped functions elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.amp.grad_scaler import GradScaler
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from .run import Run


@contextmanager
def listening(run: Run) -> Iterator[None]:
    """Reports backward(), optimizer steps and zero_grad() to the run while this is open, and never after.

    Every step passes through all of this, with the processor's caches full of other things, so each call costs about a
    microsecond.
    """
    with ExitStack() as stack:
        stack.enter_context(_updates_reported(run))
        stack.enter_context(_backward_reported(run))
        stack.enter_context(_zero_grad_reported(run, Optimizer))
        stack.enter_context(_zero_grad_reported(run, nn.Module))
        yield


@contextmanager
def _updates_reported(run: Run) -> Iterator[None]:
    stepped: set[int] = set()

    def begins(optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        stepped.add(id(optimizer))
        run.emit("update_begins", optimizer, _closure(args, kwargs))

    def ends(optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        run.emit("update_ends", optimizer, _closure(args, kwargs))

    before, after = register_optimizer_step_pre_hook(begins), register_optimizer_step_post_hook(ends)
    try:
        with _skips_reported(run, stepped):
            yield
    finally:
        before.remove()
        after.remove()


def _closure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """LBFGS and Lightning compute gradients inside step(closure): before it they are those of the previous step."""
    return kwargs.get("closure") is not None or (len(args) > 1 and callable(args[1]))


@contextmanager
def _backward_reported(run: Run) -> Iterator[None]:
    # Tensor.backward() ends up in the function, but by way of torch's function modes, which listeners cannot close from
    # inside: so both are wrapped.
    function, method = torch.autograd.backward, Tensor.backward
    depth = 0

    def reporting(roots: list[Tensor], backward: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        nonlocal depth
        if depth:  # called by the method, or by gradient checkpointing from inside a backward pass
            return backward(*args, **kwargs)
        run.emit("backward_begins", roots)
        depth += 1
        try:
            backward(*args, **kwargs)
        finally:
            depth -= 1
        run.emit("backward_ends")

    def reporting_function(tensors: Any, *args: Any, **kwargs: Any) -> None:
        reporting([tensors] if isinstance(tensors, Tensor) else list(tensors), function, tensors, *args, **kwargs)

    def reporting_method(self: Tensor, *args: Any, **kwargs: Any) -> None:
        reporting([self], method, self, *args, **kwargs)

    torch.autograd.backward = reporting_function
    Tensor.backward = reporting_method  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.autograd.backward = function
        Tensor.backward = method  # type: ignore[method-assign]


@contextmanager
def _skips_reported(run: Run, stepped: set[int]) -> Iterator[None]:
    """A loss scaler does not announce that it skips an update: it simply does not call the optimizer."""
    original = GradScaler.step

    def reporting(self: Any, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        stepped.discard(id(optimizer))
        result = original(self, optimizer, *args, **kwargs)
        if self.is_enabled() and id(optimizer) not in stepped:
            run.emit("update_skipped", optimizer)
        return result

    GradScaler.step = reporting  # type: ignore[method-assign]
    try:
        yield
    finally:
        GradScaler.step = original  # type: ignore[method-assign]


@contextmanager
def _zero_grad_reported(run: Run, kind: Any) -> Iterator[None]:
    original = kind.zero_grad

    def reporting(self: Any, *args: Any, **kwargs: Any) -> None:
        if run.refuses_clearing is not None and run.refuses_clearing(self):
            return
        run.emit("gradients_clearing", self)
        original(self, *args, **kwargs)
        run.emit("gradients_cleared", self)

    kind.zero_grad = reporting
    try:
        yield
    finally:
        kind.zero_grad = original
