"""The loss of a guess, and curves beside it: each condition, and each limit from both sides."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import pytest

from pytest_trainhealth.analysis import chance, memorising
from pytest_trainhealth.analysis.far_better import far_better
from pytest_trainhealth.analysis.reference_points import Points, Reach
from pytest_trainhealth.records.losses import LossCall, TensorSummary
from pytest_trainhealth.records.numbers import Crash
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place
from pytest_trainhealth.records.wiring import OptimizerRecord

CLASSES = LossCall("cross_entropy", weight=1.0, sole=True, classes=10, target=TensorSummary(dtype="int64"))
GUESS = log(10)


def trace(losses: list[float], *calls: LossCall) -> Trace:
    made = Trace.of(losses)
    made.loss.calls = list(calls)
    return made


@pytest.mark.parametrize(
    ("call", "guess"),
    [
        (CLASSES, GUESS),
        (replace(CLASSES, function="log-likelihood"), GUESS),
        (replace(CLASSES, classes=2), log(2)),
        (replace(CLASSES, classes=1), None),
        (replace(CLASSES, classes=None), None),
        (replace(CLASSES, target=TensorSummary(dtype="float32")), None),  # soft targets
        (replace(CLASSES, function="binary_cross_entropy"), log(2)),
        (replace(CLASSES, function="mse_loss", target=TensorSummary(std=3.0)), 9.0),
        (replace(CLASSES, function="squared difference", target=TensorSummary(std=3.0)), 9.0),
        (replace(CLASSES, function="l1_loss", target=TensorSummary(std=3.0)), pytest.approx(2.4)),
        (replace(CLASSES, function="mse_loss"), None),
        (replace(CLASSES, function="huber_loss", target=TensorSummary(std=3.0)), None),
        (replace(CLASSES, sole=False), None),
        (replace(CLASSES, reduction="sum"), None),
        (replace(CLASSES, weight=0.5), None),
        (replace(CLASSES, step=1), None),
    ],
)
def test_the_loss_of_a_guess(call: LossCall, guess: float | None) -> None:
    assert chance.chance_loss(trace([2.0], call, replace(CLASSES, step=2))) == guess
    assert chance.chance_loss(trace([2.0], call, call)) is None, "of two calls neither is the loss"


@pytest.mark.parametrize(
    ("first", "steps", "sure"),
    [
        (8.1 * GUESS, 20, True),
        (7.9 * GUESS, 20, False),
        (8.1 * GUESS, 19, False),
        (8.1 * GUESS, 39, True),
        (8.1 * GUESS, 40, False),  # it never gets down
    ],
)
def test_a_start_that_is_too_sure(first: float, steps: int, sure: bool) -> None:
    losses = [first] * steps + [GUESS] * (40 - steps)
    assert chance.too_sure_at_first(trace(losses, CLASSES)) is sure
    assert not chance.too_sure_at_first(
        trace(losses, replace(CLASSES, function="mse_loss", target=TensorSummary(std=1.0)))
    )
    assert not chance.too_sure_at_first(trace(losses))
    assert not chance.too_sure_at_first(trace([], CLASSES))


@pytest.mark.parametrize(
    ("first", "steps", "calmer"), [(2.9, 10, True), (3.1, 10, False), (2.9, 11, False), (2.9, 0, True)]
)
def test_a_start_that_is_calmer_with_a_cure(first: float, steps: int, calmer: bool) -> None:
    uncured = trace([9 * GUESS] * 20 + [GUESS] * 20, CLASSES)
    cured = trace([first * GUESS] * steps + [GUESS] * 20)
    if steps:
        assert chance.calmer_at_first(cured, uncured) is calmer
    assert not chance.calmer_at_first(trace([]), uncured)
    assert not chance.calmer_at_first(cured, trace([9.0] * 20))


@pytest.mark.parametrize(
    ("first", "level", "no_better", "worse"),
    [
        (3.1, 0.51, True, False),
        (3.1, 0.49, False, False),
        (2.9, 0.51, False, False),
        (3.1, 2.1, True, True),
        (3.1, 1.9, True, False),
        (2.9, 2.1, False, False),
    ],
)
def test_far_above_a_guess_and_no_better(first: float, level: float, no_better: bool, worse: bool) -> None:
    made = trace([first * GUESS], CLASSES)
    assert chance.no_better(made, level * GUESS) is no_better
    assert chance.worse_than_chance(made, level * GUESS) is worse
    assert not chance.no_better(trace([99.0]), 50.0)
    assert not chance.worse_than_chance(trace([99.0]), 50.0)


def penalised(first: float = 11.0, **facts: Any) -> Trace:
    made = trace([first], replace(LossCall("mse_loss", value=1.0, weight=2.0), **facts))
    made.numbers.penalties = [Place("train.py", 1)]
    return made


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({}, 2.0),
        ({"first": 9.0}, None),
        ({"value": None}, None),
        ({"weight": None}, None),
        ({"weight": -2.0}, None),
        ({"weight": 0.0}, None),
        ({"sole": True}, None),
        ({"step": 1}, None),
    ],
)
def test_a_loss_that_drowns_in_a_penalty(facts: dict[str, Any], found: float | None) -> None:
    assert chance.under_a_penalty(penalised(**facts)) == found


def test_a_penalty_is_told_by_what_is_left_of_the_loss_itself() -> None:
    made = penalised()
    assert chance.no_better(made, 1.1)
    assert not chance.no_better(made, 0.9)
    made.numbers.penalties.clear()
    assert chance.under_a_penalty(made) is None
    assert chance.under_a_penalty(replace(penalised(), losses=[])) is None


# -- what a run on one batch is told by ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "limit"),
    [
        (Points(), 0.2),
        (Points(0.5, 1.5), 0.6),
        (Points(0.5, 9.0), 0.65),
        (Points(2.0, 9.0), float("-inf")),
        (Points(3.0, 9.0), float("-inf")),
    ],
)
def test_the_limit_is_a_tenth_of_the_way_above_the_floor(points: Points, limit: float) -> None:
    assert memorising.limit_of(Trace.of([2.0]), 0.1, points) == pytest.approx(limit)


@pytest.mark.parametrize(
    ("losses", "below"),
    [
        ([1.0, 0.05, 0.05, 0.05], True),
        ([1.0, 0.05, 0.05], False),
        ([1.0, 0.05, 0.05, 0.3], False),
        ([1.0, 9.0, 0.05, 0.05, 0.05], True),
        ([-1.0, -2.0, -2.0, -2.0], False),
    ],
)
def test_three_losses_have_to_be_below(losses: list[float], below: bool) -> None:
    assert memorising.below(losses, 0.1) is below


@pytest.mark.parametrize(
    ("losses", "category", "headline"),
    [
        ([1.0] + [1.11] * 40, "instability", "loss grows from 1.000 -> 1.110"),
        ([1.0] + [1.09] * 40, "not-learning", "loss stuck at 1.090"),
        ([1.0] + [1.15, 1.35] * 20, "not-learning", "loss stuck at 1.350"),  # within twice its jumps
        ([1.0, 2.0] * 20, "instability", "loss oscillates around 2.000"),
        ([1.0] + [0.69] * 40, "plateau", "loss stops at 0.690"),
        ([1.0] + [0.71] * 40, "not-learning", "loss stuck at 0.710"),
        ([-1.0] + [-1.31] * 40, "plateau", "loss stops at -1.310"),
        ([-1.0] + [-0.89] * 40, "instability", "loss grows from -1.000 -> -0.890"),
    ],
)
def test_what_a_run_that_is_stuck_looks_like(losses: list[float], category: str, headline: str) -> None:
    made = Trace.of(losses)
    symptom = memorising.stuck(made, losses[0], memorising.loss_curve.level(losses), 0.1)
    assert (symptom.category, symptom.headline) == (category, headline)
    assert ("has to fall below 0.100" in symptom.summary) is (losses[0] > 0)
    assert symptom.limit == pytest.approx(0.1 * losses[0])
    assert " on one batch of 16 samples (" in symptom.summary
    made.batch_size = None
    symptom = memorising.stuck(made, losses[0], 0.5, 0.1, Reach(0.25, 40))
    assert " on one batch (" in symptom.summary
    assert "; a plain recipe gets to 0.250)" in symptom.summary


def test_where_nothing_is_to_be_learnt_no_limit_is_told() -> None:
    made = trace([1.0] * 40, replace(CLASSES, floor=1.0, chance=2.0))
    symptom = memorising.stuck(made, 1.0, 1.0, 0.1)
    assert "(has to fall)" in symptom.summary
    assert symptom.limit == pytest.approx(0.1)


@pytest.mark.parametrize(("highest", "category"), [(4.1, "instability"), (3.9, "plateau")])
def test_a_loss_that_jumped_and_fell_to_a_guess(highest: float, category: str) -> None:
    made = trace([1.0, highest] + [0.7] * 40, CLASSES)
    symptom = memorising.only_guesses(made, 1.0, 0.7)
    assert (symptom.category, symptom.limit) == (category, pytest.approx(GUESS))
    assert memorising.jumpy(replace(symptom, category="x"), made).category == ("instability" if highest > 4 else "x")


# -- far better with a cure ---------------------------------------------------------------------------------------


def ends(first: float, last: float, *calls: LossCall) -> Trace:
    return trace([first] + [last] * 39, *calls)


@pytest.mark.parametrize(
    ("uncured", "cured", "better"),
    [
        ((2.0, 2.0), 1.0, True),
        ((2.0, 2.0), 1.01, False),
        ((2.0, 0.41), 0.2, True),
        ((2.0, 0.41), 0.205, True),  # lower by a tenth of the first loss
        ((2.0, 0.39), 0.195, False),
        ((2.0, 0.1), 0.021, False),
        ((2.0, 0.1), 0.02, True),
        ((-1.0, -1.0), -1.11, True),
        ((-1.0, -1.0), -1.09, False),
        ((-1.0, -1.6), -9.0, False),  # falling faster proves nothing
        ((-1.0, -1.4), -9.0, True),
        ((0.0, 1.0), 0.0, True),
    ],
)
def test_half_of_the_level_and_a_tenth_of_the_start(uncured: tuple[float, float], cured: float, better: bool) -> None:
    assert far_better(ends(uncured[0], cured), ends(*uncured)) is better


def test_what_did_not_run_is_far_worse() -> None:
    cured, broken = ends(2.0, 2.0), ends(2.0, 2.0)
    assert not far_better(cured, broken)
    broken.crash = Crash("ValueError", "", 3)
    assert far_better(cured, broken)
    assert far_better(cured, Trace.of([2.0, float("nan")]))
    assert far_better(cured, Trace.of([]))
    cured.applied.without_effect = ["clip"]
    assert not far_better(cured, ends(9.0, 9.0))
    assert far_better(cured, Trace.of([]))


def test_below_a_guess_is_far_better_than_a_start_beyond_all_measure() -> None:
    huge = ends(100.0, 3 * GUESS, CLASSES)
    assert far_better(ends(100.0, 0.99 * GUESS), huge)
    assert not far_better(ends(100.0, 1.2 * GUESS), huge)


def test_beside_a_momentum_that_never_settles_half_is_enough() -> None:
    uncured = ends(2.0, 0.1)
    assert not far_better(ends(2.0, 0.05), uncured)
    uncured.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", settings={"momentum": 0.999})
    assert far_better(ends(2.0, 0.05), uncured)
    assert not far_better(ends(2.0, 0.051), uncured)


@pytest.mark.parametrize(("last", "better"), [(0.2, True), (0.21, False), (0.0, True), (-0.1, False)])
def test_smaller_steps_have_to_lead_to_a_fifth_in_their_last_quarter(last: float, better: bool) -> None:
    cured = Trace.of([2.0] * 40 + [1.0] * 30 + [last] * 10)
    cured.applied.smaller_steps_from = 40
    assert far_better(cured, Trace.of([2.0] + [1.0] * 79)) is better


def test_smaller_steps_are_compared_at_the_same_steps() -> None:
    cured = Trace.of([2.0] * 40 + [0.1] * 40)
    cured.applied.smaller_steps_from = 40
    assert far_better(cured, Trace.of([2.0] * 60 + [1.0] * 20 + [0.1] * 40))
    assert not far_better(cured, Trace.of([2.0] * 60 + [0.1] * 20))
    short = Trace.of([2.0] * 20 + [0.1] * 3 + [2.0] * 2)
    short.applied.smaller_steps_from = 20
    assert far_better(short, Trace.of([1.0] * 25))
