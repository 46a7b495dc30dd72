"""Where a process is right now: its stack, which it writes to a file when it gets a signal, whatever it waits for."""

from __future__ import annotations

import faulthandler
import re
import signal
from pathlib import Path
from typing import NamedTuple

from ..observe.source.authorship import PACKAGE_ROOT, is_library_file
from ..observe.source.places import place_of
from ..records.verdict import Place

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)')
_THREAD = re.compile(r"^(Current thread|Thread) ")
#: Where backward() waits: for gradients of other ranks, in a model that DDP wraps.
_BACKWARD = "_engine_run_backward"
#: Functions of torch.distributed that stand around the one that was called.
_PASSING_ON = ("wrapper", "wait", "_wait")

Frame = tuple[str, int, str]


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
    threads: list[list[Frame]] = [[]]
    for line in written.splitlines():
        if _THREAD.match(line):
            threads.append([])
        elif (found := _FRAME.search(line)) is not None:
            threads[-1].append((found["file"], int(found["line"]), found["function"]))
    frames = max(threads, key=len)  # the others are ours, and short
    own = [at for at, (file, _, _) in enumerate(frames) if not is_library_file(file)]
    ours = [at for at, (file, _, _) in enumerate(frames) if file.startswith(PACKAGE_ROOT)]
    places = [place_of(*frames[at][:2]) for at in own]
    lines = tuple(f"  {place}   {place.code}".rstrip() for place in reversed(places))
    # where none of the lines is the user's, everything up to the one that took the step
    innermost = frames[: own[0] + 1] if own else frames[: ours[0]] if ours else frames
    return Whereabouts(places[0] if places else None, _inside(innermost), lines)


def _inside(frames: list[Frame]) -> str:
    """The exchange that it waits in, or else what the user's line has called; or the function that the line is in."""
    if any(function == _BACKWARD for _, _, function in frames):
        return "backward()"
    exchanges = [function for file, _, function in frames if "/torch/distributed/" in file.replace("\\", "/")]
    named = [function for function in exchanges if function not in _PASSING_ON]
    called = named[0] if named else frames[-2][2] if len(frames) > 1 else frames[0][2] if frames else ""
    return f"{called}()" if called else ""
