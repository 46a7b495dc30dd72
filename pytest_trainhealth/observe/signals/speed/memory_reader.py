"""Reads how many bytes are in use, from the device that the model is on, or from the process.

What graphs keep alive has no Python object, so Python cannot count it. The C library gives exact figures if it is
glibc; the pages of a process show less, because freed pages are reused before the process gets more.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

_STATM = Path("/proc/self/statm")
#: Bytes, 1 MB: far more than anything else allocated at the same moment.
_PROBE = 1 << 20


@dataclass(frozen=True)
class Reader:
    used: Callable[[], int]
    #: Gives the most since the reader was opened, if that is known; otherwise the largest reading counts.
    most: Callable[[], int] | None = None
    close: Callable[[], None] = lambda: None


def reader_for(device: torch.device) -> Reader | None:
    """None if there is no source: then there is no figure, rather than one of something else."""
    return _of_process() if device.type == "cpu" else _of_device(device)


def _of_device(device: torch.device) -> Reader | None:
    if device.type == "mps":  # the general functions below raise there
        return Reader(torch.mps.current_allocated_memory)
    accelerator = torch.accelerator
    try:
        accelerator.reset_peak_memory_stats(device)
        accelerator.memory_allocated(device)
    except (AttributeError, RuntimeError, ValueError):  # an older torch, or a device without such figures
        return None
    return Reader(lambda: accelerator.memory_allocated(device), lambda: accelerator.max_memory_allocated(device))


def _of_process() -> Reader | None:
    allocated = _allocated()
    if allocated is not None:
        return Reader(allocated)
    if _STATM.exists():
        file, page = os.open(_STATM, os.O_RDONLY), os.sysconf("SC_PAGE_SIZE")
        return Reader(lambda: page * int(os.pread(file, 64, 0).split()[1]), close=lambda: os.close(file))
    return None if sys.platform == "win32" else Reader(_peak)


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
    """Bytes in use in small and in large blocks. None if the C library does not report them (before glibc 2.33), or
    does not see them because another allocator was loaded before it (jemalloc, for example)."""
    if sys.platform != "linux":
        return None
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        return None
    mallinfo2.restype = _Mallinfo2

    def used() -> int:
        text = mallinfo2()
        return int(text.uordblks + text.hblkhd)

    before = used()
    probe = torch.empty(_PROBE, dtype=torch.uint8, device="cpu")
    seen = used() - before >= probe.numel() // 2
    return used if seen else None


def _peak() -> int:
    """The most that the process ever used, on systems that report nothing else."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most
