"""Work of our own in the middle of the user's: modes and classes of others do not see it.

A mode that counts the operations of a loop has to count the loop's, and a subclass of Tensor that refuses what it does
not know has to be asked for nothing by us. Our own modes stay on.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch
from torch.utils._python_dispatch import _pop_mode, _push_mode

from .function_modes import hidden, shown

_autograd: Any = torch._C._autograd
_OWN_DISPATCH = "pytest_trainhealth."


class Aside:
    """A context. May be nested; modes that are put on or taken off inside of it stay so."""

    __slots__ = ("_classes", "_dispatch", "_functions", "_packs")

    def __init__(self) -> None:
        self._classes: Any = None
        self._functions: Any = None
        self._dispatch: list[Any] = []
        self._packs = False

    def __enter__(self) -> None:
        # as almost always there is nothing on
        self._functions = hidden() if torch._C._len_torch_function_stack() else None
        if torch._C._len_torch_dispatch_stack():
            self._dispatch = _others_taken_off()
        if _autograd._top_saved_tensors_default_hooks(False) is not None:
            # checkpointing counts what is saved for the backward pass
            self._packs = True
            _autograd._push_saved_tensors_default_hooks(_as_it_is, _as_it_is)
        self._classes = torch._C.DisableTorchFunctionSubclass()
        self._classes.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._classes.__exit__(kind, error, traceback)
        if self._packs:
            self._packs = False
            _autograd._pop_saved_tensors_default_hooks()
        for mode in self._dispatch:
            _push_mode(mode)
        self._dispatch = []
        if self._functions is not None:
            shown(self._functions)


def _as_it_is(saved: Any) -> Any:
    return saved


def _others_taken_off() -> list[Any]:
    """The dispatch modes of others, the lowest first. Those of ours look on."""
    modes = [_pop_mode() for _ in range(torch._C._len_torch_dispatch_stack())][::-1]
    for mode in modes:
        if type(mode).__module__.startswith(_OWN_DISPATCH):
            _push_mode(mode)
    return [mode for mode in modes if not type(mode).__module__.startswith(_OWN_DISPATCH)]
