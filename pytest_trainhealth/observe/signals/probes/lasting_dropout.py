"""Dropout that no `eval()` switches off: `F.dropout(x, 0.5)`, whose `training` is True unless somebody gives it, and
`nn.Dropout(0.5)(x)`, made anew at every call and so always in training mode.

One that is told `training=True` may be meant, as for estimates of uncertainty: nothing is said about it. Unless the
same line switches it off in training mode (`training=not self.training`), which nobody can mean.
"""

from __future__ import annotations

import sys
from typing import Any

from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from ....records.probes import LastingDropout
from ....tensors.function_modes import FunctionMode
from ...calls.dropouts import DROPOUTS, caller, is_told
from ...calls.torch_calls import Call as FunctionCall
from ...calls.torch_calls import function_name
from ...source.authorship import is_library_file
from ...source.places import user_place
from .repeat_call import Call


def switched_off(call: FunctionCall) -> str | None:
    """The line of a dropout that does nothing although the module that calls it is in training mode."""
    if call.name not in DROPOUTS or not call.kwargs.get("p") or call.kwargs.get("training", True):
        return None
    frame = caller(sys._getframe(1))
    while frame is not None and "pytest_trainhealth" in frame.f_code.co_filename:
        frame = caller(frame.f_back)
    module = None if frame is None else frame.f_locals.get("self")
    if isinstance(module, _DropoutNd) or not isinstance(module, nn.Module) or not module.training:
        return None
    return str(user_place())


class DropoutsInEval(FunctionMode):
    """Listens to a call in eval mode. `off`: lines whose dropout does nothing in training mode."""

    def __init__(self, call: Call, off: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self._off = off
        self._call = call
        self._known = {id(module) for module in call.module.modules()}
        self.found: list[LastingDropout] = []

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = function_name(func)
        if name in DROPOUTS and kwargs.get("p") and kwargs.get("training"):
            self._note(name)
        return func(*args, **kwargs)

    def _note(self, name: str) -> None:
        frame = caller(sys._getframe(2))
        layer = None if frame is None else frame.f_locals.get("self")
        if not isinstance(layer, _DropoutNd):
            layer = None
        elif id(layer) in self._known:
            return
        if layer is None and (frame is None or is_library_file(frame.f_code.co_filename)):
            return
        reversed_ = layer is None and str(user_place()) in self._off
        if layer is None and not reversed_ and frame is not None and is_told(frame):
            return
        written = f"F.{name}()" if layer is None else f"nn.{type(layer).__name__}"
        if not any(each.written == written for each in self.found):
            record = LastingDropout(self._call.kind, written, layer is not None, user_place(), self._call.made_by)
            record.reversed = reversed_
            self.found.append(record)
