"""Sees the torch functions that the user's code calls, at the steps that are looked at closely."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.overrides import TorchFunctionMode, resolve_name

from .module_stack import ModuleStack
from .run import Run

#: name of the function, its arguments, its result, the path of the module that called it
Seen = Callable[[str, tuple[Any, ...], Any, str], None]


class _Mode(TorchFunctionMode):
    def __init__(self, seen: Seen, modules: ModuleStack) -> None:
        super().__init__()
        self._seen, self._modules = seen, modules

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if args and isinstance(args[0], Tensor):
            self._seen(_name(func), args, result, self._modules.current)
        return result


def _name(func: Any) -> str:
    """'relu' for torch.relu, F.relu and Tensor.relu alike; 'data' for reading the attribute."""
    name: str = getattr(func, "__name__", "")
    if name == "__get__":
        return (resolve_name(func) or "").split(".")[-2]
    return name


class CloseSteps:
    """Base of signals that need to see function calls at sampled steps."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._open: ExitStack | None = None
        self._forward = True

    def wanted(self) -> bool:
        return self._run.sampled

    def seen(self, name: str, args: tuple[Any, ...], result: Any, module: str) -> None:
        """Called after each torch function."""

    def step_begins(self, batch: object) -> None:
        if self.wanted():
            self._open = ExitStack()
            stack = ModuleStack(self._run.models)
            self._open.enter_context(stack.kept())
            self._open.enter_context(_Mode(self._told, stack))

    def _told(self, name: str, args: tuple[Any, ...], result: Any, module: str) -> None:
        # inside vmap and its like a tensor stands for many, and has no value that could be read
        if self._forward and not (isinstance(result, Tensor) and is_functorch_wrapped_tensor(result)):
            self.seen(name, args, result, module)

    def backward_begins(self, roots: object) -> None:
        # What comes now is not the user's forward pass. (The mode cannot be closed from inside one of its own calls.)
        self._forward = False

    def backward_ends(self) -> None:
        self._forward = True

    def step_ends(self) -> None:
        self.run_ends()

    def run_ends(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
