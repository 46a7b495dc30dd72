"""Loss scaling that a loop does itself: clipping comes after its factor is taken out, or leaves next to nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis.wiring import clipped_while_scaled
from pytest_trainhealth.programs.watched_program import watch
from pytest_trainhealth.records.wiring import GradientPath

Step = Callable[[nn.Module, torch.optim.Optimizer, Tensor], None]
SCALE = 4096.0


def seen(step: Step) -> list[GradientPath]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with watch(signals=("clipping",)) as trace:
        for _ in range(6):
            optimizer.zero_grad()
            step(model, optimizer, 5 * (model(torch.randn(8, 4)) - 3).square().mean())
            optimizer.step()
    assert trace.wiring.gradient_paths
    return clipped_while_scaled(trace)


def exchanged(model, optimizer, loss):
    (torch.tensor(SCALE) * loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for parameter in model.parameters():
        parameter.grad = parameter.grad / SCALE


def all_at_once(model, optimizer, loss):
    (loss / 2 * SCALE).backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.5)
    torch._foreach_div_([parameter.grad for parameter in model.parameters()], SCALE)


def with_an_operator(model, optimizer, loss):
    loss.mul(SCALE).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    for parameter in model.parameters():
        parameter.grad *= 1 / SCALE


@pytest.mark.parametrize("step", [exchanged, all_at_once, with_an_operator], ids=lambda step: step.__name__)
def test_clipped_with_the_factor_in_them(step: Step) -> None:
    found = seen(step)
    assert len(found) >= 2
    assert found[0].by_hand
    assert found[0].changed_at is not None
    assert "clip_grad" in found[0].changed_at.code
    assert found[0].after_backward < 1000  # without the factor


def the_right_order(model, optimizer, loss):
    (loss * SCALE).backward()
    for parameter in model.parameters():
        parameter.grad.div_(SCALE)
    nn.utils.clip_grad_norm_(model.parameters(), 0.01)


def one_after_the_other(model, optimizer, loss):
    (loss * SCALE).backward()
    for parameter in model.parameters():
        parameter.grad /= SCALE
        nn.utils.clip_grad_norm_(parameter, 0.01)


def a_limit_with_the_factor_in_it(model, optimizer, loss):
    (loss * SCALE).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5 * SCALE)
    for parameter in model.parameters():
        parameter.grad.mul_(1 / SCALE)


def a_weight_of_the_loss(model, optimizer, loss):
    (50 * loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.01)


def another_constant(model, optimizer, loss):
    (50 * loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    for parameter in model.parameters():
        parameter.grad.mul_(0.1)  # a rate of its own, say


@pytest.mark.parametrize(
    "step",
    [the_right_order, one_after_the_other, a_limit_with_the_factor_in_it, a_weight_of_the_loss, another_constant],
    ids=lambda step: step.__name__,
)
def test_clipped_as_it_is_meant(step: Step) -> None:
    assert seen(step) == []


def training(*, clip_first: bool) -> Training:
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

    def clip() -> None:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
        (loss * SCALE).backward()
        if clip_first:
            clip()
        for parameter in model.parameters():
            parameter.grad = parameter.grad / SCALE
        if not clip_first:
            clip()
        optimizer.step()
        return loss

    data = [(torch.randn(16, 6), torch.randint(3, (16,))) for _ in range(4)]
    return Training(model, optimizer, step=step, data=data)


def test_no_rate_is_blamed() -> None:
    """The re-run without clipping takes the factor out all the same; another rate would have healed it, too."""
    report = diagnose(lambda: training(clip_first=True), ["overfits_one_batch"])
    assert [(each.cause, each.certainty) for each in report.findings] == [("bad-gradient-clipping", "confirmed")]
    assert diagnose(lambda: training(clip_first=False), ["overfits_one_batch", "gradients_flow"]).healthy
