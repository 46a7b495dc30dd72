"""An optimizer whose own backward passes never reach what it holds, though another's do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth.analysis import unmoved
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Verdict
from pytest_trainhealth.records.wiring import EmptyUpdates, ParameterRecord


def adversaries(detached: bool, from_step: int = 0) -> Callable[[], None]:
    """The critic's pass goes through the maker, whose gradients are cleared before its own turn."""

    def main() -> None:
        maker, critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)), nn.Linear(2, 1)
        m, c = torch.optim.Adam(maker.parameters(), 1e-3), torch.optim.Adam(critic.parameters(), 1e-3)
        for step in range(60):
            critical = critic(torch.randn(16, 2) + 2)
            loss = F.softplus(-critical).mean() + F.softplus(critic(maker(torch.randn(16, 4)))).mean()
            c.zero_grad()
            m.zero_grad()
            loss.backward()
            c.step()
            if step >= from_step:
                made = maker(torch.randn(16, 4))
                loss = F.softplus(-critic(made.detach() if detached else made)).mean()
                c.zero_grad()
                m.zero_grad()
                loss.backward()
                m.step()

    return main


def flow(body: Callable[[], object]) -> Verdict:
    return examine(body, Request("gradients_flow", "passed by", 0, {}))


def test_what_another_leaves_is_no_gradient_of_its_own() -> None:
    verdict = flow(adversaries(detached=True))
    assert verdict.symptom is not None
    assert verdict.symptom.summary.startswith("4 of 6 trainable parameters got no gradient from the backward passes")
    assert verdict.findings[0].cause == "disconnected-graph"
    assert verdict.findings[0].certainty == "likely"


@pytest.mark.parametrize("from_step", [0, 20])
def test_turns(from_step: int) -> None:
    assert flow(adversaries(detached=False, from_step=from_step)).passed


@pytest.mark.parametrize(
    ("missed", "met", "moved", "reached", "counts"),
    [
        (5, 0, False, True, True),
        (4, 0, False, True, False),
        (20, 1, False, True, False),
        (20, 0, True, True, False),
        (20, 0, False, False, False),
    ],
)
def test_each_of_its_steps(missed: int, met: int, moved: bool, reached: bool, counts: bool) -> None:
    gradients = {0: 1.0} if reached else {0: None}
    weight = ParameterRecord("w", (4,), moved=moved, held_by=("Adam",), gradients=gradients)
    trace = Trace.of([1.0] * 30, [weight])
    trace.wiring.empty_updates = EmptyUpdates(met={"Adam": met} if met else {}, missed={"Adam": missed})
    assert bool(unmoved.passed_by(trace)) is counts
