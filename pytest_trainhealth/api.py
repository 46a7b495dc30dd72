"""What users call outside pytest: the battery on a training, its learning rates, two of them compared, a replay."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from .checks import check as find_check
from .checks.improves_on import SEEDS, STEPS
from .engine.battery import advice_request, asked_for_by_name, in_turn, keywords_of
from .engine.finished_run import examine_log
from .engine.request import DoesNotApply, Reproducers, Request
from .engine.shared_results import SharedResults
from .engine.silencings import silencings_in
from .examine import NotATraining, advised_report, compare_trainings, examine, learning_rates
from .histories.unreadable import shown_path
from .observe.source.user_frames import hide_our_frames
from .progress.in_python import show_in_python
from .records.history import History
from .records.improvement import Improvement
from .records.rate_range import RateRange
from .records.verdict import Report, Verdict
from .reproducers.reproducer import read
from .revisions.found_file import refuse_while_imported
from .settings import HISTORY_IS_HEALTHY, IMPROVES_ON, LEARNS_FROM_DATA, WrongSetting, read_keywords
from .training import Training


def diagnose(  # noqa: PLR0913 - each but the first two is passed by name
    subject: Training | Callable[[], object] | History | str | os.PathLike[str],
    checks: Iterable[str] | str | None = None,
    *,
    name: str | None = None,
    seed: int = 0,
    reproducers: str | os.PathLike[str] | None = None,
    advise: bool = False,
    advise_budget: float | None = None,
    advise_steps: int | None = None,
    advise_cache: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
    **settings: Any,
) -> Report:
    """Run the battery outside pytest. `checks`: names of checks, or "all" to include those that need their own marker.

    A `History`, or the path of a log, is judged by `history_is_healthy`.

    `reproducers`: a folder for files that `replay()` reads, one for each check in which the training is not finite.

    `advise`: also try changes on the training, and put what they gain into `report.advice`. `advise_budget` is in
    seconds, `advise_steps` are those of each run; `advise_cache`, a file, keeps what was measured, so that it is not
    measured again after an interruption; `progress`, `print` for one, is told how far it has come.
    """
    refuse_while_imported("diagnose")
    if checks is None and isinstance(subject, (History, str, os.PathLike)):
        checks = HISTORY_IS_HEALTHY
    values = keywords_of(checks, settings, "diagnose")
    training = name or _name_of(subject)
    kept = None if reproducers is None else Reproducers(Path(reproducers), run_seed=seed)
    advice = advice_request(advise_budget, advise_steps, advise_cache, progress, "diagnose()") if advise else None
    show = show_in_python()

    def judge(check: str, shared: SharedResults) -> Verdict:
        by_name = asked_for_by_name(check, checks)
        if not by_name and shared.has_val_data is False:
            raise DoesNotApply
        request = Request(
            check,
            training,
            seed,
            values[check],
            reproducers=kept,
            show=show,
            silencings=tuple(silencings_in(values[check], "diagnose()")),
            only_with_val_data=not by_name,
        )
        if find_check(check).reads_history:
            return examine_log(subject, request)
        if isinstance(subject, (History, str, os.PathLike)):
            raise NotATraining(f"{check} needs a Training, or a function that makes one, not the log of a run")
        return examine(subject, request, shared)

    try:
        report = in_turn(training, values, judge)
        if advice is None:
            return report
        return advised_report(report, subject, Request("", training, seed, advice=advice))  # type: ignore[arg-type]
    except Exception as error:
        raise hide_our_frames(error)  # noqa: B904 - it is the same error


def compare(  # noqa: PLR0913 - two trainings, and how they are compared
    before: Training | Callable[[], object],
    after: Training | Callable[[], object],
    *,
    seeds: int = SEEDS,
    steps: int = STEPS,
    measure: Callable[[Any], float] | None = None,
    seed: int = 0,
    budget: float = 300.0,
) -> Improvement:
    """Which of two trainings is better, over seeds that both are run with, and how sure that is. Prints as curves.

    Functions that build them are started anew for each seed; a `Training` starts with its own values each time.

    `measure`: how good a training is, smaller is better, as a function of the `Training`; by default the loss on its
    `val_data`. `budget`: seconds for both together.
    """
    refuse_while_imported("compare")
    if seeds < 1 or steps < 1:
        raise WrongSetting(f"compare(): at least 1 seed and 1 step are needed, not {seeds} and {steps}")
    request = Request(IMPROVES_ON, "compare", seed, {"steps": steps, "budget": budget})
    try:
        return compare_trainings(before, after, request, seeds=seeds, measure=measure)
    except Exception as error:
        raise hide_our_frames(error)  # noqa: B904 - it is the same error


def learning_rate_range(
    subject: Training | Callable[[], object], *, steps: int = 40, seed: int = 0, budget: float = 60.0
) -> RateRange:
    """A range test: the same start, as many steps, at learning rates from low to high. Says which of them work.

    `print()` it for the curve; `.low`, `.high` and `.best` are rates, `.works` whether the training's own is between.
    """
    refuse_while_imported("learning_rate_range")
    values = read_keywords(LEARNS_FROM_DATA, {"steps": steps, "budget": budget}, "learning_rate_range()")
    request = Request(LEARNS_FROM_DATA, _name_of(subject), seed, values)
    try:
        return learning_rates(subject, request, int(values["steps"]))
    except Exception as error:
        raise hide_our_frames(error)  # noqa: B904 - it is the same error


def replay(file: str | os.PathLike[str], subject: Training | Callable[[], object]) -> Verdict:
    """Take the step in a reproducer again, on a training or, better, the function that makes it. Prints as a chart."""
    refuse_while_imported("replay")
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
