"""Adversaries that are judged one by one: from made-up curves, and on games that can and cannot be won alone."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis.players import judged_alone, wins_alone
from pytest_trainhealth.records.judgement import CouldNotJudge, NeedsControl, Passed
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.wiring import OptimizerRecord


def curve(losses: list[float]) -> Trace:
    trace = Trace.of([1.0] * len(losses))
    trace.applied.player_losses = losses
    return trace


def noisy(level: float, spread: float, seed: int = 0, turns: int = 200) -> list[float]:
    draw = random.Random(seed)
    return [level + draw.gauss(0, spread) for _ in range(turns)]


FALLING = [1.0 - 0.002 * turn for turn in range(100)]


def game(*names: str, steps: int = 10) -> Trace:
    trace = Trace.of([1.0] * 40)
    trace.wiring.optimizers = {name: OptimizerRecord(name, "Adam", steps=steps) for name in names}
    return trace


def test_a_loss_that_falls_is_a_game_that_is_won() -> None:
    assert wins_alone(curve(FALLING))
    assert wins_alone(curve([loss - 5 for loss in FALLING])), "critics may have negative losses"


@pytest.mark.parametrize("losses", [FALLING[:20], [1.0] * 100, FALLING[::-1], [*FALLING, float("nan")]])
def test_what_shows_nothing(losses: list[float]) -> None:
    assert not wins_alone(curve(losses))


def test_a_slow_fall_in_noise_is_seen() -> None:
    slow = [loss - 0.001 * turn for turn, loss in enumerate(noisy(1.0, 0.05, turns=160))]
    assert wins_alone(curve(slow))


def test_noise_is_hardly_ever_taken_for_a_fall_however_often_one_looks() -> None:
    passed = 0
    for seed in range(2000):
        losses = noisy(1.0, 0.1, seed)
        passed += any(wins_alone(curve(losses[:turns])) for turns in range(32, 201, 8))
    assert passed <= 20


def test_every_player_gets_a_run_and_all_have_to_win() -> None:
    trace, won = game("first", "second"), curve(FALLING)
    asked = judged_alone(trace, {}, {})
    assert isinstance(asked, NeedsControl)
    assert asked.control.options == {"player": "first"}
    first = asked.control.label
    asked = judged_alone(trace, {first: won}, {})
    assert isinstance(asked, NeedsControl)
    assert asked.control.options == {"player": "second"}
    assert not asked.once, "with a cure the players may do better than without"
    second = asked.control.label
    assert isinstance(judged_alone(trace, {first: won, second: won}, {}), Passed)
    assert isinstance(judged_alone(trace, {first: won, second: curve([1.0] * 100)}, {}), CouldNotJudge)
    assert isinstance(judged_alone(trace, {first: curve([1.0] * 100)}, {}), CouldNotJudge), "no need for the other"


def test_reversed_gradients_and_many_optimizers_are_no_players() -> None:
    turned = game("first", "second")
    turned.wiring.reversed_gradients = ["layer"]
    assert isinstance(judged_alone(turned, {}, {}), CouldNotJudge)
    assert isinstance(judged_alone(game(*"abcde"), {}, {}), CouldNotJudge)


def gan(through: bool = True) -> Training:
    """`through=False`: the generator's turn does not reach it."""
    generator, critic = nn.Linear(4, 3), nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
    of_generator = torch.optim.Adam(generator.parameters(), 1e-3)
    of_critic = torch.optim.Adam(critic.parameters(), 1e-3)

    def step(real):
        fake = generator(torch.randn(len(real), 4))
        loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
        of_critic.zero_grad()
        loss.backward()
        of_critic.step()
        of_generator.zero_grad()
        F.softplus(-critic(fake if through else fake.detach() + 0 * fake)).mean().backward()
        of_generator.step()
        return loss

    models = {"generator": generator, "critic": critic}
    return Training(models, [of_generator, of_critic], step=step, data=[torch.randn(16, 3) for _ in range(4)])


@pytest.mark.parametrize("check", ["overfits_one_batch", "learns_from_data"])
def test_a_game_that_both_win_alone_passes(check: str) -> None:
    verdict = diagnose(gan, check).verdicts[0]
    assert verdict.passed, str(verdict)
    assert verdict.notes == ("each of the 2 players lowers its own loss while the others hold still",)


@pytest.mark.parametrize("check", ["overfits_one_batch", "learns_from_data"])
def test_a_player_that_never_learns_is_no_pass(check: str) -> None:
    assert not diagnose(lambda: gan(through=False), check).verdicts[0].passed
