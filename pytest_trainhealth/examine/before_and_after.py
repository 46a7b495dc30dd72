"""Two trainings beside each other, over the same seeds: `compare()`, and the check `improves_on`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..budget.budget import Budget
from ..checks import check as find_check
from ..engine.request import Request
from ..observe.run.hanging import DidNotComeBack, interrupting
from ..programs.start import CannotStartAgain
from ..records.verdict import Verdict
from ..state.process import undisturbed
from ..state.process_settings import process_settings_kept
from ..tensors.function_modes import none_left
from .plan_of import plan_of, threads_of
from .program_of import Subject, program_of

if TYPE_CHECKING:
    from ..records.improvement import Improvement, SeedRun


def compare_trainings(
    before: Subject, after: Subject, request: Request, *, seeds: int, measure: Callable[[Any], float] | None = None
) -> Improvement:
    """Both with the same seeds, one after the other; each has half of the time."""
    from ..analysis.improvement import compared

    sides = [_side(subject, request, seeds, measure) for subject in (before, after)]
    return compared(*sides, steps=find_check(request.check).max_steps(request.values))


def _side(
    subject: Subject, request: Request, seeds: int, measure: Callable[[Any], float] | None
) -> tuple[SeedRun, ...]:
    from ..improvements.seed_runs import runs_of, stopped

    check, left = find_check(request.check), list[str]()
    with none_left(), process_settings_kept(), undisturbed(threads_of(check, request)):
        plan = plan_of(check, request, None)
        plan = replace(plan, budget=Budget(plan.budget.seconds / 2))
        try:
            with interrupting(plan.budget), program_of(subject, request, plan, request.seed, left) as program:
                return runs_of(program, plan, seeds=seeds, measure=measure)
        except (DidNotComeBack, CannotStartAgain) as error:
            return stopped(str(error))


def beside_another(subject: Subject, request: Request) -> Verdict:
    from ..checks.improves_on import SEEDS
    from ..improvements.verdict import verdict_of

    began, before = time.perf_counter(), request.values.get("before")
    found = None
    if before is not None:
        found = compare_trainings(before, subject, request, seeds=SEEDS)
    return replace(verdict_of(found, request), seed=request.seed, seconds=time.perf_counter() - began)
