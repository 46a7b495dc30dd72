"""Calls of dropout, and whether whoever makes one says that it is training."""

from __future__ import annotations

import ast
import linecache
from types import FrameType

from ...tensors import function_modes

DROPOUTS = {"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"}
#: Between the call and whoever makes it: the function itself, which hands its arguments to the mode by name.
_ON_THE_WAY = {"torch.nn.functional", "torch.overrides", function_modes.__name__}
#: `training` is the third argument of all of them, after 2. Once called it has its default: only the source tells.
_TRAINING_AT = 2


def caller(frame: FrameType | None) -> FrameType | None:
    """Whoever calls the function: a layer's forward(), or the user's code."""
    while frame is not None and frame.f_globals.get("__name__") in _ON_THE_WAY:
        frame = frame.f_back
    return frame


def is_told(frame: FrameType) -> bool:
    """Whether the call that this frame is making gives `training`; also where its source cannot be read."""
    call = _call_of(frame)
    if call is None:
        return True
    starred = any(isinstance(arg, ast.Starred) for arg in call.args)
    named = any(keyword.arg in (None, "training") for keyword in call.keywords)
    return starred or named or len(call.args) > _TRAINING_AT


def follows_mode(frame: FrameType) -> bool:
    """Whether `training` is the mode of a module, as written: `training=self.training`. Whoever writes that wants it on
    in training; a `False`, or a flag of one's own, may be meant."""
    call = _call_of(frame)
    if call is None or any(isinstance(arg, ast.Starred) for arg in call.args):
        return False
    given = [keyword.value for keyword in call.keywords if keyword.arg == "training"]
    given += call.args[_TRAINING_AT : _TRAINING_AT + 1]
    return any(isinstance(each, ast.Attribute) and each.attr == "training" for each in given)


def _call_of(frame: FrameType) -> ast.Call | None:
    """As it is written; None where its source cannot be read."""
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    first, last, start, end = positions
    if first is None or last is None or start is None or end is None:
        return None
    lines = [line.encode() for line in linecache.getlines(frame.f_code.co_filename)[first - 1 : last]]
    if not lines:
        return None
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        call = ast.parse(b"".join(lines).decode().strip(), mode="eval").body
    except (SyntaxError, UnicodeDecodeError):
        return None
    return call if isinstance(call, ast.Call) else None
