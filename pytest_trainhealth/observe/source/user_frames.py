"""A traceback as if the user had called their code themselves: without our frames, which outnumber theirs by far.

Only where the user's code is what raised. An error in our own listeners is a bug of ours, and its frames are needed.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import TracebackType

from .authorship import PACKAGE_ROOT, is_library_file
from .engine_frames import is_engine_file, is_stand_in

#: Modes that see calls of torch functions stand between the user's line and the operation that raises.
_PASSES_ON = "__torch_function__"
#: What is raised there is about what the caller has handed in: the caller's line is the one to read.
_TELLS_USERS = str(Path(PACKAGE_ROOT, "training.py"))


def hide_our_frames(error: Exception) -> Exception:
    """The same error, and those that led to it, without our frames if they are the user's; else unchanged."""
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        steps = _steps(each.__traceback__)
        if _is_users(steps):
            each.__traceback__ = _linked(_without_ours(steps))
        each = each.__cause__ or each.__context__
    return error


def _steps(trace: TracebackType | None) -> list[TracebackType]:
    found = []
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def _is_ours(step: TracebackType) -> bool:
    return step.tb_frame.f_code.co_filename.startswith(PACKAGE_ROOT)


def _is_users(steps: list[TracebackType]) -> bool:
    """Whether the innermost code that is no library's is the user's, or ours in the act of calling theirs."""
    for step in reversed(steps):
        code = step.tb_frame.f_code
        if _is_ours(step):
            if code.co_name == _PASSES_ON or is_stand_in(code) or code.co_filename == _TELLS_USERS:
                continue
            return is_engine_file(code.co_filename)
        if not is_library_file(code.co_filename):
            return True
    return False


def _without_ours(steps: list[TracebackType]) -> list[TracebackType]:
    kept, after_ours = [], False
    for step in steps:
        in_between = after_ours and step.tb_frame.f_code.co_filename == contextlib.__file__
        after_ours = _is_ours(step) or in_between
        if not after_ours:
            kept.append(step)
    return kept


def _linked(steps: list[TracebackType]) -> TracebackType | None:
    following: TracebackType | None = None
    for step in reversed(steps):
        following = TracebackType(following, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return following
