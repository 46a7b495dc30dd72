"""A busy machine comes to the same verdict later; only a runaway is cut, and what was left undone is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, Verdict, diagnose

from .slow_machine import Clock

#: Seconds that a step takes on a machine that does nothing else.
STEP = 0.01
BUDGET = 300.0


def training(fault: str) -> Callable[[], Training]:
    def make() -> Training:
        model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        if fault == "head":
            model[2] = nn.Linear(32, 4)
        batches = [(torch.randn(16, 8), torch.randint(0, 4, (16,))) for _ in range(4)]

        def step(batch: Any) -> torch.Tensor:
            loss = F.cross_entropy(model(batch[0]), batch[1])
            if fault != "zero_grad":
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        return Training(model, optimizer, step=step, data=batches)

    return make


def judged(fault: str, check: str) -> Verdict:
    (verdict,) = diagnose(training(fault), check, budget=BUDGET).verdicts
    return verdict


def figures(verdict: Verdict) -> tuple[Any, ...]:
    causes = [(finding.cause, finding.certainty) for finding in verdict.findings]
    return verdict.outcome, verdict.reason, causes, verdict.notes, verdict.untried


@pytest.mark.parametrize("check", ["overfits_one_batch", "gradients_flow", "learns_from_data", "trains_without_nan"])
@pytest.mark.parametrize("fault", ["none", "head", "zero_grad"])
def test_five_times_slower_is_the_same_verdict(clock: Clock, fault: str, check: str) -> None:
    clock.steps_take(1 * STEP)
    usual = judged(fault, check)
    assert "used up" not in usual.reason
    clock.steps_take(5 * STEP)
    assert figures(judged(fault, check)) == figures(usual)


@pytest.mark.parametrize("fault", ["none", "head", "zero_grad"])
def test_a_thousand_times_slower_says_what_was_left_undone(clock: Clock, fault: str) -> None:
    clock.steps_take(1000 * STEP)
    began = clock.seconds
    verdict = judged(fault, "learns_from_data")
    assert verdict.outcome == "could not judge"
    assert verdict.reason.startswith("budget of 300 s used up: 3")
    assert verdict.reason.endswith(" of at most 640 steps taken")
    assert clock.seconds - began <= BUDGET + 2 * 1000 * STEP  # the last step, and the one that imports at first


def test_what_the_diagnosis_did_not_come_to_is_counted(clock: Clock) -> None:
    """Each phase is bounded: a failure that was shown stands, and is explained as far as the time went."""
    clock.steps_take(1 * STEP)
    usual = judged("zero_grad", "gradients_flow")
    assert [f.certainty for f in usual.findings] == ["confirmed"]
    for times in (200, 500, 1000, 1500, 2000, 3000, 5000, 10_000):
        clock.steps_take(times * STEP)
        began = clock.seconds
        verdict = judged("zero_grad", "gradients_flow")
        assert clock.seconds - began <= BUDGET + 2 * times * STEP
        if any(finding.confirmed for finding in verdict.findings):
            assert figures(verdict)[2] == figures(usual)[2]
        else:
            told = [*verdict.notes, verdict.reason]
            assert any("budget of 300 s used up: " in each for each in told)
            assert not verdict.passed
