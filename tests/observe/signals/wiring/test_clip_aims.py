"""Clipping what another optimizer holds than the one that steps next."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis.wiring import clipped_aside
from pytest_trainhealth.programs.watched_program import watch
from pytest_trainhealth.records.wiring import ClipCalls

STEPS = 9


def seen(loop: Callable[[str], None], how: str) -> ClipCalls | None:
    torch.manual_seed(0)
    with watch(signals=("clipping",)) as trace:
        loop(how)
    return clipped_aside(trace)


def net(inputs: int = 4, outputs: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, outputs))


# -- an actor and a critic, in turns: the actor's loss leaves gradients in the critic, and the other way round ------


def actor_critic(how: str) -> None:
    actor, critic = net(4, 2), net(6)
    actor_optimizer, critic_optimizer = (torch.optim.Adam(m.parameters(), 1e-3) for m in (actor, critic))
    for step in range(STEPS):
        state, action = torch.randn(16, 4), torch.randn(16, 2)
        critic_loss = F.mse_loss(critic(torch.cat([state, action], 1)).squeeze(1), state.sum(1))
        critic_optimizer.zero_grad()
        critic_loss.backward()
        if how == "the other's":
            clip_grad_norm_(actor.parameters(), 0.5)
        elif how == "its own":
            clip_grad_norm_(critic.parameters(), 0.5)
        elif how == "all":
            clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
        critic_optimizer.step()
        if how == "delayed" and step % 3:
            continue
        actor_loss = -critic(torch.cat([state, actor(state)], 1)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        clip_grad_norm_(actor.parameters(), 0.5)
        actor_optimizer.step()


# -- a game of two with a helper, whose optimizers leave no gradients behind ---------------------------------------


class Player:
    def __init__(self, model: nn.Module) -> None:
        self.model, self.optimizer = model, torch.optim.SGD(model.parameters(), 1e-2)

    def learn(self, loss: Tensor, clipped: list[nn.Module]) -> None:
        loss.backward()
        for each in clipped:
            clip_grad_norm_(each.parameters(), 0.1)
        self.optimizer.step()


def game(how: str) -> None:
    maker, judge = Player(net(3, 4)), Player(net(4))
    for _ in range(STEPS):
        real, noise = torch.randn(8, 4), torch.randn(8, 3)
        judging = F.softplus(-judge.model(real)).mean() + F.softplus(judge.model(maker.model(noise).detach())).mean()
        judge.learn(judging, [maker.model if how == "the other's" else judge.model])
        for each in (maker, judge):
            each.optimizer.zero_grad()
        making = F.softplus(-judge.model(maker.model(noise))).mean()
        if how == "the other's":
            making.backward()
            maker.optimizer.step()
        else:
            maker.learn(making, [maker.model, judge.model] if how == "all" else [maker.model])
        for each in (maker, judge):
            each.optimizer.zero_grad()


# -- one backward pass, and two optimizers ----------------------------------------------------------------------------


def body_and_head(how: str) -> None:
    body, head = net(4, 4), nn.Linear(4, 1)
    slow, fast = torch.optim.SGD(body.parameters(), 1e-3), torch.optim.SGD(head.parameters(), 1e-2)
    for step in range(STEPS):
        head(body(torch.randn(8, 4))).square().mean().backward()
        if how == "the other's":  # the body's turn comes first, and its gradients are gone when the head's are clipped
            slow.step()
            slow.zero_grad()
            clip_grad_norm_(body.parameters(), 0.1)
            fast.step()
            fast.zero_grad()
            continue
        clip_grad_norm_(body.parameters(), 0.1)
        fast.step()
        fast.zero_grad()
        if how == "its own" or (how == "accumulated" and step % 4 == 3):
            slow.step()
        if how != "accumulated" or step % 4 == 3:  # "held back": a warm-up in which the body rests
            slow.zero_grad()


@pytest.mark.parametrize("loop", [actor_critic, game, body_and_head], ids=lambda loop: loop.__name__)
def test_what_is_clipped_is_not_what_steps(loop: Callable[[str], None]) -> None:
    found = seen(loop, "the other's")
    assert found is not None
    assert "clip_grad" in found.place.code


@pytest.mark.parametrize(
    ("loop", "how"),
    [
        (actor_critic, "its own"),
        (actor_critic, "all"),
        (actor_critic, "delayed"),
        (actor_critic, "only the actor"),
        (game, "its own"),
        (game, "all"),
        (body_and_head, "its own"),
        (body_and_head, "accumulated"),
        (body_and_head, "held back"),
    ],
)
def test_what_is_clipped_is_used(loop: Callable[[str], None], how: str) -> None:
    assert seen(loop, how) is None


def test_the_critic_that_nobody_clips() -> None:
    def training() -> Training:
        policy, value = net(4, 2), net(4)
        optimizers = [torch.optim.Adam(m.parameters(), 1e-2) for m in (policy, value)]

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            states, actions = batch
            guess = value(states).squeeze(1)
            for optimizer in optimizers:
                optimizer.zero_grad()
            of_values = F.mse_loss(guess, states.sum(1))
            of_values.backward()
            clip_grad_norm_(policy.parameters(), 0.5)
            optimizers[1].step()
            of_policy = F.cross_entropy(policy(states), actions)
            of_policy.backward()
            clip_grad_norm_(policy.parameters(), 0.5)
            optimizers[0].step()
            return of_values + of_policy

        return Training(
            nn.ModuleDict({"policy": policy, "value": value}),
            optimizers,
            step=step,
            data=(torch.randn(32, 4), torch.randint(2, (32,))),
        )

    finding = diagnose(training, "gradients_flow").findings[0]
    assert (finding.cause, finding.certainty) == ("bad-gradient-clipping", "confirmed")
    assert "another optimizer" in finding.statement
