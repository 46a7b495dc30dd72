"""Sees the torch functions that the user's code calls, at the steps that are examined closely."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.overrides import resolve_name

from ...tensors.aside import Aside
from ...tensors.function_modes import FunctionMode, inside_transform
from ..run.forward_mode import OnlyForward
from ..run.run import Run
from ..run.signal import Signal
from ..source.module_stack import ModuleStack


@dataclass
class Call:
    """One call of a torch function: its name, arguments and result, and the path of the module that called it."""

    name: str
    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    module: str
    result: Any = None
    #: The exception, if it raised instead of returning.
    error: Exception | None = None


Seen = Callable[[Call], None]


class _Mode(FunctionMode):
    """One for all signals of a run that want to see the calls of a step: each mode would cost every call."""

    def __init__(self) -> None:
        super().__init__()
        self.modules = ModuleStack({})
        self.seen_by: tuple[Seen, ...] = ()

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not args or not isinstance(args[0], Tensor):
            return func(*args, **kwargs)
        call = Call(function_name(func), func, args, kwargs, self.modules.current)
        try:
            call.result = func(*args, **kwargs)
        except Exception as error:
            call.error = error
            with suppress(Exception):  # arguments that the function refuses may be more than a listener can bear
                self._report(call)
            raise
        self._report(call)
        return call.result

    def _report(self, call: Call) -> None:
        # neither the user's modes nor other signals must see what a signal computes
        with Aside(), torch._C.DisableTorchFunction():
            for seen in self.seen_by:
                seen(call)


class SharedCalls:
    """The calls of the current step: the first signal that wants them puts the mode on, the last one takes it off."""

    def __init__(self, run: Run) -> None:
        self._run, self._mode = run, _Mode()
        self._open: ExitStack | None = None
        run.subscribe(OnlyForward(self._mode))

    @contextmanager
    def shown_to(self, seen: Seen) -> Iterator[None]:
        if self._open is None:
            self._mode.modules, self._open = ModuleStack(self._run.models), ExitStack()
            self._open.enter_context(self._mode.modules.kept())
            self._open.enter_context(self._mode)
        self._mode.seen_by = (*self._mode.seen_by, seen)
        try:
            yield
        finally:
            self._mode.seen_by = tuple(each for each in self._mode.seen_by if each != seen)
            if not self._mode.seen_by and self._open is not None:
                self._open.close()
                self._open = None


def function_name(func: Any) -> str:
    """'relu' for torch.relu, F.relu and Tensor.relu alike; 'data' for reading the attribute, 'data=' for setting it."""
    name: str = getattr(func, "__name__", "")
    if name in ("__get__", "__set__"):
        # torch's own lookup of the name takes as long as a small matrix product
        attribute: str | None = getattr(getattr(func, "__self__", None), "__name__", None)
        attribute = attribute or (resolve_name(func) or "").split(".")[-2]
        return attribute if name == "__get__" else f"{attribute}="
    return name


def _has_no_values(result: Tensor) -> bool:
    """Inside vmap and similar transforms a tensor stands for many. On the meta device only shapes are worked out, as by
    a library that builds its layers when it first sees a batch: no part of what is computed of that batch."""
    return is_functorch_wrapped_tensor(result) or result.is_meta


class CallSignal(Signal):
    """Base of signals that need to see function calls at sampled steps."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._open: ExitStack | None = None
        self._forward = True
        if run.shared_calls is None:
            run.shared_calls = SharedCalls(run)
        self._shared = run.shared_calls

    def wanted(self) -> bool:
        return self._run.sampled

    def seen(self, name: str, args: tuple[Any, ...], result: Any, module: str) -> None:
        """Called after each torch function."""

    def called(self, call: Call) -> None:
        """The same with everything known about the call, also for one that raised."""
        if call.error is None:
            self.seen(call.name, call.args, call.result, call.module)

    def step_begins(self, batch: object) -> None:
        if self.wanted():
            self._open = ExitStack()
            self._open.enter_context(self._shared.shown_to(self._dispatch))

    def _dispatch(self, call: Call) -> None:
        if not self._forward or (isinstance(call.result, Tensor) and _has_no_values(call.result)):
            return
        try:
            self.called(call)
        except Exception as error:
            if not inside_transform():
                self._run.could_not_read(self, error)

    def backward_begins(self, roots: object) -> None:
        # Calls from here on are not part of the user's forward pass.
        self._forward = False

    def backward_ends(self) -> None:
        self._forward = True

    def step_ends(self) -> None:
        self.run_ends()

    def run_ends(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
