"""What users call outside of pytest: a whole battery on a training, and the replay of a failure that was kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from .engine.errand import Errand, sent_on
from .engine.shared_results import SharedResults
from .examine import examine
from .records.verdict import Report, Verdict
from .replay.reproducer import read
from .settings import (
    BATTERY,
    CHECKS,
    GRADIENTS_FLOW,
    LEARNS_FROM_DATA,
    OVERFITS_ONE_BATCH,
    USES_ITS_INPUT,
    WrongSetting,
    check_names,
    keywords,
    near,
    read_keywords,
)
from .training import Training

#: What these find explains the others: a wiring fault must not be taken for a matter of learning rates. And the run
#: of `learns_from_data` is one that `trains_without_nan` can judge.
_TURNS = (GRADIENTS_FLOW, USES_ITS_INPUT, OVERFITS_ONE_BATCH, LEARNS_FROM_DATA)


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
    wanted = BATTERY if checks is None else tuple(CHECKS) if checks == "all" else checks
    wanted = check_names((wanted,) if isinstance(wanted, str) else wanted, "diagnose(checks=)")
    name = name or _name_of(subject)
    takes = {check: {s.name for s in keywords(check)} for check in wanted}
    for given in settings:
        if not any(given in names for names in takes.values()):
            raise WrongSetting(f"diagnose() takes no {given!r}{near(given, sorted(set().union(*takes.values())))}")
    verdicts = {}
    shared = SharedResults()
    for check in sorted(wanted, key=_turn):
        mine = {key: value for key, value in settings.items() if key in takes[check]}
        values = read_keywords(check, mine, "diagnose()")
        with sent_on(Errand(None if reproducers is None else Path(reproducers), run_seed=seed)):
            verdicts[check] = examine(subject, check, name=name, seed=seed, values=values, shared=shared)
    return Report(name, tuple(verdicts[check] for check in wanted))


def _turn(check: str) -> int:
    return _TURNS.index(check) if check in _TURNS else len(_TURNS)


def _name_of(subject: Any) -> str:
    if isinstance(subject, Training):
        return subject.name or ", ".join(type(m).__name__ for m in subject.modules.values())
    return str(getattr(subject, "__name__", type(subject).__name__))


def replay(file: str | os.PathLike[str], subject: Training | Callable[[], object]) -> Verdict:
    """The step that a reproducer holds, on a training (best: the function that makes it). Prints as its chart."""
    saved = read(file)
    with sent_on(Errand(replays=replace(saved, call=0))):
        return examine(subject, saved.check, name=saved.training, seed=saved.seed, values={})
