"""What is judged about a run, and what a run with a cure has to show before it confirms anything."""

from __future__ import annotations

import math

from pytest_trainhealth.checks.trains_without_nan import cured_steps, judge, max_steps, result
from pytest_trainhealth.programs.plan import RunPlan
from pytest_trainhealth.records.intervention import Cure
from pytest_trainhealth.records.judgement import UNTREATED, CouldNotJudge, FailedRun, Passed
from pytest_trainhealth.records.numbers import NonFinite
from pytest_trainhealth.records.symptoms import EXPLOSION
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom


def broken(*losses: float) -> Trace:
    trace = Trace.of([*losses, math.nan])
    trace.nonfinite = NonFinite(len(losses), "the loss", "nan")
    return trace


FALLING = broken(*(2.0 - 0.1 * step for step in range(12)))


def test_the_course_of_the_loss_until_it_broke() -> None:
    symptom = judge(FALLING, {})
    assert isinstance(symptom, Symptom)
    assert symptom.category == EXPLOSION
    assert symptom.summary == "the loss is nan at step 12 of 50 (2.000 -> 0.900 until then)"
    assert symptom.headline == "the loss is nan at step 12"


def test_at_the_first_steps_there_is_no_course() -> None:
    assert judge(broken(), {}).summary == "the loss is nan at step 0 of 50"  # type: ignore[union-attr]
    assert judge(broken(2.0), {}).summary == "the loss is nan at step 1 of 50 (from 2.000)"  # type: ignore[union-attr]


def test_a_cured_run_takes_twice_the_steps() -> None:
    """A cure that merely puts NaN off gets the time to show it."""
    plan = RunPlan(max_steps=max_steps({}), cured_steps=cured_steps({}))
    assert plan.max_steps == 50
    assert plan.curing(Cure("clip_gradients", "clipped")).max_steps == 100
    assert plan.curing().max_steps == 50
    assert plan.until(7).curing(Cure("zeroed_inputs", "a control")).max_steps == 7


def test_standing_still_is_no_cure() -> None:
    stuck = Trace.of([2.0 - 1e-4 * step for step in range(100)])
    assert isinstance(judge(stuck, {}, {UNTREATED: FALLING}), CouldNotJudge)
    told = result(stuck, FailedRun(FALLING, Symptom("nan", EXPLOSION, math.nan, 0.0)))
    assert told == "finite for 100 steps, loss stuck at 1.990"


def test_learning_on_is() -> None:
    healed = Trace.of([2.0 - 0.01 * step for step in range(100)])
    assert isinstance(judge(healed, {}, {UNTREATED: FALLING}), Passed)
    assert result(healed, FailedRun(FALLING, Symptom("nan", EXPLOSION, math.nan, 0.0))) == "finite for 100 steps"


def test_what_never_fell_says_nothing_about_its_cure() -> None:
    stuck = Trace.of([2.0] * 100)
    assert isinstance(judge(stuck, {}, {UNTREATED: broken(2.0, 40.0, 1e9)}), Passed)
