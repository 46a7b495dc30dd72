"""Sees the torch functions that the user's code calls, at the steps that are examined closely."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.overrides import TorchFunctionMode, resolve_name

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


class _Mode(TorchFunctionMode):
    def __init__(self, seen: Seen, modules: ModuleStack) -> None:
        super().__init__()
        self._seen, self._modules = seen, modules

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        call = Call(function_name(func), func, args, kwargs or {}, self._modules.current)
        try:
            call.result = func(*args, **call.kwargs)
        except Exception as error:
            call.error = error
            self._report(call)
            raise
        self._report(call)
        return call.result

    def _report(self, call: Call) -> None:
        if call.args and isinstance(call.args[0], Tensor):
            with torch._C.DisableTorchFunction():  # other signals must not see what this one computes
                self._seen(call)


def function_name(func: Any) -> str:
    """'relu' for torch.relu, F.relu and Tensor.relu alike; 'data' for reading the attribute, 'data=' for setting it."""
    name: str = getattr(func, "__name__", "")
    if name in ("__get__", "__set__"):
        attribute = (resolve_name(func) or "").split(".")[-2]
        return attribute if name == "__get__" else f"{attribute}="
    return name


class CallSignal(Signal):
    """Base of signals that need to see function calls at sampled steps."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._open: ExitStack | None = None
        self._forward = True

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
            stack = ModuleStack(self._run.models)
            self._open.enter_context(stack.kept())
            self._open.enter_context(_Mode(self._dispatch, stack))

    def _dispatch(self, call: Call) -> None:
        # inside vmap and similar transforms a tensor stands for many, and has no values that can be read
        if self._forward and not (isinstance(call.result, Tensor) and is_functorch_wrapped_tensor(call.result)):
            self.called(call)

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
