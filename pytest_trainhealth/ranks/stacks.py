"""Where a process is right now: its stack, which it writes to a file when it gets a signal, whatever it waits for."""

from __future__ import annotations

import faulthandler
import re
import signal
from pathlib import Path
from typing import NamedTuple

from ..observe.source.authorship import is_library_file
from ..observe.source.places import place_of
from ..records.verdict import Place

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)')
_THREAD = re.compile(r"^(Current thread|Thread) ")
#: Where backward() waits: for gradients of other ranks, in a model that DDP wraps.
_BACKWARD = "_engine_run_backward"


class Whereabouts(NamedTuple):
    """The user's line, what it is inside of, and the lines of the stack, outermost first."""

    place: Place | None = None
    inside: str = ""
    lines: tuple[str, ...] = ()


def write_on_signal(file: Path) -> None:
    """For the process itself. Windows has no such signal; there, it is not known where a process is."""
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, file=file.open("w"), all_threads=True)


def whereabouts(written: str) -> Whereabouts:
    """Of the thread that runs the user's code, from what `faulthandler` wrote: innermost first."""
    threads: list[list[tuple[str, int, str]]] = [[]]
    for line in written.splitlines():
        if _THREAD.match(line):
            threads.append([])
        elif (found := _FRAME.search(line)) is not None:
            threads[-1].append((found["file"], int(found["line"]), found["function"]))
    for frames in sorted(threads, key=len, reverse=True):
        own = [at for at, (file, _, _) in enumerate(frames) if not is_library_file(file)]
        if own:
            places = [place_of(*frames[at][:2]) for at in own]
            lines = tuple(f"  {place}   {place.code}".rstrip() for place in reversed(places))
            return Whereabouts(places[0], _inside(frames[: own[0] + 1]), lines)
    return Whereabouts()


def _inside(frames: list[tuple[str, int, str]]) -> str:
    """The call that the user's line is in: the innermost of torch.distributed, or the one it made."""
    if any(function == _BACKWARD for _, _, function in frames):
        return "backward()"
    for file, _, function in frames:
        if "/torch/distributed/" in file.replace("\\", "/") and function not in ("wrapper", "wait", "_wait"):
            return f"{function}()"
    return f"{frames[-2][2]}()" if len(frames) > 1 else ""
