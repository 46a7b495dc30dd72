"""Programs that must not notice us: one function each, which builds a loop that trains a few steps.

`PROGRAMS` holds all of them by name. What a program can notice is in what its `Loop` leaves: losses, states, what it
has saved and loaded again, the calls that its own modes have seen, exceptions.
"""

from __future__ import annotations

from . import copies, distributed, loaders, modes, odd_tensors, surroundings, transforms
from .loop import Loop, Program

PROGRAMS: dict[str, Program] = {
    name: program
    for topic in (copies, transforms, odd_tensors, modes, surroundings, loaders, distributed)
    for name, program in vars(topic).items()
    if not name.startswith("_") and getattr(program, "__module__", "") == topic.__name__ and hasattr(program, "trains")
}

__all__ = ["PROGRAMS", "Loop", "Program"]
