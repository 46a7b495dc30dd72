"""Where in the user's source something happens: the innermost frame that belongs to no library."""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from types import FrameType, TracebackType

from ...records.verdict import Place
from .authorship import is_library_file
from .engine_frames import is_engine_frame


def place_of(file: str, line: int) -> Place:
    shown = os.path.relpath(file)
    return Place(file if shown.startswith("..") else shown, line, linecache.getline(file, line).strip())


def user_place(frame: FrameType | None = None) -> Place | None:
    """The innermost line of the user's code on the stack, inside the training: whoever called us is not to blame."""
    frame = frame or sys._getframe(1)
    while frame is not None and not is_engine_frame(frame):
        if not is_library_file(frame.f_code.co_filename):
            return place_of(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


def raised_at(trace: TracebackType | None) -> Place | None:
    """The innermost line of the user's code that an exception passed through."""
    for step in reversed(traceback.extract_tb(trace)):
        if not is_library_file(step.filename) and step.lineno:
            return place_of(step.filename, step.lineno)
    return None
