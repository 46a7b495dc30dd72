"""Healthy runs never fail, however odd they are; sick ones are found, with the fault that they have."""

from __future__ import annotations

from math import nan
from random import Random

import pytest

from pytest_trainhealth import history
from pytest_trainhealth.analysis.history_faults import find_faults
from pytest_trainhealth.engine.finished_run import judge_history
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.records.verdict import Verdict

from . import shapes

SEEDS = range(3)
#: Of a sick run: long enough for each of the shapes to be one.
LONG = (150, 400)


def judged(columns: shapes.Columns) -> Verdict:
    return judge_history(history(columns), Request("history_is_healthy", "run", 0))


@pytest.mark.parametrize("name", shapes.HEALTHY)
def test_a_healthy_run_never_fails(name: str) -> None:
    for length in shapes.LENGTHS:
        for seed in SEEDS:
            verdict = judged(shapes.HEALTHY[name](Random(1000 * seed + length), length))
            assert not verdict.failed, str(verdict)


@pytest.mark.parametrize("name", [n for n in shapes.HEALTHY if n not in (*shapes.NOT_JUDGED, *shapes.HARD_TO_JUDGE)])
def test_and_is_judged_if_it_is_long_enough(name: str) -> None:
    outcomes = [judged(shapes.HEALTHY[name](Random(seed), 400)).outcome for seed in SEEDS]
    assert outcomes == ["passed"] * len(SEEDS)


@pytest.mark.parametrize("name", shapes.NOT_JUDGED)
def test_what_cannot_be_told_is_not_passed(name: str) -> None:
    outcomes = [judged(shapes.HEALTHY[name](Random(seed), 400)).outcome for seed in SEEDS]
    assert outcomes == ["could not judge"] * len(SEEDS)


@pytest.mark.parametrize("name", shapes.SICK)
def test_a_sick_run_is_found(name: str) -> None:
    shape, kind = shapes.SICK[name]
    for length in LONG:
        for seed in SEEDS:
            columns = shape(Random(1000 * seed + length), length)
            faults = find_faults(history(columns))
            assert [fault.kind for fault in faults[:1]] == [kind]
            assert judged(columns).failed


@pytest.mark.parametrize("name", shapes.SICK)
def test_nothing_is_confirmed_without_a_run(name: str) -> None:
    verdict = judged(shapes.SICK[name][0](Random(0), 150))
    assert not any(finding.confirmed for finding in verdict.findings)
    assert not verdict.ruled_out


@pytest.mark.parametrize(
    ("name", "cause", "certainty"),
    [
        ("rate_is_zero", "scheduler-misuse", "likely"),
        ("rate_without_end", "scheduler-misuse", "likely"),
        ("falls_then_explodes", "lr-too-high", "likely"),
        ("rises_from_the_start", "lr-too-high", "possible"),  # no rate is logged
        ("gradients_explode_then_nan", "exploding-gradients", "likely"),
        ("gradients_grow_without_end", "exploding-gradients", "likely"),
        ("weights_jump", "needs-lr-decay", "likely"),
        ("rate_gone_too_early", "lr-decayed-too-early", "likely"),
        ("overfits", "overfitting", "likely"),
        ("rate_too_low_to_move_anything", "lr-too-low", "likely"),
        ("staircase_in_the_first_tenth", "lr-decayed-too-early", "likely"),
        ("explodes_at_once", "lr-too-high", "possible"),
        ("nothing_reaches_the_parameters", "vanishing-gradients", "possible"),
        ("four_times_as_slow_from_half_way", "data-loading-bottleneck", "possible"),
        ("overfits_by_accuracy_alone", "overfitting", "likely"),
    ],
)
def test_the_cause_that_is_named(name: str, cause: str, certainty: str) -> None:
    verdict = judged(shapes.SICK[name][0](Random(0), 400))
    assert [(found.cause, found.certainty) for found in verdict.findings[:1]] == [(cause, certainty)]


@pytest.mark.parametrize("length", [0, 1, 2, 3, 5, 12, 40])
@pytest.mark.parametrize("finite", [0, 1, 4])
def test_whatever_is_missing_there_is_an_answer(length: int, finite: int) -> None:
    """Of every pair of series, one is not finite from some entry on, or has hardly any."""
    names = (
        "loss",
        "val_loss",
        "accuracy",
        "val_accuracy",
        "lr",
        "grad_norm",
        "step_time",
        "reward",
        "g_loss",
        "d_loss",
    )
    random = Random(0)
    whole = {name: [random.random() for _ in range(length)] for name in names}
    short = {name: [*values[:finite], *[float("nan")] * (length - finite)][:length] for name, values in whole.items()}
    for one in names:
        for other in names:
            for columns in ({one: short[one], other: whole[other]}, {**whole, one: short[one], other: short[other]}):
                assert judged(columns).outcome in ("passed", "failed", "could not judge")


def test_a_nan_without_a_warning_has_a_possible_cause_at_most() -> None:
    """The loss fell until it was NaN, and no norm is logged: that it is not the data, thirty epochs show."""
    verdict = judged(shapes.SICK["nan_half_way"][0](Random(0), 60))
    (finding,) = verdict.findings
    assert (finding.cause, finding.certainty) == ("exploding-gradients", "possible")
    assert any("all samples were seen before" in each.text for each in finding.evidence)
    assert any("gradient norm" in note for note in verdict.notes)
    assert "epoch 31" in verdict.headline


def test_a_nan_in_the_first_epoch_has_no_cause() -> None:
    """It may be the data as well as the weights: a log cannot tell."""
    assert not judged({"loss": [nan, nan, nan]}).findings
    assert not judged({"step": list(range(40)), "loss": [2.0] * 20 + [nan] * 20}).findings
