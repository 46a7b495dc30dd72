"""What runs after a check that passed, and what may replace a verdict. Each check names its own."""

from __future__ import annotations

from collections.abc import Callable

from ..engine.conclude import FollowedUp, FollowUp
from ..engine.examination import Examination
from ..records.judgement import Passed
from ..records.trace import Trace
from ..records.verdict import Verdict


def _stress(examination: Examination, passed: Passed, trace: Trace) -> FollowedUp:
    from ..stress.follow_up import follow_up

    return follow_up(examination, passed, trace)


def _memorising(examination: Examination, passed: Passed, trace: Trace) -> FollowedUp:
    from ..baselines.memorising import follow_up

    return follow_up(examination, passed, trace)


def _one_thread(verdict: Verdict, examination: Examination) -> Verdict:
    from ..engine.one_thread import with_one_thread

    return with_one_thread(verdict, examination)


FOLLOW_UPS: dict[str | None, FollowUp] = {"stress": _stress, "memorising": _memorising}
SECOND_OPINIONS: dict[str, Callable[[Verdict, Examination], Verdict]] = {"one_thread": _one_thread}
