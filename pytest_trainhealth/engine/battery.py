"""Several checks of one training: which checks, with which settings, and in which order.

What one check finds may explain what a later one sees, so checks run in a fixed order, whatever order the user gave.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..checks import check as find_check
from ..records.verdict import Report, Verdict
from ..settings import (
    BATTERY,
    CHECK_ROWS,
    TRAINING_CHECKS,
    WITH_VAL_DATA,
    WrongSetting,
    check_names,
    keywords,
    near,
    read_keywords,
    setting,
)
from .request import AdviceRequest, DoesNotApply
from .shared_results import SharedResults


def keywords_of(
    checks: Iterable[str] | str | None, settings: Mapping[str, Any], given: str
) -> dict[str, dict[str, Any]]:
    """Each requested check with the settings it takes. `given` names the caller in error messages."""
    wanted = (*BATTERY, *WITH_VAL_DATA) if checks is None else _all(settings) if checks == "all" else checks
    wanted = check_names((wanted,) if isinstance(wanted, str) else wanted, f"{given}(checks=)")
    takes = {check: {setting.name for setting in keywords(check)} for check in wanted}
    for name in settings:
        if not any(name in names for names in takes.values()):
            raise WrongSetting(f"{given}() takes no {name!r}{near(name, sorted(set().union(*takes.values())))}")
    return {
        check: read_keywords(check, {name: settings[name] for name in settings if name in takes[check]}, f"{given}()")
        for check in wanted
    }


def _all(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Without those that need something to compare with, and were given nothing."""
    missing = {row.name for row in CHECK_ROWS if row.needs and row.needs not in settings}
    return tuple(check for check in TRAINING_CHECKS if check not in missing)


def asked_for_by_name(check: str, checks: Iterable[str] | str | None) -> bool:
    """False for what the battery has only where a training has `val_data`."""
    return checks is not None or check not in WITH_VAL_DATA


def advice_request(
    budget: float | None,
    steps: int | None,
    cache: str | os.PathLike[str] | None,
    progress: Callable[[str], None] | None,
    given: str,
) -> AdviceRequest:
    """What was given, or the defaults. `given` names the caller in error messages."""
    read = {
        name: setting(name).default if value is None else setting(name).parse(value, f"{given}: {name}=")
        for name, value in (("advise_budget", budget), ("advise_steps", steps))
    }
    kept_in = None if cache is None else Path(cache).expanduser()
    return AdviceRequest(read["advise_budget"], read["advise_steps"], kept_in, progress)


def in_turn(name: str, wanted: Iterable[str], judge: Callable[[str, SharedResults], Verdict]) -> Report:
    """The verdicts in the order the user gave, though the checks run in the order that explains most.

    What does not apply to this training is left out.
    """
    __tracebackhide__ = True
    wanted = tuple(wanted)
    in_order = sorted(wanted, key=lambda check: find_check(check).turn)
    verdicts, shared = {}, SharedResults(wanted=tuple(in_order))
    for check in in_order:
        with suppress(DoesNotApply):
            verdicts[check] = judge(check, shared)
    return Report(name, tuple(verdicts[check] for check in wanted if check in verdicts))
