"""Reinforcement learning on recorded transitions or a toy environment inside the step."""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy


class Transitions(NamedTuple):
    state: Tensor
    action: Tensor
    reward: Tensor
    following: Tensor
    done: Tensor


def walk(n: int = 32) -> Transitions:
    """A point on a line is pushed left or right; the reward is for being near zero, one step in ten is the last."""
    state = 2 * torch.rand(n, 1) - 1
    action = torch.randint(0, 2, (n,))
    following = (state + 0.3 * (2 * action[:, None] - 1)).clamp(-1, 1)
    return Transitions(state, action, 1 - following.abs().squeeze(-1), following, (torch.rand(n) < 0.1).float())


def net(outputs: int, inputs: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, outputs))


class DQN(nn.Module):
    """The target network is a submodule whose parameters have `requires_grad=True` but only run under no_grad."""

    def __init__(self) -> None:
        super().__init__()
        self.online = net(2)
        self.target = copy.deepcopy(self.online)
        self.register_buffer("updates", torch.zeros((), dtype=torch.long))

    def forward(self, state: Tensor) -> Tensor:
        return self.online(state)


@healthy
def dqn_target_network() -> Training:
    """The target network is in no optimizer and is copied over each 25 steps, when the loss jumps up."""

    def step(batch: Transitions) -> float:
        value = model(batch.state).gather(1, batch.action[:, None]).squeeze(1)
        with torch.no_grad():
            best = model.target(batch.following).amax(1)
            wanted = batch.reward + 0.7 * (1 - batch.done) * best
        loss = F.smooth_l1_loss(value, wanted)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.online.parameters(), 1.0)
        optimizer.step()
        model.updates += 1
        if model.updates % 25 == 0:
            model.target.load_state_dict(model.online.state_dict())
        return loss.item()

    model = DQN()
    optimizer = torch.optim.Adam(model.online.parameters(), lr=5e-3)
    return Training(model, optimizer, step=step, data=[walk() for _ in range(6)])


@healthy
def dqn_fixed_target_through_loss() -> Training:
    """With `loss=`: the target network stays as it is for all of the run, frozen by no_grad, not by its flags."""

    def loss(model: DQN, batch: Transitions) -> Tensor:
        with torch.no_grad():
            wanted = batch.reward + 0.7 * (1 - batch.done) * model.target(batch.following).amax(1)
        return F.mse_loss(model(batch.state).gather(1, batch.action[:, None]).squeeze(1), wanted)

    model = DQN()
    return Training(model, torch.optim.Adam(model.online.parameters(), lr=5e-3), loss, walk(64))


class ActorCritic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(1, 32), nn.Tanh())
        self.policy = nn.Linear(32, 2)
        self.value = nn.Linear(32, 1)
        nn.init.orthogonal_(self.policy.weight, 0.01)

    def forward(self, state: Tensor) -> tuple[torch.distributions.Categorical, Tensor]:
        h = self.trunk(state)
        return torch.distributions.Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)


def expected_return(state: Tensor, action: Tensor) -> Tensor:
    """Better towards zero than away from it."""
    return 1 - (state.squeeze(-1) + 0.3 * (2 * action - 1)).abs()


@healthy
def actor_critic_on_policy() -> Training:
    """Actions are sampled in the loss: policy, value and entropy terms with no fixed scale, noisy around zero."""

    def loss(model: nn.Module, state: Tensor) -> Tensor:
        policy, value = model(state)
        action = policy.sample()
        returns = expected_return(state, action)
        advantage = (returns - value).detach()
        actor = -(policy.log_prob(action) * advantage).mean()
        return actor + 0.5 * F.mse_loss(value, returns) - 0.01 * policy.entropy().mean()

    model = ActorCritic()
    states = list((2 * torch.rand(256, 1) - 1).split(64))
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), loss, states)


@healthy
def ppo_on_a_fixed_rollout() -> Training:
    """Clipped surrogate on recorded actions: that term starts at zero, goes a little below and is then cut off."""

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        policy, value = model(batch["state"])
        ratio = (policy.log_prob(batch["action"]) - batch["log_prob"]).exp()
        surrogate = torch.minimum(ratio * batch["advantage"], ratio.clamp(0.8, 1.2) * batch["advantage"])
        return -surrogate.mean() + 0.5 * F.mse_loss(value, batch["returns"]) - 0.01 * policy.entropy().mean()

    model = ActorCritic()
    rollouts = []
    for _ in range(4):
        batch = walk(64)
        with torch.no_grad():
            policy, value = model(batch.state)
        returns = expected_return(batch.state, batch.action)
        advantage = returns - value
        rollouts.append(
            {
                "state": batch.state,
                "action": batch.action,
                "log_prob": policy.log_prob(batch.action),
                "returns": returns,
                "advantage": (advantage - advantage.mean()) / advantage.std(),
            }
        )
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, rollouts)


@healthy
def reinforce_bandit() -> Training:
    """The step plays with its own policy: the loss is noise around zero, what rises is the reward."""

    class Player:
        def __init__(self) -> None:
            self.model = net(3, inputs=4)
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=5e-3)
            self.baseline = 0.0
            self.rewards: list[float] = []

        def play(self, context: Tensor) -> Tensor:
            policy = torch.distributions.Categorical(logits=self.model(context))
            action = policy.sample()
            reward = (action == context[:, :3].argmax(1)).float()
            loss = -(policy.log_prob(action) * (reward - self.baseline)).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.baseline += 0.1 * (reward.mean().item() - self.baseline)
            self.rewards.append(reward.mean().item())
            return loss

    player = Player()
    return Training(player.model, player.optimizer, step=player.play, data=list(torch.randn(128, 4).split(32)))


@healthy
def masked_actions_minus_inf() -> Training:
    """Forbidden actions get -inf as logit, so the log-probabilities hold -inf, which no loss term touches."""

    class MaskedPolicy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net(6, inputs=5)

        def forward(self, board: Tensor, allowed: Tensor) -> Tensor:
            return self.net(board).masked_fill(~allowed, -torch.inf)

    allowed = torch.rand(96, 6) < 0.6
    best = torch.randint(0, 6, (96,))
    board = torch.randn(6, 5)[best] + 0.3 * torch.randn(96, 5)
    allowed[torch.arange(96), best] = True
    model = MaskedPolicy()
    batches = [(board[i : i + 24], allowed[i : i + 24], best[i : i + 24]) for i in range(0, 96, 24)]
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: F.cross_entropy(model(batch[0], batch[1]), batch[2]),
        data=batches,
    )


@healthy
def ddpg_actor_through_critic() -> Training:
    """The actor learns through the critic, whose gradients from that pass are thrown away by the next zero_grad."""

    def step(batch: Transitions) -> Tensor:
        pushed = 0.6 * batch.action[:, None] - 0.3
        returns = 1 - (batch.state + pushed).abs()
        critic_loss = F.mse_loss(model["critic"](torch.cat([batch.state, pushed], -1)), returns)
        optimizers["critic"].zero_grad()
        critic_loss.backward()
        optimizers["critic"].step()

        push = torch.tanh(model["actor"](batch.state))
        actor_loss = -model["critic"](torch.cat([batch.state, push], -1)).mean()
        optimizers["actor"].zero_grad()
        actor_loss.backward()
        optimizers["actor"].step()
        return critic_loss.detach()

    model = nn.ModuleDict({"actor": net(1), "critic": net(1, inputs=2)})
    optimizers = {name: torch.optim.Adam(part.parameters(), lr=3e-3) for name, part in model.items()}
    return Training(model, optimizers, step=step, data=[walk() for _ in range(4)])
