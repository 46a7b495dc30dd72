"""Schedulers that are stepped at the wrong time or given the wrong thing, on made-up traces."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_trainhealth.analysis import schedules, silent_faults
from pytest_trainhealth.causes import lr_decayed_too_early, scheduler_misuse
from pytest_trainhealth.records.symptoms import PLATEAU, SILENT
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place, Symptom
from pytest_trainhealth.records.wiring import OptimizerRecord, SchedulerRecord

STUCK = Symptom("loss 2.3 -> 2.1", PLATEAU, 2.1, 0.23)
SILENTLY = Symptom("looks fine", SILENT, 0.0, 0.0)
N = 80
EPOCH = 16
HERE, THERE = Place("train.py", 30, "scheduler.step()"), Place("train.py", 9, "OneCycleLR(optimizer, ...)")


def trace_of(rates: list[float], scheduler: SchedulerRecord, base: float | None = None) -> Trace:
    trace = Trace.of([2.0 - 0.01 * step for step in range(len(rates))])
    trace.wiring.optimizers["o"] = OptimizerRecord("o", "SGD", {0: rates[0]}, len(rates), rates=rates, initial_lr=base)
    trace.wiring.schedulers = [scheduler]
    return trace


def every(apart: int, kind: str, **facts: Any) -> SchedulerRecord:
    steps = list(range(apart - 1, N, apart))
    return SchedulerRecord(kind, "o", len(steps), steps, HERE, THERE, **facts)


@pytest.mark.parametrize("total", [12 * EPOCH, 12 * EPOCH + 1])
def test_one_cycle_in_batches_stepped_per_epoch(total: int) -> None:
    trace = trace_of([0.0024 + 0.0001 * (step // EPOCH) for step in range(N)],
                     every(EPOCH, "OneCycleLR", peak=0.06, total_steps=total))  # fmt: skip
    found = scheduler_misuse.look(trace, STUCK)
    assert found is not None
    assert "once per epoch" in found.statement
    assert found.places == (THERE, HERE)
    assert found.fix is not None
    assert found.fix.code == ("optimizer.step()", "scheduler.step()")
    assert [cure.options["rate"] for cure in found.cures] == [pytest.approx(0.018), 0.06]


@pytest.mark.parametrize(("apart", "total"), [(1, 12 * EPOCH), (EPOCH, 60), (EPOCH, EPOCH), (4, 60)])
def test_one_cycle_where_it_belongs(apart: int, total: int) -> None:
    trace = trace_of([0.0024 + 0.0001 * step for step in range(N)],
                     every(apart, "OneCycleLR", peak=0.06, total_steps=total))  # fmt: skip
    assert scheduler_misuse.look(trace, STUCK) is None


def test_a_function_that_returns_the_rate() -> None:
    trace = trace_of([1e-4 * 0.99**step for step in range(N)], every(1, "LambdaLR"), base=0.01)
    found = scheduler_misuse.look(trace, STUCK)
    assert found is not None
    assert found.statement == "LambdaLR multiplies the learning rate of 0.01 by 0.01"
    assert found.cures[0].options == {"rate": 0.01}


@pytest.mark.parametrize(
    ("rates", "base"),
    [
        ([0.001] * N, 1.0),  # made to be multiplied by rates
        ([1e-5 * step for step in range(N)], 0.1),  # a long warm-up
        ([0.1 * 0.99**step for step in range(N)], 0.1),
    ],
)
def test_functions_that_return_factors(rates: list[float], base: float) -> None:
    assert scheduler_misuse.look(trace_of(rates, every(1, "LambdaLR"), base), STUCK) is None


def test_milestones_in_epochs_that_come_too_early() -> None:
    trace = trace_of([0.02 * 0.1 ** min(3, step // EPOCH) for step in range(N)], every(EPOCH, "MultiStepLR"), 0.02)
    assert scheduler_misuse.look(trace, STUCK) is None
    found = lr_decayed_too_early.look(trace, STUCK)
    assert found is not None
    assert "by update 32 of 80" in found.statement
    assert found.places == (HERE, THERE)


def test_a_plateau_without_patience_that_is_fed_every_batch() -> None:
    scheduler = every(1, "ReduceLROnPlateau", mode="min", patience=0)
    found = lr_decayed_too_early.look(trace_of([0.005] * 4 + [5e-9] * 76, scheduler), STUCK)
    assert found is not None
    assert any("every batch, and waits 0 calls" in each.text for each in found.evidence)


def plateau(mode: str, fed: list[float] | None = None) -> Trace:
    scheduler = every(EPOCH, "ReduceLROnPlateau", mode=mode, patience=3)
    trace = trace_of([0.1] * N, scheduler)
    epochs = [trace.losses[start : start + EPOCH] for start in range(0, N, EPOCH)]
    scheduler.fed = fed or [sum(losses) / EPOCH for losses in epochs]
    return trace


def test_a_plateau_that_waits_for_a_loss_to_rise() -> None:
    trace = plateau("max")
    assert schedules.waits_the_wrong_way(trace) is not None
    symptom = silent_faults.begins_later(trace, 56)
    assert symptom is not None
    found = scheduler_misuse.look(trace, symptom)
    assert found is not None
    assert not found.cures
    again = scheduler_misuse.look(trace, STUCK)
    assert again is not None
    assert again.cures[0].options == {"rate": 0.1}


@pytest.mark.parametrize(
    ("mode", "fed"), [("min", None), ("max", [0.2, 0.5, 0.7, 0.8, 0.9]), ("max", [0.9, 0.8, 0.7, 0.6, 0.5])]
)
def test_a_plateau_that_waits_the_right_way(mode: str, fed: list[float] | None) -> None:
    trace = plateau(mode, fed)
    assert silent_faults.silently_wrong(trace) is None
    assert scheduler_misuse.look(trace, SILENTLY) is None
