"""Watched loops that make what they learn from themselves: their loss may do anything. And loops that only look so."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import diagnose
from pytest_trainhealth.analysis.own_making import AS_IT_IS, UNTRAINED, unless_own_making
from pytest_trainhealth.records.intervention import Applied
from pytest_trainhealth.records.judgement import CouldNotJudge, NeedsControl, Passed
from pytest_trainhealth.records.symptoms import NOT_LEARNING, SILENT
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom

STUCK = Symptom("stuck", NOT_LEARNING, 1.0, 0.0, "high", "stuck")
WATCHED = replace(Trace.of([1.0] * 4), watched=True)


def noted(*inputs: str) -> Trace:
    return replace(WATCHED, applied=Applied(inputs=[tuple(each) for each in inputs]))


def beside(one: Trace, other: Trace):
    return unless_own_making(STUCK, WATCHED, {AS_IT_IS.label: one, UNTRAINED.label: other})


# -- records ---------------------------------------------------------------------------------------


def test_other_inputs_without_learning_show_it():
    assert isinstance(beside(noted("ab", "ac", "ad"), noted("ab", "ac", "ae")), CouldNotJudge)
    assert beside(noted("ab", "ac"), noted("ab", "ac")) is STUCK
    assert beside(noted("ab", "ac"), noted("ab", "ac", "zz")) is STUCK  # one of them goes on for longer
    assert beside(noted("ab", "ac"), noted("xb", "ac")) is STUCK  # by chance: nothing was learnt yet
    assert beside(noted(), noted()) is STUCK


def test_only_watched_loops_that_are_accused_of_their_loss_are_asked():
    assert unless_own_making(STUCK, WATCHED, {}) == NeedsControl(AS_IT_IS, once=True)
    assert unless_own_making(STUCK, WATCHED, {AS_IT_IS.label: noted("a")}) == NeedsControl(UNTRAINED, once=True)
    silent = replace(STUCK, category=SILENT)
    assert unless_own_making(silent, WATCHED, {}) is silent
    assert unless_own_making(STUCK, Trace.of([1.0] * 4), {}) is STUCK
    assert unless_own_making(Passed(), WATCHED, {}) == Passed()
    with_a_loader = replace(WATCHED, speed=replace(WATCHED.speed, loader_batches=[1, 1]))
    assert unless_own_making(STUCK, with_a_loader, {}) is STUCK


# -- real loops ------------------------------------------------------------------------------------


class Walk:
    """Goes on while the walker stays near the middle: whoever does well walks for longer."""

    def reset(self) -> torch.Tensor:
        self.at, self.time = random.uniform(-1, 1), 0
        return torch.tensor([self.at, 1.0])

    def step(self, right: int) -> tuple[torch.Tensor, float, bool]:
        self.at, self.time = self.at + (1.0 if right else -1.0) + random.uniform(-0.3, 0.3), self.time + 1
        return torch.tensor([self.at, 1.0]), 1.0, abs(self.at) > 2 or self.time == 15


def policy_gradient() -> None:
    walk, policy = Walk(), nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(policy.parameters(), 2e-2)
    for _ in range(30):
        state, over, said, rewards = walk.reset(), False, [], []
        while not over:
            choice = torch.distributions.Categorical(logits=policy(state))
            action = choice.sample()
            said.append(choice.log_prob(action))
            state, reward, over = walk.step(int(action))
            rewards.append(reward)
        returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
        loss = -(torch.stack(said) * returns).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def q_learning() -> None:
    walk = Walk()
    values, target = (nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2)) for _ in range(2))
    optimizer, memory, state = torch.optim.Adam(values.parameters(), 1e-2), [], walk.reset()
    for step in range(60):
        for _ in range(8):
            with torch.no_grad():
                action = int(values(state).argmax()) if random.random() > 0.2 else random.randrange(2)
            following, reward, over = walk.step(action)
            memory.append((state, torch.tensor(action), torch.tensor(reward), following, torch.tensor(float(over))))
            state = walk.reset() if over else following
        states, actions, rewards, later, ends = map(torch.stack, zip(*random.sample(memory, 8), strict=True))
        with torch.no_grad():
            aims = rewards + 0.95 * (1 - ends) * target(later).max(1).values
        loss = F.smooth_l1_loss(values(states).gather(1, actions[:, None])[:, 0], aims)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            target.load_state_dict(values.state_dict())


@pytest.mark.parametrize("loop", [policy_gradient, q_learning])
def test_an_agent_never_fails(loop):
    report = diagnose(loop, ["overfits_one_batch", "learns_from_data"], seed=0)
    assert not [verdict.check for verdict in report.verdicts if verdict.failed], str(report)


def test_a_loop_with_data_still_fails():
    def loop() -> None:
        inputs = torch.randn(32, 6)
        targets = inputs[:, :1].sin()
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-7)
        for _ in range(60):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            optimizer.step()

    (verdict,) = diagnose(loop, ["overfits_one_batch"], seed=0).verdicts
    assert verdict.failed
