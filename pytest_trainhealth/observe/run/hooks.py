"""Makes torch report to a `Run` what happens: global hooks where torch has them, wrapped functions elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.amp.grad_scaler import GradScaler
from torch.optim import LBFGS, Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ...tensors.tracing import is_traced
from ..source.engine_frames import stand_in
from .given_gradients import with_its_gradient


class Reported(Protocol):
    """A run, or what stands for the latest of several."""

    @property
    def emitting(self) -> bool: ...

    @property
    def refuses_clearing(self) -> Callable[[Any], bool] | None: ...

    def emit(self, event: str, *facts: Any) -> None: ...


@contextmanager
def listening(run: Reported) -> Iterator[None]:
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
def _updates_reported(run: Reported) -> Iterator[None]:
    stepped: set[int] = set()
    #: Optimizers that wait for their closure: the update begins when that is done.
    waiting: set[int] = set()

    def begins(optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if is_traced():
            return None
        stepped.add(id(optimizer))
        closure = _closure(args, kwargs)
        if closure is None or not _asks_once(optimizer):
            return run.emit("update_begins", optimizer, closure is not None)

        @wraps(closure, updated=())
        @stand_in
        def reporting(*given: Any, **named: Any) -> Any:
            loss = closure(*given, **named)
            if id(optimizer) in waiting:
                waiting.discard(id(optimizer))
                run.emit("update_begins", optimizer, False)
            return loss

        waiting.add(id(optimizer))
        if kwargs.get("closure") is not None:
            return args, {**kwargs, "closure": reporting}
        return (args[0], reporting, *args[2:]), kwargs

    def ends(optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if is_traced():
            return
        if id(optimizer) in waiting:  # it has not called its closure
            waiting.discard(id(optimizer))
            run.emit("update_begins", optimizer, False)
        run.emit("update_ends", optimizer, _closure(args, kwargs) is not None and not _asks_once(optimizer))

    before, after = register_optimizer_step_pre_hook(begins), register_optimizer_step_post_hook(ends)
    try:
        with _skips_reported(run, stepped):
            yield
    finally:
        before.remove()
        after.remove()


def _closure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any] | None:
    """What computes the gradients inside step(closure), as LBFGS needs it and Lightning always has it."""
    if kwargs.get("closure") is not None:
        return kwargs["closure"]  # type: ignore[no-any-return]
    return args[1] if len(args) > 1 and callable(args[1]) else None


def _asks_once(optimizer: Optimizer) -> bool:
    """Torch's own optimizers begin with their closure, except for LBFGS, which calls it again and again.

    Others may do anything: a SAM changes the weights before it calls it.
    """
    return type(optimizer).step.__module__.startswith("torch.optim") and not isinstance(optimizer, LBFGS)


@contextmanager
def _backward_reported(run: Reported) -> Iterator[None]:
    # Tensor.backward() ends up in the function, but by way of torch's function modes, which listeners cannot close from
    # inside: so both are wrapped.
    autograd: Any = torch.autograd
    function, method, engine = autograd.backward, Tensor.backward, autograd._engine_run_backward
    depth = 0

    @stand_in
    def reporting(roots: list[Tensor], backward: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        nonlocal depth
        if depth or is_traced():  # called by the method, or by gradient checkpointing from inside a backward pass
            return backward(*args, **kwargs)
        run.emit("backward_begins", with_its_gradient(roots, args[1:], kwargs))
        depth += 1
        try:
            backward(*args, **kwargs)
        finally:
            depth -= 1
        run.emit("backward_ends")

    @wraps(function)
    @stand_in
    def reporting_function(tensors: Any, *args: Any, **kwargs: Any) -> None:
        reporting([tensors] if isinstance(tensors, Tensor) else list(tensors), function, tensors, *args, **kwargs)

    @wraps(method)  # torch's function modes know it by its name
    @stand_in
    def reporting_method(self: Tensor, *args: Any, **kwargs: Any) -> None:
        reporting([self], method, self, *args, **kwargs)

    @wraps(engine)
    @stand_in
    def reporting_engine(roots: Any, *args: Any, **kwargs: Any) -> Any:
        """Behind `torch.autograd.grad`, by whatever name it was imported."""
        found = engine(roots, *args, **kwargs)
        wanted = not depth and not kwargs.get("accumulate_grad", True) and not run.emitting and len(args) > 3
        if wanted and not is_traced():
            run.emit("derivatives_taken", roots, args[3], found)
        return found

    autograd.backward = reporting_function
    Tensor.backward = reporting_method  # type: ignore[method-assign]
    autograd._engine_run_backward = reporting_engine
    try:
        yield
    finally:
        autograd.backward = function
        Tensor.backward = method  # type: ignore[method-assign]
        autograd._engine_run_backward = engine


@contextmanager
def _skips_reported(run: Reported, stepped: set[int]) -> Iterator[None]:
    """A loss scaler does not announce that it skips an update: it simply does not call the optimizer."""
    original = GradScaler.step

    @wraps(original)
    @stand_in
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
def _zero_grad_reported(run: Reported, kind: Any) -> Iterator[None]:
    original = kind.zero_grad

    @wraps(original)
    @stand_in
    def reporting(self: Any, *args: Any, **kwargs: Any) -> None:
        if is_traced():
            original(self, *args, **kwargs)
            return
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
