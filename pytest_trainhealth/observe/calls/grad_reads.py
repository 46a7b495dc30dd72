"""Who reads `.grad`: a function mode sees each reading, with the frames of other modes between it and the reader."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from torch import Tensor, overrides

_READ: Any = getattr(Tensor.grad, "__get__")  # noqa: B009 - torch says that it is a tensor


def reads_grad(func: Any) -> bool:
    return getattr(func, "__name__", "") == "__get__" and func == _READ


def reader() -> FrameType | None:
    """The code that reads. To be called by what a function mode calls."""
    frame: FrameType | None = sys._getframe(1)
    inside = False
    while frame is not None:
        is_mode = frame.f_code.co_name == "__torch_function__" or frame.f_code.co_filename == overrides.__file__
        if inside and not is_mode:
            return frame
        inside = inside or is_mode
        frame = frame.f_back
    return None
