"""Dropout that no `eval()` switches off: `F.dropout(x, 0.5)`, whose `training` is True unless somebody gives it, and
`nn.Dropout(0.5)(x)`, made anew at every call and so always in training mode.

One that is told `training=True` may be meant, as for estimates of uncertainty: nothing is said about it.
"""

from __future__ import annotations

import ast
import linecache
import sys
from types import FrameType
from typing import Any

from torch.nn.modules.dropout import _DropoutNd

from ....records.probes import LastingDropout
from ....tensors.function_modes import FunctionMode
from ...calls.torch_calls import function_name
from ...source.authorship import is_library_file
from ...source.places import user_place
from .repeat_call import Call

_DROPOUTS = {"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"}
#: Between the call and whoever makes it: the function itself, which hands its arguments to the mode by name.
_ON_THE_WAY = {"torch.nn.functional", "torch.overrides"}
#: `training` is the third argument of all of them, after 2. Once called it has its default: only the source tells.
_TRAINING_AT = 2


class DropoutsInEval(FunctionMode):
    """Listens to a call in eval mode."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self._call = call
        self._known = {id(module) for module in call.module.modules()}
        self.found: list[LastingDropout] = []

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = function_name(func)
        if name in _DROPOUTS and kwargs.get("p") and kwargs.get("training"):
            self._note(name)
        return func(*args, **kwargs)

    def _note(self, name: str) -> None:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_globals.get("__name__") in _ON_THE_WAY:
            frame = frame.f_back
        layer = None if frame is None else frame.f_locals.get("self")
        if not isinstance(layer, _DropoutNd):
            layer = None
        elif id(layer) in self._known:
            return
        if layer is None and (frame is None or is_library_file(frame.f_code.co_filename) or _is_told(frame)):
            return
        written = f"F.{name}()" if layer is None else f"nn.{type(layer).__name__}"
        if not any(each.written == written for each in self.found):
            record = LastingDropout(self._call.kind, written, layer is not None, user_place(), self._call.made_by)
            self.found.append(record)


def _is_told(frame: FrameType) -> bool:
    """Whether the call that this frame is making gives `training`; also where its source cannot be read."""
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    first, last, start, end = positions
    if first is None or last is None or start is None or end is None:
        return True
    lines = [line.encode() for line in linecache.getlines(frame.f_code.co_filename)[first - 1 : last]]
    if not lines:
        return True
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        call = ast.parse(b"".join(lines).decode().strip(), mode="eval").body
    except (SyntaxError, UnicodeDecodeError):
        return True
    if not isinstance(call, ast.Call):
        return True
    starred = any(isinstance(arg, ast.Starred) for arg in call.args)
    named = any(keyword.arg in (None, "training") for keyword in call.keywords)
    return starred or named or len(call.args) > _TRAINING_AT
