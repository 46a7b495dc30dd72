"""Features that are known again by their mean and spread."""

from __future__ import annotations

import torch

from pytest_trainhealth.observe.signals.state.feature_order import order_of

MEAN, STD = torch.tensor([0.0, 2.0, -1.0, 0.5]), torch.tensor([1.0, 0.5, 2.0, 0.2])


def reordered(*places: int) -> tuple[torch.Tensor, torch.Tensor]:
    return MEAN[list(places)] + 0.05, STD[list(places)] * 1.05


def test_what_has_changed_places_is_found_where_it_is() -> None:
    assert order_of((MEAN, STD), reordered(1, 0, 2, 3)) == (1, 0, 2, 3)
    assert order_of((MEAN, STD), reordered(3, 0, 1, 2)) == (1, 2, 3, 0)


def test_the_same_order_is_no_other_one() -> None:
    assert order_of((MEAN, STD), reordered(0, 1, 2, 3)) == ()


def test_features_that_lie_elsewhere_have_not_changed_places() -> None:
    assert order_of((MEAN, STD), (MEAN + 1.5, STD)) == ()
    assert order_of((MEAN, STD), (MEAN.flip(0) + 0.8, STD)) == ()


def test_standardised_features_cannot_be_told_apart() -> None:
    same = torch.zeros(4), torch.ones(4)
    assert order_of(same, (torch.tensor([0.1, 0.0, -0.1, 0.05]), torch.ones(4))) == ()


def test_one_feature_and_another_number_of_them_have_no_order() -> None:
    assert order_of((MEAN[:1], STD[:1]), (MEAN[:1] + 3, STD[:1])) == ()
    assert order_of((MEAN, STD), (MEAN[:3], STD[:3])) == ()
