"""Where in the user's source something happens: the innermost frame that belongs to no library."""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from torch import nn
from torch.nn.modules.module import register_module_module_registration_hook
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

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


class CreationSites:
    """Which objects a factory created, where, and in which order."""

    def __init__(self) -> None:
        self._order = 0
        self._made: dict[int, tuple[int, Place]] = {}
        self._kept: list[Any] = []  # so that no other object gets the same id while the factory runs

    def note(self, thing: Any) -> None:
        place = user_place(sys._getframe(2))
        self._order += 1
        if place is not None:
            self._made[id(thing)] = (self._order, place)
            self._kept.append(thing)

    def __call__(self, thing: Any) -> Place | None:
        return self._made[id(thing)][1] if id(thing) in self._made else None

    def after(self, later: Any, earlier: Any) -> bool:
        """Whether both are known and `later` was created after `earlier`."""
        both = id(later) in self._made and id(earlier) in self._made
        return both and self._made[id(later)][0] > self._made[id(earlier)][0]


@contextmanager
def record_creation_sites(on_optimizer: Callable[[Optimizer], object] | None = None) -> Iterator[CreationSites]:
    """Records where optimizers and schedulers are created and where modules are put into others."""
    made = CreationSites()
    original, scheduler_init = Optimizer.__init__, LRScheduler.__init__

    def noted_scheduler(self: LRScheduler, *args: Any, **kwargs: Any) -> None:
        made.note(self)
        scheduler_init(self, *args, **kwargs)

    def noted_init(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        made.note(self)
        if on_optimizer is not None:
            on_optimizer(self)

    def registered(module: nn.Module, name: str, submodule: nn.Module | None) -> None:
        if submodule is not None:
            made.note(submodule)

    handle = register_module_module_registration_hook(registered)
    Optimizer.__init__ = noted_init  # type: ignore[method-assign]
    LRScheduler.__init__ = noted_scheduler  # type: ignore[method-assign]
    try:
        yield made
    finally:
        Optimizer.__init__ = original  # type: ignore[method-assign]
        LRScheduler.__init__ = scheduler_init  # type: ignore[method-assign]
        handle.remove()
