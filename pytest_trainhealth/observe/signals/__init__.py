"""The signals by name: each has a file of that name in one of the folders here, imported when a run requests it.

The check chooses the signals that its run pays for; a closer look after a failure takes all but those that are brief or
about speed. There is no list to edit: a file with a class that has a `NAME` is a signal, any other file is a helper.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from importlib import import_module
from pkgutil import walk_packages

from ...settings import near
from ..run.run import Run
from ..run.signal import Cost, Signal

#: Signals that every run has; they receive events before all others.
ALWAYS = ("optimizers", "backwards", "reversals", "near_danger")


def make_signals(run: Run, names: Iterable[str]) -> list[Signal]:
    """In the order in which they are requested, except that those with `LAST` come last."""
    kinds = [signal(name) for name in dict.fromkeys((*ALWAYS, *names))]
    return [kind(run) for kind in sorted(kinds, key=lambda kind: kind.LAST)]


def signal(name: str) -> type[Signal]:
    found = _signal_of(_homes()[name]) if name in _homes() else None
    if found is None:
        raise ValueError(f"there is no signal {name!r}{near(name, all_signals())}")
    return found


@functools.cache
def all_signals() -> dict[str, type[Signal]]:
    """All signals, in the order in which a closer look installs them. This imports every one of them."""
    found = [each for each in map(_signal_of, _homes().values()) if each is not None]
    return {each.NAME: each for each in sorted(found, key=lambda each: each.LAST)}


def close_signals() -> tuple[str, ...]:
    """The names of the signals that are recorded once a check has failed."""
    return tuple(name for name, each in all_signals().items() if each.COST is Cost.CLOSE)


@functools.cache
def _homes() -> dict[str, str]:
    """Modules by the names of their files, including helpers: nothing is imported here that could tell them apart."""
    found = (module for module in walk_packages(__path__, f"{__name__}.") if not module.ispkg)
    return {module.name.rpartition(".")[2]: module.name for module in found}


def _signal_of(module: str) -> type[Signal] | None:
    """The signal that the file defines, as opposed to base classes that it imports from other files."""
    for each in vars(import_module(module)).values():
        if isinstance(each, type) and issubclass(each, Signal) and each.__module__ == module and "NAME" in vars(each):
            return each
    return None
