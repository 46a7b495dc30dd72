"""What is wanted of the engine: one check on one subject, and what besides a verdict is to come of it.

Frozen, and handed from one to the next; nothing about a check is told by any other way. Standard library only, for it
is made on pytest's side.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..compare.test_locator import TestLocator
    from ..programs.plan import Timer
    from ..reproducers.reproducer import Reproducer


@dataclass(frozen=True)
class Reproducers:
    """Where the files go that replay a failure, and how they are called in messages."""

    folder: Path
    #: The seed of the whole run, from which that of the test is made.
    run_seed: int = 0
    #: Paths are shown as seen from here.
    seen_from: Path = field(default_factory=Path.cwd)

    def shown(self, file: Path) -> str:
        try:
            relative = os.path.relpath(file, self.seen_from)
        except ValueError:  # on another drive
            return str(file)
        return str(file) if relative.startswith("..") else Path(relative).as_posix()


@dataclass(frozen=True)
class Request:
    check: str
    #: What the verdict calls the training.
    name: str
    seed: int
    values: Mapping[str, Any] = field(default_factory=dict)
    #: The node id without the check, which all checks of a test share; empty outside of pytest.
    test: str = ""
    #: The node id with it.
    item: str = ""
    #: How many times this check was requested in the same test before: the fixture may ask for several trainings.
    call: int = 0
    #: Processes that share this machine.
    workers: int = 1
    #: Keeps the time of the first run, where somebody does.
    timer: Timer | None = None
    #: How the process of another revision finds the same test.
    locator: TestLocator | None = None
    #: None where failures are not kept.
    reproducers: Reproducers | None = None
    #: What is to be replayed rather than examined, if it is from this very check.
    replays: Reproducer | None = None

    @property
    def replaying(self) -> Reproducer | None:
        saved = self.replays
        return saved if saved is not None and (saved.check, saved.call) == (self.check, self.call) else None
