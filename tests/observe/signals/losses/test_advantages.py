"""Weights of log-probabilities that rise with the critic's own estimate, and those that only look like it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]


class ActorCritic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 64), nn.Tanh())
        self.policy, self.value = nn.Linear(64, 5), nn.Linear(64, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.trunk(x)
        return self.policy(hidden), self.value(hidden).squeeze(-1)


def bandit(loss: Loss, *, returns_loss: bool = False) -> Training:
    """`loss` of the log-probabilities, the returns, and the critic's estimates."""
    right = torch.randn(8, 5)
    contexts = [torch.randn(48, 8) for _ in range(8)]
    data = [(x, 2 * F.one_hot((x @ right).argmax(1), 5).float()) for x in contexts]
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)

    def step(batch):
        logits, values = model(batch[0])
        policy = Categorical(logits=logits)
        actions = policy.sample((4,))
        found = loss(policy.log_prob(actions), batch[1].gather(1, actions.t()).t(), values)
        optimizer.zero_grad()
        found.backward()
        optimizer.step()
        with torch.no_grad():
            regret = (batch[1].max(1).values - (policy.probs * batch[1]).sum(1)).mean()
        return found if returns_loss else regret.item()

    return Training(model, optimizer, step=step, data=data)


def turned(chances: Tensor, returns: Tensor, values: Tensor) -> Tensor:
    error = values - returns
    return -(chances * error.detach()).mean() + 0.5 * error.square().mean()


def right(chances: Tensor, returns: Tensor, values: Tensor) -> Tensor:
    error = returns - values
    return -(chances * error.detach()).mean() + 0.5 * error.square().mean()


def of_costs(chances: Tensor, returns: Tensor, values: Tensor) -> Tensor:
    """What is returned is what it costs, and is to become small."""
    return turned(chances, -returns, values)


def of_actions(chances: Tensor, returns: Tensor, values: Tensor) -> Tensor:
    """The critic's estimate itself is the weight."""
    return -(chances * values.detach()).mean() + F.mse_loss(values.expand_as(returns), returns)


def of_next_states(chances: Tensor, returns: Tensor, values: Tensor) -> Tensor:
    error = returns + 0.9 * values.roll(1, -1) - values
    return -(chances * error.detach()).mean() + 0.5 * error.square().mean()


def seen(loss: Loss) -> list[str]:
    (verdict,) = diagnose(lambda: bandit(loss), "overfits_one_batch").verdicts
    return [finding.cause for finding in verdict.findings if finding.confirmed]


def test_a_weight_that_rises_with_the_estimate_is_the_wrong_way_round() -> None:
    (verdict,) = diagnose(lambda: bandit(turned), "overfits_one_batch").verdicts
    finding = verdict.findings[0]
    assert (finding.cause, finding.certainty) == ("wrong-loss-sign", "confirmed")
    assert "detach()" in finding.location.code
    assert [rerun.cure for rerun in finding.reruns if rerun.confirms] == ["advantage turned round"]


@pytest.mark.parametrize("loss", [right, of_costs, of_actions, of_next_states])
def test_what_makes_good_actions_likelier_is_not_blamed(loss: Loss) -> None:
    assert "wrong-loss-sign" not in seen(loss)
    assert loss is not right or diagnose(lambda: bandit(loss), "overfits_one_batch").verdicts[0].passed


def test_the_loss_itself_says_nothing_about_the_policy() -> None:
    (verdict,) = diagnose(lambda: bandit(turned, returns_loss=True), "overfits_one_batch").verdicts
    assert "wrong-loss-sign" not in [finding.cause for finding in verdict.findings]
