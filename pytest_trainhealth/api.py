"""What users call outside pytest: the whole battery on a training, and the replay of a reproducer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from .checks import check as find_check
from .engine.battery import in_turn, keywords_of
from .engine.finished_run import examine_log
from .engine.request import Reproducers, Request
from .engine.shared_results import SharedResults
from .engine.silencings import silencings_in
from .examine import NotATraining, examine
from .histories.unreadable import shown_path
from .observe.source.user_frames import hide_our_frames
from .progress.in_python import show_in_python
from .records.history import History
from .records.verdict import Report, Verdict
from .reproducers.reproducer import read
from .settings import HISTORY_IS_HEALTHY
from .training import Training


def diagnose(
    subject: Training | Callable[[], object] | History | str | os.PathLike[str],
    checks: Iterable[str] | str | None = None,
    *,
    name: str | None = None,
    seed: int = 0,
    reproducers: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Report:
    """Run the battery outside pytest. `checks`: names of checks, or "all" to include those that need their own marker.

    A `History`, or the path of a log, is judged by `history_is_healthy`.

    `reproducers`: a folder for files that `replay()` reads, one for each check in which the training is not finite.
    """
    if checks is None and isinstance(subject, (History, str, os.PathLike)):
        checks = HISTORY_IS_HEALTHY
    values = keywords_of(checks, settings, "diagnose")
    training = name or _name_of(subject)
    kept = None if reproducers is None else Reproducers(Path(reproducers), run_seed=seed)
    show = show_in_python()

    def judge(check: str, shared: SharedResults) -> Verdict:
        accepted = tuple(silencings_in(values[check], "diagnose()"))
        request = Request(check, training, seed, values[check], reproducers=kept, show=show, silencings=accepted)
        if find_check(check).reads_history:
            return examine_log(subject, request)
        if isinstance(subject, (History, str, os.PathLike)):
            raise NotATraining(f"{check} needs a Training, or a function that makes one, not the log of a run")
        return examine(subject, request, shared)

    try:
        return in_turn(training, values, judge)
    except Exception as error:
        raise hide_our_frames(error)  # noqa: B904 - it is the same error


def replay(file: str | os.PathLike[str], subject: Training | Callable[[], object]) -> Verdict:
    """Take the step in a reproducer again, on a training or, better, the function that makes it. Prints as a chart."""
    saved = replace(read(file), call=0)
    try:
        return examine(subject, Request(saved.check, saved.training, saved.seed, replays=saved))
    except Exception as error:
        raise hide_our_frames(error)  # noqa: B904 - it is the same error


def _name_of(subject: Any) -> str:
    if isinstance(subject, History):
        return subject.source
    if isinstance(subject, (str, os.PathLike)):
        return shown_path(subject)
    if isinstance(subject, Training):
        return subject.name or ", ".join(type(m).__name__ for m in subject.modules.values())
    return str(getattr(subject, "__name__", type(subject).__name__))
