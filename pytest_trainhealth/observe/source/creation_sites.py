"""Where and by whom a factory's objects were made: optimizers, schedulers, modules and their parameters."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
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
from ...tensors.tracing import is_traced
from .authorship import author
from .computed_weights import ComputedWeights, computed_weights_noted
from .engine_frames import stand_in
from .places import user_place


class CreationSites:
    """Which objects a factory created, where, by whom, and in which order.

    Nothing is kept alive by being noted: what was replaced may be large, and whether it is gone says something.
    """

    def __init__(self, on_parameter: Callable[[], object] | None = None) -> None:
        #: Called whenever a module gets a parameter.
        self.on_parameter = on_parameter
        self.computed = ComputedWeights()
        self._order = 0
        self._made: dict[int, tuple[weakref.ref[Any], int, Place]] = {}
        self._authors: dict[int, tuple[weakref.ref[nn.Module], str]] = {}
        self._holders: dict[int, tuple[weakref.ref[nn.Module], weakref.ref[nn.Module]]] = {}
        self._parameters: dict[int, tuple[weakref.ref[Tensor], str, bool]] = {}
        #: By parameter: when it was registered, and by which module.
        self._owners: dict[int, tuple[weakref.ref[Tensor], int, weakref.ref[nn.Module]]] = {}
        self._loaded: dict[int, weakref.ref[Tensor]] = {}

    def note(self, thing: Any) -> None:
        place = user_place(_outside_of_constructors(sys._getframe(2), thing))
        self._order += 1
        if place is not None:
            self._made[id(thing)] = (weakref.ref(thing), self._order, place)

    def note_module(self, module: nn.Module, holder: nn.Module) -> None:
        by = author(sys._getframe(1))
        if by is not None:
            self._authors[id(module)] = (weakref.ref(module), by)
        self.note_holder(module, holder)

    def note_holder(self, module: nn.Module, holder: nn.Module) -> None:
        self._holders[id(module)] = (weakref.ref(module), weakref.ref(holder))

    def note_parameter(self, parameter: Tensor, *, instead_of_another: bool) -> None:
        by = author(sys._getframe(1))
        known, _, _ = self._parameters.get(id(parameter), (None, "", False))
        if by is not None and (known is None or known() is not parameter):
            self._parameters[id(parameter)] = (weakref.ref(parameter), by, instead_of_another)

    def note_owner(self, parameter: Tensor, owner: nn.Module, *, made_now: bool = True) -> None:
        """`made_now`: its registration was seen. Otherwise it was found later, and may be of any age."""
        self._order += 1
        self._owners[id(parameter)] = (weakref.ref(parameter), self._order if made_now else 0, weakref.ref(owner))

    def note_loaded(self, batch: Any) -> None:
        self._loaded |= {id(tensor): weakref.ref(tensor) for _, tensor in tensors(batch)}

    def was_loaded(self, tensor: Tensor) -> bool:
        """Whether a DataLoader made it: a list of its batches may stand for the loader."""
        known = self._loaded.get(id(tensor))
        return known is not None and known() is tensor

    def __call__(self, thing: Any) -> Place | None:
        known = self._noted(thing)
        return None if known is None else known[1]

    def _noted(self, thing: Any) -> tuple[int, Place] | None:
        reference, order, place = self._made.get(id(thing), (None, 0, None))
        return (order, place) if reference is not None and place is not None and reference() is thing else None

    @property
    def now(self) -> int:
        """A number that grows with everything that is made."""
        return self._order

    def after(self, later: Any, earlier: Any) -> bool:
        """Whether both are known and `later` was created after `earlier`."""
        last, first = self._noted(later), self._noted(earlier)
        return last is not None and first is not None and last[0] > first[0]

    def first_of(self, things: Iterable[Any]) -> Any:
        """The one that was created first, of those that are known; None if none is."""
        known = [(noted[0], thing) for thing in things if (noted := self._noted(thing)) is not None]
        return min(known, key=lambda each: each[0], default=(0, None))[1]

    def maker_of(self, parameter: Tensor) -> str | None:
        """'user', or the package whose code made it. None if nobody saw: made before, or copied."""
        known, by, _ = self._parameters.get(id(parameter), (None, None, False))
        return by if known is not None and known() is parameter else None

    def owner_of(self, parameter: Tensor) -> nn.Module | None:
        """The module that has registered it and still has it; None if there is none, or nobody saw."""
        known, _, owner = self._owners.get(id(parameter), (None, 0, None))
        if known is None or owner is None or known() is not parameter:
            return None
        module = owner()
        return module if module is not None and any(each is parameter for each in module._parameters.values()) else None

    def registered_after(self, parameter: Tensor, moment: int) -> bool:
        """Whether it was seen to become a parameter of a module after this moment (`now`)."""
        known, order, _ = self._owners.get(id(parameter), (None, 0, None))
        return known is not None and known() is parameter and order > moment

    def put_in_by(self, module: nn.Module) -> str | None:
        """Who made the module a part of another one."""
        known, by = self._authors.get(id(module), (None, None))
        return by if known is not None and known() is module else None

    def assigned_over_another(self, parameter: Tensor) -> bool:
        """Whether the user's code replaced the parameter that a layer had made for itself with this one."""
        known, by, instead = self._parameters.get(id(parameter), (None, None, False))
        return known is not None and known() is parameter and by == "user" and instead

    def holders_of(self, module: nn.Module) -> list[nn.Module]:
        """The modules that this one is a part of, innermost first."""
        found: list[nn.Module] = []
        seen = {id(module)}
        while (holder := self._holder_of(module)) is not None and id(holder) not in seen:
            found.append(holder)
            seen.add(id(holder))
            module = holder
        return found

    def _holder_of(self, module: nn.Module) -> nn.Module | None:
        known, holder = self._holders.get(id(module), (None, None))
        found = holder() if known is not None and holder is not None and known() is module else None
        return found if found is not None and any(each is module for each in found.children()) else None

    def was_taken_out(self, module: nn.Module) -> bool:
        """Whether it was a part of another module and is one no more: a head that was replaced."""
        known, _ = self._holders.get(id(module), (None, None))
        return known is not None and known() is module and self._holder_of(module) is None


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
            made.note_owner(parameter, module)
            if made.on_parameter is not None:
                made.on_parameter()

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

    @wraps(original)
    @stand_in
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
def record_creation_sites(
    on_optimizer: Callable[[Optimizer], object] | None = None, into: CreationSites | None = None
) -> Iterator[CreationSites]:
    """Records where optimizers and schedulers are created and where modules are put into others.

    `into`: an earlier record that goes on.
    """
    made = CreationSites() if into is None else into
    original, scheduler_init = Optimizer.__init__, LRScheduler.__init__

    @wraps(scheduler_init)
    @stand_in
    def noted_scheduler(self: LRScheduler, *args: Any, **kwargs: Any) -> None:
        made.note(self)
        scheduler_init(self, *args, **kwargs)

    @wraps(original)
    @stand_in
    def noted_init(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        made.note(self)
        if on_optimizer is not None and not is_traced():
            on_optimizer(self)

    Optimizer.__init__ = noted_init  # type: ignore[method-assign]
    LRScheduler.__init__ = noted_scheduler  # type: ignore[method-assign]
    try:
        with module_sites_noted(made), computed_weights_noted(made.computed):
            yield made
    finally:
        Optimizer.__init__ = original  # type: ignore[method-assign]
        LRScheduler.__init__ = scheduler_init  # type: ignore[method-assign]
