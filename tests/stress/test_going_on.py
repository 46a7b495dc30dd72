"""A training that closes in on the end of an operation's domain gets more steps, and only what broke is reported."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Verdict


class Classifier(nn.Module):
    """A binary cross-entropy by hand: after some hundred steps a probability is exactly 1, and log(1 - p) infinite."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 1))
        self.epsilon = epsilon

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        p = torch.sigmoid(self.layers(batch[0]))[:, 0]
        sure, not_sure = torch.log(p + self.epsilon), torch.log(1 - p + self.epsilon)
        return -(batch[1] * sure + (1 - batch[1]) * not_sure).mean()


def classifier(epsilon: float = 0.0) -> Training:
    model = Classifier(epsilon)
    inputs = torch.randn(128, 6)
    labels = (inputs[:, 0] > 0).float()
    batches = list(zip(inputs.split(32), labels.split(32), strict=True))
    return Training(
        model,
        torch.optim.Adam(model.parameters(), 1e-2),
        lambda m, b: m.loss(b),
        batches,  # type: ignore[operator]
    )


def judged(make: object, **values: object) -> Verdict:
    return examine(make, Request("trains_without_nan", "closing in", 0, {"sweep": False, **values}))  # type: ignore[arg-type]


def test_a_logarithm_that_breaks_after_the_check_has_ended() -> None:
    verdict = judged(classifier)
    assert verdict.failed
    assert verdict.symptom is not None
    assert " of 400 (" in verdict.symptom.summary
    assert "until then)" in verdict.symptom.summary
    assert verdict.steps > 50
    assert (verdict.findings[0].cause, verdict.findings[0].certainty) == ("unstable-operation", "likely")
    assert "log in Classifier makes inf" in verdict.findings[0].statement
    assert "comes closer to the end of its domain" in verdict.notes[0]


def test_one_that_is_kept_off_its_end_passes() -> None:
    verdict = judged(lambda: classifier(epsilon=1e-6))
    assert verdict.passed
    assert "stays finite" not in str(verdict.symptom)
    assert verdict.steps == 50
    assert any("finite for" in note for note in verdict.notes)


def test_nothing_is_said_and_no_step_is_added_far_from_danger() -> None:
    def plain() -> Training:
        model = nn.Linear(6, 1)
        data = (torch.randn(16, 6), torch.randn(16, 1))
        return Training(model, torch.optim.SGD(model.parameters(), 1e-2), criterion=nn.MSELoss(), data=data)

    verdict = judged(plain)
    assert (verdict.passed, verdict.notes, verdict.steps) == (True, (), 50)


def fitted_angles() -> Training:
    """The cosine of a fitted direction rounds to 1, where the slope of acos is infinite."""
    model = nn.Sequential(nn.Linear(12, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3))
    directions = F.normalize(torch.randn(160, 3), dim=1)
    readings = directions @ torch.randn(3, 12)

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        cosine = (F.normalize(model(batch[0]), dim=1) * batch[1]).sum(1)
        return torch.acos(cosine.clamp(-1, 1)).mean()

    batches = list(zip(readings.split(80), directions.split(80), strict=True))
    return Training(model, torch.optim.Adam(model.parameters(), 1e-3), loss=loss, data=batches)


@pytest.mark.parametrize("seed", [0, 1])
def test_an_angle_between_fitted_directions(seed: int) -> None:
    report = diagnose(fitted_angles, checks=["trains_without_nan"], seed=seed)
    assert [finding.cause for finding in report.findings] == ["unstable-operation"]
    assert "acos" in report.findings[0].statement
    assert report.findings[0].location is not None
    assert "torch.acos" in report.findings[0].location.code
