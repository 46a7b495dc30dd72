"""The course of a learning rate and the settings of an optimizer: what is odd, and what only looks like it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_trainhealth.analysis import learning_rates
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.wiring import OptimizerRecord, ParameterRecord, SchedulerRecord


def trace(
    rates: Sequence[float] = (), base: float | None = None, scheduler: SchedulerRecord | None = None, **facts: Any
) -> Trace:
    made = Trace.of([1.0] * max(len(rates), 4))
    made.wiring.optimizers["SGD"] = OptimizerRecord(
        "SGD", "SGD", rates=list(rates), steps=len(rates), initial_lr=base, **facts
    )
    made.wiring.schedulers = [scheduler] if scheduler is not None else []
    return made


def course(*args: Any, **facts: Any) -> tuple[str, float, int] | None:
    found = learning_rates.odd_course(trace(*args, **facts))
    return None if found is None else (found.kind, found.rate, found.at)


RAMP = [0.001 * step for step in range(1, 41)]
COSINE = [0.1 * (1 - step / 40) for step in range(40)]


@pytest.mark.parametrize(
    ("rates", "base", "found"),
    [
        ([0.1] * 40, 0.1, None),
        (COSINE, 0.1, None),
        ([0.0] * 40, 0.1, ("zero", 0.1, 0)),
        ([0.0] * 40, None, None),
        ([0.0] * 40, 0.0, None),
        ([0.0] * 20, 0.1, ("zero", 0.1, 0)),
        ([0.0] * 19, 0.1, None),  # too short for a course
        ([0.0049] * 40, 0.1, ("low", 0.1, 0)),
        ([0.0051] * 40, 0.1, None),
        ([0.0049] * 40, None, None),
        ([0.02] * 40, 0.49, ("low", 0.49, 0)),
        ([0.02] * 40, 0.5, None),  # made to be multiplied by a rate
        ([0.0001] * 20 + [0.0002] * 20, 0.1, None),  # a warm-up
        ([0.0002] * 20 + [0.0001] * 20, 0.1, ("low", 0.1, 0)),
        ([0.01] * 30 + [0.1] * 10, 0.01, ("runaway", 0.01, 0)),
        ([0.01] * 30 + [0.099] * 10, 0.01, None),
        ([0.01] * 30 + [0.1] * 10, None, None),
        ([0.01] * 10 + [0.2] * 20 + [0.1] * 10, 0.01, None),  # it has turned round
        ([0.1] * 10 + [0.0019] * 30, 0.1, ("gone", 0.1, 10)),
        ([0.1] * 10 + [0.0021] * 30, 0.1, None),
        ([0.1] * 20 + [0.0] * 10, 0.1, ("gone", 0.1, 20)),
        ([0.1] * 21 + [0.0] * 9, 0.1, None),  # late enough
        ([0.1] * 10 + [0.0] * 30, 0.3, ("gone", 0.3, 10)),
        ([0.1] * 10 + [0.0] * 30, None, ("gone", 0.1, 10)),
        ([0.1, 0.1, 0.005, 0.005] * 10, 0.1, ("bounces", 0.1, 9)),
        ([0.1, 0.1, 0.011, 0.011] * 10, 0.1, None),
        ([0.1, 0.1, 0.005, 0.005, 0.1, 0.1, 0.005] + [0.1] * 30, 0.1, ("bounces", 0.1, 2)),
        ([0.1, 0.1, 0.005, 0.005] + [0.1] * 30, 0.1, None),  # one restart is meant
        ([0.1, 0.005, 0.049, 0.005, 0.049] + [0.05] * 30, 0.1, None),  # never really back
        ([0.005] * 5 + [0.1] * 10 + [0.005] * 5 + [0.1] * 10, 0.1, None),  # a warm-up, and one restart
        ([0.005] * 5 + ([0.1] * 5 + [0.005] * 5) * 3 + [0.1] * 5, 0.1, None),
    ],
)  # fmt: skip
def test_the_course_of_a_rate(rates: list[float], base: float | None, found: tuple[str, float, int] | None) -> None:
    assert course(rates, base) == found
    assert learning_rates.runs_away(trace(rates, base)) is (found is not None and found[0] == "runaway")


def one_cycle(**facts: Any) -> SchedulerRecord:
    """Of 10 epochs of 20 batches, stepped once an epoch."""
    given = {"steps": [19, 39], "peak": 0.5, "total_steps": 200, **facts}
    return SchedulerRecord("OneCycleLR", "SGD", **given)


@pytest.mark.parametrize(
    ("facts", "peak", "found"),
    [
        ({}, 0.25, ("low", 0.5, 0)),
        ({}, 0.26, None),
        ({"steps": [19]}, 0.25, ("low", 0.5, 0)),
        ({"steps": []}, 0.25, None),
        ({"total_steps": None}, 0.25, None),
        ({"total_steps": 201}, 0.25, ("low", 0.5, 0)),
        ({"total_steps": 202}, 0.25, None),
        ({"total_steps": 40}, 0.25, ("low", 0.5, 0)),
        ({"total_steps": 20}, 0.25, None),  # a single epoch
        ({"steps": [11, 23], "total_steps": 24}, 0.25, ("low", 0.5, 0)),
        ({"steps": [10, 21], "total_steps": 22}, 0.25, None),  # too short for an epoch
        ({"peak": None}, 0.25, None),
    ],
)
def test_a_cycle_in_batches_that_is_stepped_in_epochs_stays_low(facts: dict, peak: float, found: tuple | None) -> None:
    assert course([peak] * 40, None, one_cycle(**facts)) == found


def test_a_scheduler_with_a_peak_of_its_own_may_leave_its_start_behind() -> None:
    rates = [0.01] * 30 + [0.2] * 10
    assert course(rates, 0.01, SchedulerRecord("OneCycleLR", "SGD")) is None
    assert course(rates, 0.01, SchedulerRecord("CyclicLR", "SGD")) is None
    assert course(rates, 0.01, SchedulerRecord("LambdaLR", "SGD")) == ("runaway", 0.01, 0)
    assert course(rates, 0.01, SchedulerRecord("OneCycleLR", "another")) == ("runaway", 0.01, 0)


# -- steps as large as ever ---------------------------------------------------------------------------------------

STAYS = [4.0, *[1.0] * 39]


def settling(rates: list[float], updates: dict[int, float], losses: list[float] = STAYS) -> bool:
    made = trace(rates)
    made.losses = losses
    made.wiring.parameters["w"] = ParameterRecord("w", (4, 4), 16, updates=updates)
    return not learning_rates.cannot_settle(made)


def test_large_steps_at_a_full_rate_where_the_loss_stays_do_not_settle() -> None:
    assert not settling([0.1] * 40, {0: 0.01, 32: 0.1})
    assert settling([0.1] * 40, {0: 0.2, 32: 0.09})  # the latest counts
    assert settling([0.1] * 40, {})
    assert not settling([0.1] * 20 + [0.05] * 20, {0: 0.2})
    assert settling([0.1] * 20 + [0.049] * 20, {0: 0.2})
    assert settling([0.1] * 40, {0: 0.2}, losses=[4.0 * 0.9**step for step in range(40)])
    assert settling([], {0: 0.2})


def test_one_that_never_stepped_tells_nothing() -> None:
    made = trace([0.1] * 40)
    made.losses = STAYS
    made.wiring.parameters["w"] = ParameterRecord("w", (4, 4), 16, updates={0: 0.2})
    assert learning_rates.cannot_settle(made)
    made.wiring.optimizers["SGD"].steps = 0
    assert not learning_rates.cannot_settle(made)


# -- settings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "name", "usual"),
    [
        ({"momentum": 0.99}, "momentum", "0.9"),
        ({"momentum": 0.98}, None, ""),
        ({"betas[0]": 0.99, "betas[1]": 0.999}, "betas[0]", "0.9"),
        ({"betas[0]": 0.98, "betas[1]": 0.999}, None, ""),
        ({"betas[0]": 0.9, "betas[1]": 0.49}, "betas[1]", "0.999"),
        ({"betas[0]": 0.9, "betas[1]": 0.5}, None, ""),
        ({"eps": 0.01}, "eps", "1e-8"),
        ({"eps": 0.009}, None, ""),
        ({"dampening": 0.99, "momentum": 0.9}, "dampening", "0"),
        ({"dampening": 0.98, "momentum": 0.9}, None, ""),
        ({"dampening": 0.99, "momentum": 0.0}, None, ""),
        ({}, None, ""),
    ],
)
def test_a_setting_that_makes_no_sense(settings: dict[str, float], name: str | None, usual: str) -> None:
    found = learning_rates.odd_setting(trace(settings=settings))
    assert (found.name if found else None) == name
    if found:
        assert (found.value, found.usual) == (settings[found.name], usual)
        key = found.name.partition("[")[0]
        assert found.instead == {key: (0.9, 0.999) if key == "betas" else float(usual)}


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"momentum": 0.9}, None),
        ({"momentum": 0.951}, "momentum"),
        ({"momentum": 0.94}, None),
        ({"betas[0]": 0.951}, "betas[0]"),
        ({"betas[0]": 0.94}, None),
        ({"betas[1]": 0.99}, "betas[1]"),
        ({"betas[1]": 0.9999}, None),
        ({"eps": 1e-7}, "eps"),
        ({"eps": 1e-9}, None),
        ({"dampening": 0.1}, "dampening"),
        ({"dampening": 0.0}, None),
        ({"momentum": 0.5, "dampening": 0.1}, "dampening"),
    ],
)
def test_a_setting_beyond_the_usual_one_is_worth_a_swap(settings: dict[str, float], name: str | None) -> None:
    found = learning_rates.unusual_setting(trace(settings=settings))
    assert (found.name if found else None) == name
    assert learning_rates.odd_setting(trace(settings=settings)) is None


@pytest.mark.parametrize(
    ("settings", "wrong_way", "never_settles"),
    [
        ({"betas[0]": 0.999, "betas[1]": 0.9}, True, True),
        ({"betas[0]": 0.999, "betas[1]": 0.9999}, False, False),
        ({"betas[0]": 0.999}, False, False),
        ({"betas[0]": 0.9, "betas[1]": 0.4}, False, False),
        ({"momentum": 0.999}, False, True),
        ({"eps": 0.1}, False, False),
        ({}, False, False),
    ],
)
def test_betas_the_wrong_way_round(settings: dict[str, float], wrong_way: bool, never_settles: bool) -> None:
    made = trace(settings=settings)
    assert learning_rates.wrong_way_round(made) is wrong_way
    assert learning_rates.never_settles(made) is never_settles


@pytest.mark.parametrize(
    ("rates", "fast"), [([1.0, 0.1], True), ([1.0, 0.11], False), ([0.05, 1.0], False), ([], False)]
)
def test_a_tenth_of_the_peak_is_a_fast_decay(rates: list[float], fast: bool) -> None:
    assert learning_rates.decays_fast(trace(rates)) is fast


@pytest.mark.parametrize(
    ("looks", "warming"),
    [
        ([0.1, 0.2, 0.4], True),
        ([0.1, 0.74, 1.0], True),
        ([0.1, 0.76, 1.0], False),
        ([0.2, 0.2, 0.4], False),  # it began to rise just now
        ([0.2, 0.4], False),
        ([0.1, 0.2, 0.0], False),
        ([0.4, 0.2, 0.1], False),
        ([-0.4, -0.2, -0.1], False),
    ],
)
def test_a_rate_that_still_rises_at_the_last_looks_is_a_warm_up(looks: list[float], warming: bool) -> None:
    assert learning_rates.warming_up(trace(lr=dict(enumerate(looks)))) is warming


@pytest.mark.parametrize(
    ("peak", "warming"),
    [(400, True), (500, True), (290, False), (200, False)],
)
def test_a_warm_up_that_is_over_after_the_last_look(peak: int, warming: bool) -> None:
    """Looks at steps 64, 128 and 256 see it rise; what came after them, up to step 400, only all updates tell."""
    rates = [min(step, 2 * peak - step) / peak for step in range(1, 401)]
    looks = {step: rates[step] for step in (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)}
    assert learning_rates.warming_up(trace(rates, lr=looks)) is warming
