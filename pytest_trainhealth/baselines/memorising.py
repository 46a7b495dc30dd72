"""How many steps it takes to memorise one batch, beside how many it took when the baseline was recorded."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean

from .. import wording
from ..analysis.memorising import LAST_STEPS, limit_of
from ..analysis.reference_points import points
from ..analysis.seed_spread import by_chance
from ..engine.conclude import FollowedUp
from ..engine.examination import Examination
from ..programs.plan import Look
from ..records.baseline import Baseline, KeptBaseline
from ..records.judgement import CouldNotJudge, Passed
from ..records.symptoms import OFF_RECORD
from ..records.trace import Trace
from ..records.verdict import Symptom

#: The share of the first loss that memorising means, and the steps that it may take: as for overfits_one_batch, 0.1
#: and 200.
_RATIO, MOST_STEPS = 0.1, 200
_SIGNALS = ("loss_calls",)
#: Times the recorded number of steps: a run that takes longer by less is not worth a red test. By judgement.
_WORTH_TELLING = 1.5
#: Added to the seed for the second look. By judgement: any other seed would do; 7919 is the 1,000th prime.
_OTHER_SEED = 7919


def steps_to_memorise(examination: Examination, most: int = MOST_STEPS, seed_offset: int = 0) -> int | None:
    """None where one batch is not memorised in as many steps, or the training takes its batches itself."""
    if examination.program.start is None:  # a watched test goes its own way
        return None
    plan = replace(
        examination.rerun,
        max_steps=most,
        one_batch=True,
        stop_when=_is_memorised,
        look=Look(_SIGNALS),
        seed_offset=seed_offset,
        catch_errors=True,
    )
    trace = examination.record(plan)
    return trace.steps if trace.finite and trace.losses and _is_memorised(trace) else None


def _is_memorised(trace: Trace) -> bool:
    if len(trace.losses) <= LAST_STEPS:
        return False
    return fmean(trace.losses[-LAST_STEPS:]) < limit_of(trace, _RATIO, points(trace))


def longest(baseline: Baseline) -> int | None:
    """The most steps that chance explains; None where none were recorded, or not with several seeds."""
    figure = baseline.memorised
    reach = None if figure is None else by_chance(figure, baseline.seeds)
    if figure is None or figure.mean is None or reach is None:
        return None
    return math.ceil(max(figure.mean + reach, _WORTH_TELLING * figure.value, figure.value + LAST_STEPS))


def follow_up(examination: Examination, passed: Passed, trace: Trace) -> FollowedUp:
    """After first steps that are as recorded: does it still memorise a batch, in as many steps?"""
    kept: KeptBaseline | None = examination.values.get("kept_baseline")
    most = None if kept is None or kept.baseline is None else longest(kept.baseline)
    if most is None or kept is None or kept.baseline is None or kept.baseline.memorised is None:
        return FollowedUp(passed, trace, examination.plan)
    taken = steps_to_memorise(examination, most)
    judgement: Passed | CouldNotJudge | Symptom = replace(
        passed, figures={**passed.figures, "memorised": None if taken is None else float(taken)}
    )
    if taken is None:
        if examination.budget.over():
            reason = examination.budget.used_up("whether it still memorises one batch was not tried")
            return FollowedUp(CouldNotJudge(reason), trace, examination.plan)
        once_more = steps_to_memorise(examination, most, _OTHER_SEED)
        if once_more is None and not examination.budget.over():
            judgement = _slower(kept.baseline, most)
    return FollowedUp(judgement, trace, examination.plan)


def _slower(baseline: Baseline, most: int) -> Symptom:
    assert baseline.memorised is not None
    recorded = baseline.memorised.value
    summary = (
        f"one batch is not memorised in {wording.plural(most, 'step')}, with either of two seeds; recorded "
        f"{recorded:g} (up to {most} with any of {baseline.seeds} seeds)"
    )
    headline = f"one batch is no longer memorised in {most} steps, recorded {recorded:g}"
    return Symptom(summary, OFF_RECORD, float(most), recorded, "high", headline)
