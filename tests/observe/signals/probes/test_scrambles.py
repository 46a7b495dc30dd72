"""Reshapes that only rename dimensions, where a transpose was meant."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.signals.probes.scrambles import moved

from .trainings import Sequences, probe, series, train

TORN = [
    ((16, 8, 5), (16, 5, 8)),  # scores for cross_entropy
    ((16, 10, 6), (10, 16, 6)),  # time first
    ((16, 10, 32), (16, 4, 10, 8)),  # heads split off
    ((16, 10, 16), (16, 4, 10, 4)),  # as wide as there are samples
    ((16, 4, 10, 8), (16, 10, 32)),  # and joined again
    ((16, 32, 32, 3), (16, 3, 32, 32)),  # channels last
    ((16, 24, 7, 7), (16, 49, 24)),  # patches
]
WHOLE = [
    ((16, 10, 32), (16, 10, 4, 8)),
    ((16, 10, 4, 8), (16, 10, 32)),
    ((16, 10, 32), (160, 32)),
    ((160, 32), (16, 10, 32)),
    ((16, 24, 7, 7), (16, 24, 49)),
    ((16, 24, 7, 7), (16, 1176)),
    ((16, 8, 8), (16, 8, 8)),
    ((16, 12, 5), (16, 3, 4, 5)),
    ((16, 6, 4, 9, 9), (16, 24, 9, 9)),  # channels shuffled
    ((2, 16, 20), (1, 2, 16, 20)),  # layers and directions
    ((16, 8, 8, 12), (16, 2, 4, 2, 4, 12)),  # windows
    ((32, 20, 10), (640, 10)),
]


@pytest.mark.parametrize(("given", "result"), TORN)
def test_a_dimension_with_another_place_is_torn(given, result):
    assert moved(given, result)


@pytest.mark.parametrize(("given", "result"), WHOLE)
def test_splitting_and_joining_in_place_is_whole(given, result):
    assert not moved(given, result)


def test_in_the_model_and_before_the_loss():
    def forward(self: Sequences, x: Tensor) -> Tensor:
        steps = x.view(len(x), 6, 10).transpose(1, 2)
        return self.leave(self.rnn(steps)[1][-1])

    (found,) = probe(train(Sequences(forward, batch_first=True), series())).scrambles
    assert (found.given, found.result, found.in_loss) == ((16, 10, 6), (16, 6, 10), False)
    assert found.place is not None
    assert found.place.code.startswith("steps = x.view")


def test_scores_that_are_viewed_instead_of_moved():
    def training(torn: bool) -> Training:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 5))
        data = (series(), torch.randint(0, 5, (16, 10)))

        def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
            scores = model(batch[0])
            scores = scores.view(16, 5, 10) if torn else scores.permute(0, 2, 1)
            return F.cross_entropy(scores, batch[1])

        return Training(model, torch.optim.SGD(model.parameters(), 0.01), loss=loss, data=data)

    (finding,) = diagnose(lambda: training(torn=True), "uses_its_input").findings
    assert finding.cause == "target-shape-mismatch"
    assert finding.fix is not None
    assert finding.fix.code == ("x.permute(0, 2, 1)",)
    assert diagnose(lambda: training(torn=False), "uses_its_input").healthy
