"""What is wanted of the engine besides a verdict: that a failure can be replayed, or that one is replayed.

Told by way of the context: a marker, the fixture and a factory on the command line lead to the engine by three ways,
and none of them has to know of it. Standard library only, for pytest's side sets it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..replay.reproducer import Reproducer


@dataclass(frozen=True)
class Errand:
    """The default is that of `diagnose()`: nothing is written."""

    #: Where reproducers are kept.
    folder: Path | None = None
    #: The node id, and the seed of the whole run.
    test: str = ""
    run_seed: int = 0
    #: What is to be replayed rather than examined.
    replays: Reproducer | None = None
    #: Paths are told as seen from here.
    seen_from: Path = field(default_factory=Path.cwd)
    #: A test that uses the fixture may ask for the same check of several trainings.
    _calls: Counter[str] = field(default_factory=Counter)

    def call(self, check: str) -> int:
        """0 for the first time that this check is asked for, and so on."""
        self._calls[check] += 1
        return self._calls[check] - 1

    def replayed(self, check: str, call: int) -> Reproducer | None:
        saved = self.replays
        return saved if saved is not None and (saved.check, saved.call) == (check, call) else None

    def describe(self, file: Path) -> str:
        try:
            shown = os.path.relpath(file, self.seen_from)
        except ValueError:  # on another drive
            return str(file)
        return str(file) if shown.startswith("..") else Path(shown).as_posix()


_NO_ERRAND = Errand(seen_from=Path())
_CURRENT: ContextVar[Errand] = ContextVar("trainhealth_errand", default=_NO_ERRAND)


def current() -> Errand:
    return _CURRENT.get()


@contextmanager
def sent_on(errand: Errand) -> Iterator[None]:
    token = _CURRENT.set(errand)
    try:
        yield
    finally:
        _CURRENT.reset(token)
