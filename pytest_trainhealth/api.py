"""What users call outside of pytest: a whole battery on a training, and the replay of a failure that was kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from .engine.battery import in_turn, keywords_of
from .engine.request import Reproducers, Request
from .engine.shared_results import SharedResults
from .examine import examine
from .records.verdict import Report, Verdict
from .reproducers.reproducer import read
from .training import Training


def diagnose(
    subject: Training | Callable[[], object],
    checks: Iterable[str] | str | None = None,
    *,
    name: str | None = None,
    seed: int = 0,
    reproducers: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Report:
    """Run the battery outside pytest. `checks` takes names, or "all" for those too that otherwise need a marker.

    `reproducers`: a folder for files that `replay()` takes, one for each training that does not stay finite.
    """
    values = keywords_of(checks, settings, "diagnose")
    training = name or _name_of(subject)
    kept = None if reproducers is None else Reproducers(Path(reproducers), run_seed=seed)

    def judge(check: str, shared: SharedResults) -> Verdict:
        return examine(subject, Request(check, training, seed, values[check], reproducers=kept), shared)

    return in_turn(training, values, judge)


def replay(file: str | os.PathLike[str], subject: Training | Callable[[], object]) -> Verdict:
    """The step that a reproducer holds, on a training (best: the function that makes it). Prints as its chart."""
    saved = replace(read(file), call=0)
    return examine(subject, Request(saved.check, saved.training, saved.seed, replays=saved))


def _name_of(subject: Any) -> str:
    if isinstance(subject, Training):
        return subject.name or ", ".join(type(m).__name__ for m in subject.modules.values())
    return str(getattr(subject, "__name__", type(subject).__name__))
