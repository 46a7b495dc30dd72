"""Where and by whom a factory's objects were made: optimizers, schedulers, modules and their parameters."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from ...records.verdict import Place
from ...tensors.batches import tensors
from .authorship import author
from .places import user_place


class CreationSites:
    """Which objects a factory created, where, by whom, and in which order."""

    def __init__(self) -> None:
        self._order = 0
        self._made: dict[int, tuple[int, Place]] = {}
        self._kept: list[Any] = []  # so that no other object gets the same id while the factory runs
        self._authors: dict[int, str] = {}
        self._holders: dict[int, nn.Module] = {}
        #: Parameters are not kept alive: one that was replaced may be large.
        self._parameters: dict[int, tuple[weakref.ref[Tensor], str, bool]] = {}
        self._loaded: dict[int, weakref.ref[Tensor]] = {}

    def note(self, thing: Any) -> None:
        place = user_place(_outside_of_constructors(sys._getframe(2), thing))
        self._order += 1
        if place is not None:
            self._made[id(thing)] = (self._order, place)
            self._kept.append(thing)

    def note_module(self, module: nn.Module, holder: nn.Module) -> None:
        by = author(sys._getframe(1))
        if by is not None:
            self._authors[id(module)] = by
            self._holders[id(module)] = holder
            self._kept += (module, holder)

    def note_parameter(self, parameter: Tensor, *, instead_of_another: bool) -> None:
        by = author(sys._getframe(1))
        if by is not None and id(parameter) not in self._parameters:
            self._parameters[id(parameter)] = (weakref.ref(parameter), by, instead_of_another)

    def note_loaded(self, batch: Any) -> None:
        self._loaded |= {id(tensor): weakref.ref(tensor) for _, tensor in tensors(batch)}

    def was_loaded(self, tensor: Tensor) -> bool:
        """Whether a DataLoader made it: a list of its batches may stand for the loader."""
        known = self._loaded.get(id(tensor))
        return known is not None and known() is tensor

    def __call__(self, thing: Any) -> Place | None:
        return self._made[id(thing)][1] if id(thing) in self._made else None

    def after(self, later: Any, earlier: Any) -> bool:
        """Whether both are known and `later` was created after `earlier`."""
        both = id(later) in self._made and id(earlier) in self._made
        return both and self._made[id(later)][0] > self._made[id(earlier)][0]

    def first_of(self, things: Iterable[Any]) -> Any:
        """The one that was created first, of those that are known; None if none is."""
        return min((t for t in things if id(t) in self._made), key=lambda t: self._made[id(t)][0], default=None)

    def maker_of(self, parameter: Tensor) -> str | None:
        """'user', or the package whose code made it. None if nobody saw: made before, or copied."""
        known, by, _ = self._parameters.get(id(parameter), (None, None, False))
        return by if known is not None and known() is parameter else None

    def put_in_by(self, module: nn.Module) -> str | None:
        """Who made the module a part of another one."""
        return self._authors.get(id(module))

    def assigned_over_another(self, parameter: Tensor) -> bool:
        """Whether the user's code replaced the parameter that a layer had made for itself with this one."""
        known, by, instead = self._parameters.get(id(parameter), (None, None, False))
        return known is not None and known() is parameter and by == "user" and instead

    def outermost(self, module: nn.Module) -> nn.Module:
        """The module that all of this one's holders belong to; itself if it was put into none."""
        seen = {id(module)}
        while id(module) in self._holders and id(self._holders[id(module)]) not in seen:
            holder = self._holders[id(module)]
            if not any(each is module for each in holder.children()):
                break  # it was taken out again
            module = holder
            seen.add(id(module))
        return module


def _outside_of_constructors(frame: FrameType | None, thing: Any) -> FrameType | None:
    """Whoever called the constructor, also if the user's class calls that of its base."""
    while frame is not None and frame.f_code.co_name == "__init__" and frame.f_locals.get("self") is thing:
        frame = frame.f_back
    return frame


@contextmanager
def module_sites_noted(made: CreationSites) -> Iterator[None]:
    """Notes where modules are put into others, and who makes their parameters."""

    def registered(module: nn.Module, name: str, submodule: nn.Module | None) -> None:
        if submodule is not None:
            made.note(submodule)
            made.note_module(submodule, module)

    def parameter_registered(module: nn.Module, name: str, parameter: Tensor | None) -> None:
        if parameter is not None:
            before = module._parameters.get(name)
            made.note_parameter(parameter, instead_of_another=before is not None and before is not parameter)

    handles = (
        register_module_module_registration_hook(registered),
        register_module_parameter_registration_hook(parameter_registered),
    )
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def loaded_batches_noted(made: CreationSites) -> Iterator[None]:
    """Notes the batches that a factory takes out of loaders."""
    original = _BaseDataLoaderIter.__next__

    def noted(self: _BaseDataLoaderIter) -> Any:
        batch = original(self)
        made.note_loaded(batch)
        return batch

    _BaseDataLoaderIter.__next__ = noted  # type: ignore[method-assign]
    try:
        yield
    finally:
        _BaseDataLoaderIter.__next__ = original  # type: ignore[method-assign]


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

    Optimizer.__init__ = noted_init  # type: ignore[method-assign]
    LRScheduler.__init__ = noted_scheduler  # type: ignore[method-assign]
    try:
        with module_sites_noted(made):
            yield made
    finally:
        Optimizer.__init__ = original  # type: ignore[method-assign]
        LRScheduler.__init__ = scheduler_init  # type: ignore[method-assign]
