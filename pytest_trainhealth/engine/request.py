"""What the engine is to do: one check on one subject, and what to produce besides a verdict.

A `Request` is frozen and passed down the call chain; it is the only way a check is described. Imports the standard
library only, because the pytest plugin builds it in runs that must not load torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..records.silencing import Silencing

if TYPE_CHECKING:
    from ..programs.plan import Timer
    from ..progress.progress import Show
    from ..reproducers.reproducer import Reproducer
    from ..revisions.test_locator import TestLocator


class DoesNotApply(Exception):
    """The check is not one of this training's battery."""


@dataclass(frozen=True)
class Reproducers:
    """Where the files that replay a failure are written, and how messages show their paths."""

    folder: Path
    #: The seed of the whole run, from which the seed of each test is derived.
    run_seed: int = 0
    #: Messages show paths relative to this folder.
    seen_from: Path = field(default_factory=Path.cwd)

    def shown(self, file: Path) -> str:
        try:
            relative = os.path.relpath(file, self.seen_from)
        except ValueError:  # on another drive
            return str(file)
        return str(file) if relative.startswith("..") else Path(relative).as_posix()


@dataclass(frozen=True)
class AdviceRequest:
    """That changes are tried as well, how long, and where what was measured is kept."""

    #: Seconds for all of it, and steps of each run.
    budget: float
    steps: int
    #: None keeps nothing beyond this process.
    kept_in: Path | None = None
    #: Is told, in words, how far it has come.
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class Request:
    check: str
    #: What the verdict calls the training.
    name: str
    seed: int
    values: Mapping[str, Any] = field(default_factory=dict)
    #: The node id without the check, which all checks of a test share; empty outside of pytest.
    test: str = ""
    #: The node id with the check.
    item: str = ""
    #: How many times this check was requested in the same test before: the fixture may ask for several trainings.
    call: int = 0
    #: How many xdist workers share this machine.
    workers: int = 1
    #: Times the first run; None if nothing does.
    timer: Timer | None = None
    #: What is accepted, by whom and why.
    silencings: tuple[Silencing, ...] = ()
    #: Is told how far the check has come; None if nobody looks.
    show: Show | None = None
    #: How the process of another revision finds the same test.
    locator: TestLocator | None = None
    #: The check is part of the battery where a training has `val_data`, and nowhere else.
    only_with_val_data: bool = False
    #: None if no reproducers are written.
    reproducers: Reproducers | None = None
    #: The test is marked to raise one of these (xfail): an error of that kind is passed on as it is.
    expected_errors: tuple[type[BaseException], ...] = ()
    #: A reproducer to replay instead of examining the training, if it is from this very check (see `replaying`).
    replays: Reproducer | None = None
    #: None if no advice is asked for.
    advice: AdviceRequest | None = None

    @property
    def replaying(self) -> Reproducer | None:
        saved = self.replays
        return saved if saved is not None and (saved.check, saved.call) == (self.check, self.call) else None
