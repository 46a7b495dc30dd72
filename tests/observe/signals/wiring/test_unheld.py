"""What no optimizer holds: left out by mistake, or on purpose, because it lies before what is tuned."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, Verdict, diagnose
from pytest_trainhealth.observe.calls.loss_terms import loss_terms

WIDTH = 8


def _net(out: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Linear(WIDTH, 16), nn.ReLU(), nn.Linear(16, out))


def _data() -> list[tuple[Tensor, Tensor]]:
    inputs = torch.randn(8, 16, WIDTH)
    return [(x, x[:, :1].sin()) for x in inputs]


def _verdict(training: Training | Callable[[], Training]) -> Verdict:
    (verdict,) = diagnose(training, ["gradients_flow"]).verdicts
    return verdict


@pytest.mark.parametrize("passes", [1, 2])
def test_a_second_critic_with_a_loss_of_its_own_is_left_out(passes: int) -> None:
    """It lies before nothing that is trained, and its term of the loss is one that no optimizer can lower. It goes to
    the optimizer that steps while its gradients are there: the actor's clears them first."""
    verdict = _verdict(lambda: _with_two_critics(passes))
    assert verdict.failed
    (finding,) = verdict.findings
    assert (finding.cause, finding.certainty) == ("parameters-not-in-optimizer", "confirmed")
    assert "other.0.weight" in verdict.headline
    assert "critic_optimizer = " in finding.places[0].code


def _with_two_critics(passes: int) -> Training:
    model = nn.ModuleDict({"actor": _net(WIDTH), "one": _net(), "other": _net()})
    actor_optimizer = torch.optim.Adam(model["actor"].parameters(), 1e-3)
    critic_optimizer = torch.optim.Adam(model["one"].parameters(), 1e-2)

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        inputs, target = batch
        model.zero_grad()
        losses = [F.mse_loss(model[name](inputs), target) for name in ("one", "other")]
        for loss in [losses[0] + 0.5 * losses[1]] if passes == 1 else losses:
            loss.backward()
        critic_optimizer.step()
        actor_optimizer.zero_grad()
        (-model["one"](model["actor"](inputs)).mean()).backward()
        actor_optimizer.step()
        return losses[0].detach()

    optimizers = {"actor": actor_optimizer, "critic": critic_optimizer}
    return Training(model, optimizers, step=step, data=_data())


def test_tuning_a_head_spares_an_early_exit_and_a_penalty() -> None:
    """Both have terms of their own; the body that the exit stands on leads to what is trained, and so is tuned around,
    and a penalty has a term for each parameter."""
    body, exit_, head = nn.Linear(WIDTH, 16), nn.Linear(16, 1), nn.Linear(16, 1)
    model = nn.ModuleDict({"body": body, "exit": exit_, "head": head})

    def loss(model: nn.ModuleDict, batch: tuple[Tensor, Tensor]) -> Tensor:
        inputs, target = batch
        hidden = model["body"](inputs).relu()
        penalty = sum(parameter.square().sum() for parameter in model.parameters())
        early = F.mse_loss(model["exit"](hidden), target)
        return F.mse_loss(model["head"](hidden), target) + 0.3 * early + 1e-4 * penalty

    verdict = _verdict(Training(model, torch.optim.Adam(head.parameters(), 1e-2), loss, _data()))
    assert not [finding.cause for finding in verdict.findings]
    assert any("as in tuning a head" in note for note in verdict.notes)


def test_terms_are_taken_apart_where_single_numbers_are_added() -> None:
    one, other = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    terms = loss_terms(one.mean() - 2 * (other.sum() / 3) + (one * other).sum())
    assert sorted(type(node).__name__ for node in terms) == ["MeanBackward0", "SumBackward0", "SumBackward0"]
    assert [type(node).__name__ for node in loss_terms(one + other)] == ["AddBackward0"]
    assert loss_terms(torch.tensor(1.0)) == []
