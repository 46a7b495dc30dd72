"""How much memory is in use after each step: the device's where there is one, otherwise what this process allocated.

What graphs hold on to has no Python object, so it cannot be counted from here. The C library can say it exactly where
it is glibc; the pages of a process tell less, because those that were freed are used again before there are more.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from .run import Run

_STATM = Path("/proc/self/statm")


class Memory:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._accelerated = torch.accelerator.is_available()
        self._file: int | None = None
        self._used: Callable[[], int] = _peak

    def run_begins(self) -> None:
        allocated = _allocated()
        if self._accelerated:
            torch.accelerator.reset_peak_memory_stats()
            self._used = torch.accelerator.memory_allocated
        elif allocated is not None:
            self._used = allocated
        elif _STATM.exists():
            self._file = file = os.open(_STATM, os.O_RDONLY)
            page = os.sysconf("SC_PAGE_SIZE")
            self._used = lambda: page * int(os.pread(file, 64, 0).split()[1])

    def step_ends(self) -> None:
        self._run.trace.speed.memory.append(self._used())

    def run_ends(self) -> None:
        speed = self._run.trace.speed
        if self._accelerated:
            speed.peak_memory = torch.accelerator.max_memory_allocated()
        elif speed.memory:
            speed.peak_memory = max(speed.memory)
        if self._file is not None:
            os.close(self._file)
            self._file = None


class _Mallinfo2(ctypes.Structure):
    """`struct mallinfo2` of malloc.h."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def _allocated() -> Callable[[], int] | None:
    """Bytes in small and in large blocks that are in use; None where the C library does not say it (glibc 2.33)."""
    if sys.platform != "linux":
        return None
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        return None
    mallinfo2.restype = _Mallinfo2

    def used() -> int:
        told = mallinfo2()
        return int(told.uordblks + told.hblkhd)

    return used


def _peak() -> int:
    """Where a process cannot ask for less: the most it ever used. 0 on Windows, which has no such call."""
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most
