"""The healthy zoo: small trainings that are odd in one way each and must never raise an alarm.

One file per family. A program is a function without arguments that returns a `Training`, marked with `@healthy`.
It seeds nothing (whoever calls it does) and builds its data itself.
`python -m tests.evaluation.corpus.healthy` trains each in a bare loop and shows that it learns.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

Factory = Callable[[], Any]
_FOUND: dict[str, Factory] = {}


def healthy(factory: Factory) -> Factory:
    """Registers a program under the name of its function, which has to be the only one of that name."""
    if factory.__name__ in _FOUND:
        raise ValueError(f"two healthy programs are called {factory.__name__!r}")
    _FOUND[factory.__name__] = factory
    return factory


def programs() -> dict[str, Factory]:
    """All programs by name, in the order of the files and of the functions in them."""
    for module in iter_modules(__path__):
        if not module.name.startswith("_"):
            import_module(f"{__name__}.{module.name}")
    return dict(_FOUND)
