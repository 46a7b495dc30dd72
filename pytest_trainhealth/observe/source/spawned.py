"""Where user code starts processes of its own: what they train cannot be watched from here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any

from .authorship import is_library_file
from .places import place_of

#: Files of torch that start processes for purposes of their own.
_WORKERS = ("torch/utils/data", "torch/_inductor", "multiprocessing/resource_tracker")
#: What users call, by the file that it lies in.
_CALLS = {
    "torch/multiprocessing/spawn.py": "torch.multiprocessing.spawn",
    "torch/distributed/launcher/api.py": "torch.distributed.launcher",
    "torch/distributed/run.py": "torch.distributed.run",
}


@contextmanager
def note_spawning() -> Iterator[list[str]]:
    """'torch.multiprocessing.spawn at train.py:12' for each process that starts meanwhile, without loaders' workers."""
    found: list[str] = []
    start: Callable[..., Any] = BaseProcess.start

    def noting(self: Any) -> Any:
        described = _described(sys._getframe(1), type(self).__name__)
        if described and described not in found:
            found.append(described)
        return start(self)

    BaseProcess.start = noting  # type: ignore[method-assign]
    try:
        yield found
    finally:
        BaseProcess.start = start  # type: ignore[method-assign]


def _described(frame: FrameType | None, kind: str) -> str:
    call = f"multiprocessing.{kind}"
    while frame is not None:
        file = frame.f_code.co_filename.replace("\\", "/")
        if any(part in file for part in _WORKERS):
            return ""
        call = next((name for end, name in _CALLS.items() if file.endswith(end)), call)
        if not is_library_file(frame.f_code.co_filename):
            return f"{call} at {place_of(frame.f_code.co_filename, frame.f_lineno)}"
        frame = frame.f_back
    return call
