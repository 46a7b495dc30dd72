"""Which way a loop goes that moves its parameters by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.analysis import loss_calls
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.observe.run.moves_between_passes import MovesBetweenPasses
from pytest_trainhealth.observe.run.run import Run
from pytest_trainhealth.records.losses import LossCall
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Verdict

X = torch.randn(16, 4, generator=torch.Generator().manual_seed(0))
Y = X @ torch.tensor([[1.0], [-2.0], [0.5], [3.0]])


def by_hand(rate: float) -> Callable[[], Training]:
    def make() -> Training:
        model = nn.Linear(4, 1)

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            model.zero_grad()
            loss = F.smooth_l1_loss(model(batch[0]), batch[1])
            loss.backward()
            for parameter in model.parameters():
                parameter.data.add_(rate * parameter.grad)
            return loss

        return Training(model, data=(X, Y), step=step)

    return make


def memorises(make: Callable[[], Training]) -> Verdict:
    return examine(make, Request("overfits_one_batch", "by_hand", 0, {}))


def test_gradients_that_are_added() -> None:
    verdict = memorises(by_hand(0.1))
    assert verdict.findings[0].cause == "wrong-loss-sign"
    assert verdict.findings[0].confirmed
    assert verdict.findings[0].statement == (
        "the loop adds gradients to its parameters, but smooth_l1_loss should become small"
    )


def test_gradients_that_are_subtracted() -> None:
    assert memorises(by_hand(-0.1)).passed


@pytest.mark.parametrize(
    ("updates", "climbs", "wrong"), [(8, 8, True), (2, 2, True), (1, 1, False), (8, 4, False), (8, 0, False)]
)
def test_each_of_them_climbs_or_none_is_wrong(updates: int, climbs: int, wrong: bool) -> None:
    """Sharpness-aware steps climb half of the time."""
    trace = Trace.of([1.0, 1.1])
    trace.loss.calls.append(LossCall("smooth_l1_loss", weight=1.0, sole=True))
    trace.wiring.hand_updates, trace.wiring.hand_climbs = updates, climbs
    assert (loss_calls.climbed(trace) is not None) is wrong
    assert loss_calls.oddities(trace) == ("the loop maximises what should fall" if wrong else "")


@pytest.mark.parametrize(
    ("change", "follows", "climbs"), [(-0.1, True, False), (0.1, False, True), (0.0, False, False)]
)
def test_along_or_against(change: float, follows: bool, climbs: bool) -> None:
    model, run = nn.Linear(4, 1), Run()
    run.add_models({"model": model})
    moves = MovesBetweenPasses(run)
    F.mse_loss(model(X), Y).backward()
    moves.pass_ended()
    names = list(run.parameters)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += change * parameter.grad
    assert (moves.follow_gradients(names), moves.climb_gradients(names)) == (follows, climbs)
