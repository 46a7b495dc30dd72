"""Faults in the user's own step that leave the loss as it should be: found all the same, and confirmed."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose


def pair_of_networks(delay: int) -> Training:
    """The second network's optimizer steps once in `delay` steps; 0: never."""
    model = nn.ModuleDict({"first": nn.Linear(6, 2), "second": nn.Linear(6, 2)})
    first = torch.optim.Adam(model["first"].parameters(), 1e-2)
    second = torch.optim.Adam(model["second"].parameters(), 1e-2)
    count = [0]

    def step(batch):
        x, y = batch
        count[0] += 1
        for network, optimizer in ((model["first"], first), (model["second"], second)):
            optimizer.zero_grad()
            loss = F.cross_entropy(network(x), y)
            loss.backward()
            if optimizer is first or (delay and count[0] % delay == 0):
                optimizer.step()
        return loss

    data = (torch.randn(16, 6), torch.randint(2, (16,)))
    return Training(model, {"first": first, "second": second}, step=step, data=data)


def test_one_of_two_optimizers_never_steps() -> None:
    verdict = diagnose(lambda: pair_of_networks(0), "gradients_flow").verdicts[0]
    assert verdict.failed
    assert (verdict.findings[0].cause, verdict.findings[0].certainty) == ("missing-optimizer-step", "confirmed")
    assert "second" in verdict.findings[0].statement


@pytest.mark.parametrize("delay", [1, 5, 20])
def test_one_that_waits_is_given_its_time(delay: int) -> None:
    assert diagnose(lambda: pair_of_networks(delay), "gradients_flow").verdicts[0].passed


def clipping(order: str) -> Training:
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)

    def step(batch):
        optimizer.zero_grad()
        loss = 30 * F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        if order == "before":
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        if order == "after":
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        elif order == "cleared":
            for parameter in model.parameters():
                parameter.grad.mul_(0.1)  # decayed by hand, and cleared at the next step
        return loss

    return Training(model, optimizer, step=step, data=(torch.randn(16, 6), torch.randint(2, (16,))))


def test_clipping_after_the_step_is_of_no_use() -> None:
    verdict = diagnose(lambda: clipping("after"), "gradients_flow").verdicts[0]
    assert (verdict.findings[0].cause, verdict.findings[0].certainty) == ("bad-gradient-clipping", "confirmed")
    assert "clip_grad_norm_" in verdict.findings[0].location.code


@pytest.mark.parametrize("order", ["before", "never", "cleared"])
def test_other_ways_with_gradients_are_no_alarm(order: str) -> None:
    assert diagnose(lambda: clipping(order), "gradients_flow").verdicts[0].passed


def clipping_in_vain(how: str) -> Training:
    model, other = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2)), nn.Linear(6, 2)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    scaler = torch.amp.GradScaler("cpu", enabled="scal" in how)
    if how == "a frozen part":
        other.requires_grad_(False)

    def step(batch):
        optimizer.zero_grad(set_to_none=how != "before backward, zeros")
        loss = F.cross_entropy(model(batch[0]), batch[1])
        if how.startswith("before backward"):
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        if how == "the norm, before backward":
            nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
        scaler.scale(loss).backward()
        if how in ("another model", "a frozen part"):
            nn.utils.clip_grad_norm_(other.parameters(), 0.1)
        if how == "a part":
            nn.utils.clip_grad_norm_(other.parameters(), 0.1)
            nn.utils.clip_grad_value_(model[2].parameters(), 0.1)
        if how == "unscaled":
            scaler.unscale_(optimizer)
        if how in ("unscaled", "scaled"):
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss

    return Training(model, optimizer, step=step, data=(torch.randn(16, 6), torch.randint(2, (16,))))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("before backward", "finds no gradient"),
        ("before backward, zeros", "finds no gradient"),
        ("another model", "finds no gradient"),
        ("scaled", "before unscaling"),
    ],
)
def test_clipping_that_clips_nothing_or_everything(how: str, says: str) -> None:
    finding = diagnose(lambda: clipping_in_vain(how), "gradients_flow").findings[0]
    assert (finding.cause, finding.certainty) == ("bad-gradient-clipping", "confirmed")
    assert says in finding.statement
    assert "clip_grad_norm_" in finding.location.code


@pytest.mark.parametrize("how", ["the norm, before backward", "a frozen part", "a part", "unscaled"])
def test_clipping_of_a_part_and_measuring_are_no_alarm(how: str) -> None:
    assert diagnose(lambda: clipping_in_vain(how), "gradients_flow").verdicts[0].passed


def adversaries(twice: bool) -> Training:
    generator, critic = nn.Linear(4, 3), nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
    if twice:
        critic.append(nn.Sigmoid())
    of_generator = torch.optim.Adam(generator.parameters(), 1e-3)
    of_critic = torch.optim.Adam(critic.parameters(), 1e-3)

    def step(real):
        fake = generator(torch.randn(len(real), 4))
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        loss = F.binary_cross_entropy_with_logits(critic(real), ones)
        loss = loss + F.binary_cross_entropy_with_logits(critic(fake.detach()), zeros)
        of_critic.zero_grad()
        loss.backward()
        of_critic.step()
        of_generator.zero_grad()
        F.binary_cross_entropy_with_logits(critic(fake), ones).backward()
        of_generator.step()
        return loss

    models = {"generator": generator, "critic": critic}
    return Training(models, [of_generator, of_critic], step=step, data=torch.randn(16, 3) + 2)


def test_adversaries_are_judged_by_what_their_losses_are_given() -> None:
    verdict = diagnose(lambda: adversaries(True), "overfits_one_batch").verdicts[0]
    assert (verdict.findings[0].cause, verdict.findings[0].certainty) == ("double-softmax", "confirmed")
    assert not diagnose(lambda: adversaries(False), "overfits_one_batch").verdicts[0].failed
