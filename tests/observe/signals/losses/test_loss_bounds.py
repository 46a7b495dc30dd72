"""Floor and chance of loss functions, against what torch itself computes for the best answers."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from pytest_trainhealth.observe.calls.loss_bounds import bounds, bounds_of_choices


def test_classes_have_a_floor_of_zero_and_the_entropy_of_their_shares_as_chance() -> None:
    target = torch.tensor([0, 0, 0, 1])
    found = bounds("cross_entropy", torch.zeros(4, 3), target, {})
    shares = torch.tensor([0.75, 0.25])
    assert found.floor == pytest.approx(0.0)
    assert found.chance == pytest.approx(float(-(shares * shares.log()).sum()))


def test_ignored_labels_do_not_count() -> None:
    found = bounds("cross_entropy", torch.zeros(4, 2), torch.tensor([0, 1, -100, -100]), {})
    assert found.chance == pytest.approx(math.log(2))


def test_smoothed_labels_have_a_floor_that_torch_agrees_with() -> None:
    target = torch.tensor([0, 1, 2, 1])
    smooth = 0.2 / 3 + 0.8 * F.one_hot(target, 3).float()
    at_best = float(F.cross_entropy(smooth.log(), target, label_smoothing=0.2))
    found = bounds("cross_entropy", torch.zeros(4, 3), target, {"label_smoothing": 0.2})
    assert found.floor == pytest.approx(at_best, abs=1e-5)


def test_soft_targets_have_their_own_entropy_as_floor() -> None:
    target = torch.softmax(torch.randn(6, 4), 1)
    at_best = float(F.cross_entropy(target.log(), target))
    assert bounds("cross_entropy", torch.zeros(6, 4), target, {}).floor == pytest.approx(at_best, abs=1e-5)


@pytest.mark.parametrize("positive", [None, torch.tensor(3.0)])
def test_yes_or_no_with_and_without_a_weight_of_the_positives(positive: torch.Tensor | None) -> None:
    target = torch.tensor([[1.0], [0.0], [0.0], [0.0]])
    answers = torch.linspace(-6, 6, 4001)
    best = min(
        float(F.binary_cross_entropy_with_logits(a.expand_as(target), target, pos_weight=positive)) for a in answers
    )
    found = bounds("binary_cross_entropy_with_logits", torch.zeros(4, 1), target, {"pos_weight": positive})
    assert found.floor == pytest.approx(0.0)
    assert found.chance == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize(("name", "loss"), [("mse_loss", F.mse_loss), ("l1_loss", F.l1_loss)])
def test_distances_are_those_of_the_best_constant(name: str, loss: object) -> None:
    target = torch.tensor([[0.0, 5.0], [1.0, 5.0], [5.0, 5.0]])
    best = min(
        float(loss(torch.tensor([[a, 5.0]]).expand_as(target), target))  # type: ignore[operator]
        for a in torch.linspace(-1, 6, 701).tolist()
    )
    assert bounds(name, torch.zeros(3, 2), target, {}).chance == pytest.approx(best, abs=1e-4)


def test_what_broadcasts_has_no_best_answer() -> None:
    assert bounds("mse_loss", torch.zeros(4, 1), torch.zeros(1, 4, 2), {}).chance is None


def test_weights_of_samples_leave_the_bounds_unknown() -> None:
    target = torch.rand(4, 1)
    assert bounds("binary_cross_entropy", torch.zeros(4, 1), target, {"weight": torch.ones(4, 1)}) == (None, None)


def test_choices_by_hand() -> None:
    assert bounds_of_choices(torch.tensor([[0], [1]]), 5).chance == pytest.approx(math.log(2))
