"""Backward passes whose gradients nobody uses; and those that look like it and are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, Verdict, diagnose


def judged(make: Callable[[], Training]) -> Verdict:
    return diagnose(make, "gradients_flow").verdicts[0]


def parts() -> tuple[nn.Module, torch.optim.Optimizer, list[Any]]:
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    data = [(torch.randn(8, 6), torch.randint(3, (8,))) for _ in range(8)]
    return model, torch.optim.Adam(model.parameters(), 1e-2), data


def accumulating(passes: int, *, every_call: bool, cleared: bool) -> Training:
    """The micro-batches are parts of a batch, or calls."""
    model, optimizer, data = parts()
    count = [0]

    def parts_of_a_batch(batch):
        optimizer.zero_grad()
        for x, y in zip(batch[0].chunk(passes), batch[1].chunk(passes), strict=True):
            if cleared:
                optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y) / passes
            loss.backward()
        optimizer.step()
        return loss * passes

    def calls(batch):
        if cleared:
            model.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1]) / passes
        loss.backward()
        count[0] += 1
        if count[0] % passes == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss * passes

    return Training(model, optimizer, step=calls if every_call else parts_of_a_batch, data=data)


@pytest.mark.parametrize("every_call", [False, True])
@pytest.mark.parametrize("passes", [2, 8])
def test_cleared_at_every_micro_batch(passes: int, every_call: bool) -> None:
    verdict = judged(lambda: accumulating(passes, every_call=every_call, cleared=True))
    finding = verdict.findings[0]
    assert (finding.cause, finding.certainty) == ("gradients-cleared-before-step", "confirmed")
    assert f"the last of {passes} backward passes" in finding.statement
    assert "zero_grad()" in finding.location.code
    assert judged(lambda: accumulating(passes, every_call=every_call, cleared=False)).passed


@pytest.mark.parametrize("how", ["zeros", "none"])
def test_cleared_by_hand_after_the_last_micro_batch(how: str) -> None:
    """Nothing calls zero_grad(), so nothing can be kept from doing it: what is gone is put back for the optimizer. That
    clipping finds nothing follows from that, and is no second cause."""

    def make(late: bool) -> Training:
        model, optimizer, data = parts()

        def clear() -> None:
            for parameter in model.parameters():
                if how == "none":
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad.zero_()

        def step(batch):
            if not late:
                clear()
            total = 0.0
            for x, y in zip(batch[0].chunk(2), batch[1].chunk(2), strict=True):
                loss = F.cross_entropy(model(x), y) / 2
                loss.backward()
                total += loss.item()
            if late:
                clear()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            return total

        return Training(model, optimizer, step=step, data=data)

    (finding,) = judged(lambda: make(late=True)).findings
    assert (finding.cause, finding.certainty) == ("gradients-cleared-before-step", "confirmed")
    assert judged(lambda: make(late=False)).passed


def test_over_many_calls() -> None:
    assert judged(lambda: accumulating(48, every_call=True, cleared=True)).findings[0].confirmed
    assert judged(lambda: accumulating(48, every_call=True, cleared=False)).passed


@pytest.mark.parametrize("check", ["overfits_one_batch", "learns_from_data"])
def test_a_loop_that_runs_out_of_calls_is_not_judged_by_its_few_updates(check: str) -> None:
    assert not diagnose(lambda: accumulating(64, every_call=True, cleared=False), check).verdicts[0].failed


def test_never_cleared_over_many_calls() -> None:
    def make() -> Training:
        model, optimizer, data = parts()
        count = [0]

        def step(batch):
            loss = F.cross_entropy(model(batch[0]), batch[1])
            (loss / 24).backward()
            count[0] += 1
            if count[0] % 24 == 0:
                optimizer.step()
            return loss

        return Training(model, optimizer, step=step, data=data)

    assert judged(make).findings[0].cause == "missing-zero-grad"


def two_losses(order: str) -> Training:
    model = nn.ModuleDict({"body": nn.Linear(6, 16), "names": nn.Linear(16, 3), "size": nn.Linear(16, 1)})
    of_names = torch.optim.SGD([*model["body"].parameters(), *model["names"].parameters()], 0.1)
    of_size = torch.optim.SGD(model["size"].parameters(), 0.1)

    def step(batch):
        hidden = torch.relu(model["body"](batch[0]))
        names = F.cross_entropy(model["names"](hidden), batch[1])
        size = F.mse_loss(model["size"](hidden.detach()).squeeze(1), batch[0].norm(dim=1))
        model.zero_grad()
        names.backward()
        if order == "cleared in between":
            model.zero_grad()
        size.backward()
        of_names.step()
        of_size.step()
        return names + size

    return Training(model, [of_names, of_size], step=step, data=parts()[2])


def test_one_loss_is_cleared_for_the_other() -> None:
    finding = judged(lambda: two_losses("cleared in between")).findings[0]
    assert (finding.cause, finding.certainty) == ("gradients-cleared-before-step", "confirmed")
    assert "SGD[0] none of its gradients" in finding.statement
    assert judged(lambda: two_losses("one after the other")).passed


def sharpness_aware(model, optimizer, batch):
    """Climbs along the first gradient, clears it, and descends with the second."""
    for climb in (True, False):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        if climb:
            with torch.no_grad():
                moves = [0.05 * p.grad / (p.grad.norm() + 1e-12) for p in model.parameters()]
                for parameter, move in zip(model.parameters(), moves, strict=True):
                    parameter += move
    with torch.no_grad():
        for parameter, move in zip(model.parameters(), moves, strict=True):
            parameter -= move
    optimizer.step()
    return loss


def collected(model, optimizer, batch):
    """One pass per sample, summed up by hand."""
    sums = [torch.zeros_like(p) for p in model.parameters()]
    for x, y in zip(batch[0], batch[1], strict=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[None]), y[None])
        loss.backward()
        for total, parameter in zip(sums, model.parameters(), strict=True):
            total += parameter.grad.clamp(-1, 1)
    for total, parameter in zip(sums, model.parameters(), strict=True):
        parameter.grad = total / len(batch[0])
    optimizer.step()
    return loss


def adversarial_examples(model, optimizer, batch):
    """The first passes are for the gradient of the input."""
    x = batch[0].clone().requires_grad_()
    for _ in range(2):
        F.cross_entropy(model(x), batch[1]).backward()
        x = (x + 0.01 * x.grad.sign()).detach().requires_grad_()
        model.zero_grad()
    loss = F.cross_entropy(model(x.detach()), batch[1])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


def by_hooks(model, optimizer, batch):
    """Gradients are caught as they come."""
    caught = []
    handles = [p.register_hook(caught.append) for p in model.parameters()]
    for x, y in zip(batch[0].chunk(2), batch[1].chunk(2), strict=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
    for handle in handles:
        handle.remove()
    optimizer.step()
    return loss


@pytest.mark.parametrize(
    "way", [sharpness_aware, collected, adversarial_examples, by_hooks], ids=lambda way: way.__name__
)
def test_gradients_that_the_code_uses_itself(way: Callable[..., Any]) -> None:
    def make() -> Training:
        model, optimizer, data = parts()
        return Training(model, optimizer, step=lambda batch: way(model, optimizer, batch), data=data)

    verdict = judged(make)
    assert verdict.passed, str(verdict)


def test_a_generator_that_waits_its_turn() -> None:
    """Its pass is taken at every step, and used at every third."""

    def make() -> Training:
        generator, critic = nn.Linear(4, 3), nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
        of_generator, of_critic = (torch.optim.Adam(each.parameters(), 1e-3) for each in (generator, critic))
        count = [0]

        def step(real):
            count[0] += 1
            fake = generator(torch.randn(len(real), 4))
            of_critic.zero_grad()
            loss = critic(fake.detach()).mean() - critic(real).mean()
            loss.backward()
            of_critic.step()
            of_generator.zero_grad()
            (-critic(fake).mean()).backward()
            if count[0] % 3 == 0:
                of_generator.step()
            return loss

        models = {"generator": generator, "critic": critic}
        data = [torch.randn(16, 3) + 2 for _ in range(4)]
        return Training(models, [of_generator, of_critic], step=step, data=data)

    assert judged(make).passed
