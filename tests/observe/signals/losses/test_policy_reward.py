"""The sign of a policy's objective, recognised by the name of its factor."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.signals.losses.policy_reward import multiplies_by_reward


@pytest.mark.parametrize(
    "line",
    [
        'gain = (log_prob * batch["reward"]).mean()',
        "loss = (returns * logp).sum()",
        "return (logp * self.advantages).mean()",
        "loss = (-logp * returns).mean()",  # then it is not the logarithms that are multiplied
    ],
)
def test_a_reward_is_known_by_its_name(line: str) -> None:
    assert multiplies_by_reward(line)


@pytest.mark.parametrize(
    "line",
    [
        "loss = (logp * -rewards).mean()",
        "loss = (-returns * logp).mean()",
        "loss = (logp * (baseline - returns)).mean()",
        "loss = (logp * neg_reward).mean()",
        "loss = (logp * costs).mean()",
        "loss = (logp * weight).mean()  # the return",
        "loss = (logp * rewards",
    ],
)
def test_a_minus_or_another_name_is_none(line: str) -> None:
    assert not multiplies_by_reward(line)


def training(objective: Any, **optimizer: Any) -> Any:
    def make() -> Training:
        torch.manual_seed(0)
        seen = torch.randn(64, 6)
        best = (seen @ torch.randn(6, 4)).argmax(1)
        action = torch.where(torch.rand(64) < 0.5, best, torch.randint(4, (64,)))
        rewards = (action == best).float()
        policy = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 4))
        optimizers = torch.optim.Adam(policy.parameters(), 1e-2, **optimizer)

        def loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
            logp = torch.distributions.Categorical(logits=model(batch[0])).log_prob(batch[1])
            return objective(logp, batch[2])

        return Training(policy, optimizers, loss, data=(seen, action, rewards))

    return make


def test_a_missing_minus_is_confirmed() -> None:
    report = diagnose(training(lambda logp, rewards: (logp * rewards).mean()))
    assert [(f.cause, f.certainty) for f in report.findings] == [("wrong-loss-sign", "confirmed")]


@pytest.mark.parametrize(
    "objective",
    [
        lambda logp, rewards: -(logp * rewards).mean(),
        lambda logp, rewards: (-logp * rewards).mean(),
        lambda logp, cost: (logp * (cost - 1)).mean(),
    ],
)
def test_what_is_right_is_no_alarm(objective: Any) -> None:
    assert diagnose(training(objective), ["overfits_one_batch", "gradients_flow"]).healthy


def test_an_optimizer_that_climbs_needs_no_minus() -> None:
    climbing = training(lambda logp, rewards: (logp * rewards).mean(), maximize=True)
    assert not any(f.cause == "wrong-loss-sign" for f in diagnose(climbing).findings)
