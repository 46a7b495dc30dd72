"""The factor of a loss scaler is followed from the loss to the optimizer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.amp.grad_scaler import GradScaler

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.programs.watched_program import watch
from pytest_trainhealth.records.wiring import WronglyScaled

Step = Callable[[nn.Module, torch.optim.Optimizer, GradScaler, torch.Tensor], None]


def seen(step: Step, steps: int = 3) -> list[WronglyScaled]:
    model, scaler = nn.Linear(4, 1), GradScaler("cpu")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    with watch(signals=("loss_scaling",)) as trace:
        for _ in range(steps):
            optimizer.zero_grad()
            step(model, optimizer, scaler, model(torch.randn(8, 4)).square().mean())
    return trace.wiring.wrongly_scaled


def proper(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()


def accumulated(model, optimizer, scaler, loss):
    (scaler.scale(loss) / 2).backward(retain_graph=True)
    scaler.scale(loss / 2).backward()
    scaler.step(optimizer)
    scaler.update()


def by_hand(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    for parameter in model.parameters():
        parameter.grad.div_(scaler.get_scale())
    optimizer.step()


def multiplied_by_hand(model, optimizer, scaler, loss):
    scaler.scale(loss)  # it gets its factor with the first loss
    (loss * scaler.get_scale()).backward()
    scaler.step(optimizer)
    scaler.update()


def switched_off(model, optimizer, scaler, loss):
    GradScaler("cpu", enabled=False).scale(loss).backward()
    optimizer.step()


def without_a_scaler(model, optimizer, scaler, loss):
    loss.backward()
    optimizer.step()


@pytest.mark.parametrize(
    "step", [proper, accumulated, by_hand, multiplied_by_hand, switched_off, without_a_scaler], ids=lambda s: s.__name__
)
def test_gradients_at_their_real_size(step: Step) -> None:
    assert seen(step) == []


def test_stepped_past_the_scaler() -> None:
    def step(model, optimizer, scaler, loss):
        scaler.scale(loss).backward()
        optimizer.step()

    found = seen(step)
    # a watched loop shows its optimizer with its first update
    assert [each.factor for each in found] == [65536.0] * 2
    assert found[0].place is not None
    assert "optimizer.step()" in found[0].place.code


def test_a_scaled_loss_that_nobody_uses() -> None:
    def step(model, optimizer, scaler, loss):
        scaler.scale(loss)
        loss.backward()
        scaler.step(optimizer)
        scaler.update()

    assert [each.factor for each in seen(step)] == [1 / 65536] * 2


def test_a_second_network_may_do_without_the_scaler() -> None:
    first, second, scaler = nn.Linear(4, 4), nn.Linear(4, 1), GradScaler("cpu")
    of_first, of_second = (torch.optim.SGD(each.parameters(), 1e-6) for each in (first, second))
    with watch(signals=("loss_scaling",)) as trace:
        for _ in range(3):
            made = first(torch.randn(8, 4))
            of_first.zero_grad()
            scaler.scale(second(made).mean()).backward()  # leaves scaled gradients in the second
            scaler.step(of_first)
            scaler.update()
            of_second.zero_grad()
            second(made.detach()).square().mean().backward()
            of_second.step()
    assert trace.wiring.wrongly_scaled == []


def test_torch_is_as_it_was() -> None:
    before = (GradScaler.scale, GradScaler.unscale_, GradScaler.step)
    seen(proper, steps=12)
    assert (GradScaler.scale, GradScaler.unscale_, GradScaler.step) == before


def training(kind: str) -> Training:
    model, scaler = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3)), GradScaler("cpu")
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    labels = torch.randint(3, (64,))
    samples = torch.randn(3, 8)[labels] + 0.3 * torch.randn(64, 8)

    def step(batch):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
        scaler.scale(loss).backward()
        if kind == "direct":
            optimizer.step()
        else:
            scaler.step(optimizer)
        if kind == "proper":
            scaler.update()
        return loss

    return Training(model, optimizer, step=step, data=list(zip(samples.split(16), labels.split(16), strict=True)))


def test_it_is_named_before_the_large_gradients_that_it_makes() -> None:
    findings = diagnose(lambda: training("direct"), ["gradients_flow", "overfits_one_batch"]).findings
    assert (findings[0].cause, findings[0].certainty) == ("loss-scaler-misuse", "confirmed")
    assert "65,500 times too large" in findings[0].statement
    assert diagnose(lambda: training("proper"), ["gradients_flow"]).healthy


def test_a_scaler_that_is_never_updated() -> None:
    finding = diagnose(lambda: training("never updated"), ["gradients_flow"]).findings[0]
    assert (finding.cause, finding.certainty) == ("loss-scaler-misuse", "likely")
    assert "scaler.update() is missing" in finding.statement
