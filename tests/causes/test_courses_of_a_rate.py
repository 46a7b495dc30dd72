"""What becomes of a learning rate: schedules that are as they should be, and those that are not."""

from __future__ import annotations

from math import cos, pi

import pytest

from pytest_trainhealth.analysis import learning_rates
from pytest_trainhealth.causes import bad_momentum, lr_decayed_too_early, lr_too_low, needs_lr_decay, scheduler_misuse
from pytest_trainhealth.records.symptoms import INSTABILITY, NOT_LEARNING
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom
from pytest_trainhealth.records.wiring import OptimizerRecord, ParameterRecord, SchedulerRecord

STUCK = Symptom("loss 2.303 -> 2.303", NOT_LEARNING, 2.303, 0.23)
N = 80


def trace_of(course, *, base=None, schedulers=(), settings=None):
    trace = Trace.of([2.3] * len(course))
    record = OptimizerRecord("SGD", "SGD", {0: course[0]}, len(course), rates=list(course), initial_lr=base)
    record.settings = settings or {}
    trace.wiring.optimizers["SGD"] = record
    trace.wiring.schedulers = [SchedulerRecord(kind, "SGD", calls) for kind, calls in schedulers]
    return trace


HEALTHY = {
    "constant": [0.1] * N,
    "warm-up from 0": [0.1 * min(1.0, step / 60) for step in range(N)],
    "cosine over the run": [0.05 * (1 + cos(pi * step / N)) for step in range(N)],
    "linear over the run": [0.1 * (1 - step / N) for step in range(N)],
    "one restart": [0.05 * (1 + cos(pi * (step % 50) / 50)) for step in range(N)],
    "halved three times": [0.1 * 0.5 ** (step // 20) for step in range(N)],
    "warm-up, then decay": [0.1 * min(step / 10, 1 - step / N) for step in range(N)],
    "0 as it was given": [0.0] * N,
    "too short to tell": [0.1] * 5 + [0.0] * 10,
}


@pytest.mark.parametrize("course", HEALTHY.values(), ids=HEALTHY)
def test_these_are_schedules(course):
    assert learning_rates.odd_course(trace_of(course)) is None


def test_a_peak_of_its_own_is_no_growth_without_end():
    course = [0.004 * 1.05**step for step in range(N)]
    assert learning_rates.odd_course(trace_of(course, base=0.004, schedulers=[("OneCycleLR", N)])) is None
    assert learning_rates.odd_course(trace_of(course, base=0.004)).kind == "runaway"


@pytest.mark.parametrize(
    ("course", "kind", "rate"),
    [
        ([0.1 * 0.1 ** (step // 5) for step in range(N)], "gone", 0.1),
        ([0.0] * N, "zero", 0.1),
        ([0.1 * 1.1**step for step in range(N)], "runaway", 0.1),
        ([0.05 * (1 + cos(pi * step / 8)) for step in range(N)], "bounces", 0.1),
    ],
)
def test_these_are_misused(course, kind, rate):
    trace = trace_of(course, base=0.1, schedulers=[("CosineAnnealingLR" if kind == "bounces" else "StepLR", N)])
    found = learning_rates.odd_course(trace)
    assert (found.kind, found.rate) == (kind, pytest.approx(rate))
    suspicion = scheduler_misuse.look(trace, STUCK)
    assert suspicion.cures[0].options == {"rate": pytest.approx(rate)}
    assert lr_decayed_too_early.look(trace, STUCK) is None


@pytest.mark.parametrize("schedulers", [(), (("LinearLR", N),), (("ReduceLROnPlateau", N),)])
def test_other_decays_came_too_early(schedulers):
    trace = trace_of([0.1 * max(0.0, 1 - step / 20) for step in range(N)], schedulers=schedulers)
    assert scheduler_misuse.look(trace, STUCK) is None
    assert "by update 20 of 80" in lr_decayed_too_early.look(trace, STUCK).statement


def test_a_schedule_in_epochs_that_is_stepped_once_is_not_to_blame():
    trace = trace_of([0.1] * 40 + [0.001] * 40, schedulers=[("StepLR", 1)])
    assert scheduler_misuse.look(trace, STUCK) is None


def test_two_schedulers_are_one_too_many():
    trace = trace_of([0.1 * 0.8**step for step in range(N)], schedulers=[("LambdaLR", N), ("MultiplicativeLR", N)])
    assert "LambdaLR and MultiplicativeLR" in scheduler_misuse.look(trace, STUCK).statement
    assert lr_decayed_too_early.look(trace, STUCK) is None


def test_a_rate_of_0_gets_a_usual_one_for_the_rerun():
    suspicion = lr_too_low.look(trace_of([0.0] * N), STUCK)
    assert suspicion.cures[0].options == {"rate": 1e-3}


@pytest.mark.parametrize(
    "settings",
    [
        {"momentum": 0.9, "dampening": 0.0},
        {"momentum": 0.95},
        {"momentum": 0.9, "dampening": 0.9},
        {"betas[0]": 0.0, "betas[1]": 0.9},
        {"betas[0]": 0.5, "betas[1]": 0.999, "eps": 1e-3},
        {"betas[0]": 0.9, "betas[1]": 0.95, "eps": 1e-8},
    ],
)
def test_usual_settings(settings):
    assert bad_momentum.look(trace_of([0.1] * N, settings=settings), STUCK) is None


@pytest.mark.parametrize(
    ("settings", "name", "instead"),
    [
        ({"momentum": 0.999}, "momentum", {"momentum": 0.9}),
        ({"betas[0]": 0.999, "betas[1]": 0.9}, "betas[0]", {"betas": (0.9, 0.999)}),
        ({"betas[0]": 0.9, "betas[1]": 0.1}, "betas[1]", {"betas": (0.9, 0.999)}),
        ({"betas[0]": 0.9, "betas[1]": 0.999, "eps": 1.0}, "eps", {"eps": 1e-8}),
    ],
)
def test_settings_beyond_sense(settings, name, instead):
    suspicion = bad_momentum.look(trace_of([0.1] * N, settings=settings), STUCK)
    assert name in suspicion.statement
    assert suspicion.cures[0].options == {"values": instead}


@pytest.mark.parametrize(("size", "factors"), [(2e-5, [10, 100, 1000]), (9e-5, [10, 100])])
def test_a_rate_is_raised_as_far_as_its_updates_allow(size, factors):
    trace = trace_of([1e-6] * N)
    trace.wiring.parameters["fc.weight"] = ParameterRecord("fc.weight", (8, 8), 64, updates={0: size, 1: size, 2: size})
    found = lr_too_low.look(trace, STUCK)
    assert [cure.options["factor"] for cure in found.cures] == factors


def test_betas_the_wrong_way_round_are_said_to_be_that():
    settings = {"betas[0]": 0.999, "betas[1]": 0.9}
    found = bad_momentum.look(trace_of([0.1] * N, settings=settings), STUCK)
    assert found is not None
    assert any("wrong way round" in e.text for e in found.evidence)
    usual_order = bad_momentum.look(trace_of([0.1] * N, settings={"betas[0]": 0.99, "betas[1]": 0.999}), STUCK)
    assert usual_order is not None
    assert not any("wrong way round" in e.text for e in usual_order.evidence)


def test_a_loss_that_stays_without_bouncing_needs_a_decay_where_updates_are_large():
    trace = trace_of([0.5] * N)
    trace.losses = [4.0, *[0.3] * (N - 1)]
    assert needs_lr_decay.look(trace, STUCK) is None
    trace.wiring.parameters["w"] = ParameterRecord("w", (8, 8), 64, updates={0: 0.4, 32: 0.3})
    found = needs_lr_decay.look(trace, STUCK)
    assert found is not None
    assert found.cures[0].options == {"factor": 0.1, "from_step": N // 2}


def test_a_rate_that_is_gone_explains_a_loss_that_goes_up_and_down_with_its_batches():
    """Without any learning a loss is that of the batch: easy ones first, and it seems to grow."""
    assert INSTABILITY in lr_decayed_too_early.EXPLAINS
    trace = trace_of([0.005] * 4 + [5e-9] * 76)
    assert lr_decayed_too_early.look(trace, Symptom("loss 1.757 -> 2.980", INSTABILITY, 2.98, 0.18)) is not None


@pytest.mark.parametrize(("size", "tried"), [(0.0009, True), (0.0011, False), (0.046, False)])
def test_updates_that_are_large_are_not_too_low(size, tried):
    trace = trace_of([0.002] * 80)
    trace.wiring.parameters["w"] = ParameterRecord("w", (8, 8), 64, updates={0: size, 1: size, 2: size})
    assert (lr_too_low.swap(trace, STUCK) is not None) == tried


def test_a_formula_that_goes_on_past_its_end():
    found = scheduler_misuse.look(trace_of([0.1 * (1 - step / 20) ** 2 for step in range(N)], base=0.1), STUCK)
    assert (
        found.statement == "the scheduler goes on past its end, and takes the learning rate of SGD up again without end"
    )
    assert "at update 20" in found.evidence[1].text
    assert found.cures[0].options == {"rate": 0.1}
    below = trace_of([0.1 * (1 - step / 40) for step in range(N)], base=0.1)
    assert "below 0" in scheduler_misuse.look(below, STUCK).statement
    assert lr_decayed_too_early.look(below, STUCK) is None


def test_a_factor_that_compounds():
    rates = [0.1]
    for step in range(2 * N):
        rates.append(rates[-1] * (1 - step / 400))
    found = lr_decayed_too_early.look(trace_of(rates), STUCK)
    assert "it compounds" in found.why
    assert found.cures[0].options == {"rate": 0.1, "updates": len(rates)}  # as long as the run without it
    plain = lr_decayed_too_early.look(trace_of([0.1 * 0.9**step for step in range(2 * N)]), STUCK)
    assert plain.cures[0].options == {"rate": 0.1}
