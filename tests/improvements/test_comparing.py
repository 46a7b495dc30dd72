"""compare(before, after) on real runs, and the marker that asks for the same."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import pytest_trainhealth
from pytest_trainhealth import Improvement, Training, compare, diagnose
from pytest_trainhealth.settings import WrongSetting


def make(rate: float = 0.03, **settings):
    def factory() -> Training:
        draw = torch.Generator().manual_seed(0)
        xs = torch.randn(96, 6, generator=draw)
        ys = xs @ torch.randn(6, 1, generator=draw)
        model = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.1), nn.Tanh(), nn.Linear(16, 1))
        batches = [(xs[:16], ys[:16]), (xs[16:32], ys[16:32])]
        held = torch.optim.Adam(model.parameters(), rate)
        return Training(model, held, lambda m, b: F.mse_loss(m(b[0]), b[1]), batches, val_data=(xs[32:], ys[32:]))

    return factory


@pytest.fixture(scope="module")
def found() -> Improvement:
    return compare(make(0.001), make(0.03), steps=40, seeds=3)


def test_a_better_rate_is_better(found):
    assert found.better
    assert found.judged_by == "validation loss"
    assert found.low > 0.1
    assert found.points == tuple(range(0, 41, 2))
    assert len(found.before.curve) == len(found.after.curve) == 21


def test_the_function_is_not_hidden_by_a_room_of_the_package():
    """A room of that name would take its place as soon as somebody imports it."""
    from pytest_trainhealth.revisions import compare as room

    assert room is not pytest_trainhealth.compare
    assert pytest_trainhealth.compare is compare


def test_looking_changes_nothing(found):
    """Validating between the steps draws no random numbers, and leaves dropout on."""
    plain = compare(make(0.03), make(0.03), steps=40, seeds=1, measure=lambda training: 1.0)
    assert plain.after.train[0] == pytest.approx(found.after.train[0])


def test_trainings_as_they_are_and_a_measure_of_ones_own():
    training = make()()
    before = {name: p.clone() for name, p in training.model.named_parameters()}
    asked = []

    def measure(given: Training) -> float:
        asked.append(given.model[0].weight.sum().item())
        return 3.0

    same = compare(training, make()(), steps=2, seeds=2, measure=measure)
    assert same.judged_by == "measure"
    assert same.outcome == "no difference beyond noise"
    assert len(asked) == 12
    assert all(torch.equal(before[name], p) for name, p in training.model.named_parameters())


def test_wrong_numbers_are_refused():
    with pytest.raises(WrongSetting, match="at least 1 seed and 1 step"):
        compare(make(), make(), seeds=0)


def test_as_a_check():
    (verdict,) = diagnose(make(0.03), checks="improves_on", before=make(0.001), steps=20).verdicts
    assert verdict.passed, verdict
    assert verdict.notes[0].startswith("better: validation loss")
    (verdict,) = diagnose(make(0.001), checks="improves_on", before=make(0.03), steps=20).verdicts
    assert verdict.failed
    assert verdict.headline.startswith("improves_on: worse than before: validation loss")
    (verdict,) = diagnose(make(), checks="improves_on").verdicts
    assert verdict.outcome == "could not judge"
    assert "before= names the function" in verdict.reason


def test_all_checks_are_those_that_have_what_they_need():
    from pytest_trainhealth.engine.battery import keywords_of

    every = keywords_of("all", {}, "diagnose")
    assert "matches_baseline" not in every
    assert "improves_on" not in every
    assert "improves_on" in keywords_of("all", {"before": make()}, "diagnose")
    with pytest.raises(WrongSetting, match="not a Training, or a function that builds one"):
        keywords_of("improves_on", {"before": "package.module:factory"}, "diagnose")
