"""insufficient-capacity where a way past the narrow place shows it, and where that proves nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Report, Training, diagnose


def overfit(make: Any) -> Report:
    return diagnose(make, ["overfits_one_batch"])


def squeezed(units: int, outputs: int, inputs: int = 8) -> Any:
    def make() -> Training:
        x = torch.randn(32, inputs)
        y = x if inputs == outputs else torch.tanh(x @ torch.randn(inputs, outputs))
        model = nn.Sequential(nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, units), nn.Linear(units, outputs))
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), criterion=nn.MSELoss(), data=(x, y))

    return make


def pixels(kernel: int, *, of_neighbours: bool) -> Any:
    def make() -> Training:
        images = (torch.rand(8, 1, 12, 12) < 0.5).float()
        masks = (F.pad(images[..., 1:], (0, 1)) if of_neighbours else images).clone()
        model = nn.Sequential(
            nn.Conv2d(1, 16, kernel, padding=kernel // 2), nn.ReLU(), nn.Conv2d(16, 1, kernel, padding=kernel // 2)
        )
        criterion = nn.BCEWithLogitsLoss()
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), criterion=criterion, data=(images, masks))

    return make


def test_one_unit_before_several_outputs() -> None:
    (finding,) = overfit(squeezed(1, 4)).findings
    assert (finding.cause, finding.certainty) == ("insufficient-capacity", "confirmed")
    assert finding.reruns[0].cure == "a bypass around 2"


def test_kernels_of_one_pixel() -> None:
    (finding,) = overfit(pixels(1, of_neighbours=True)).findings
    assert (finding.cause, finding.certainty) == ("insufficient-capacity", "confirmed")
    assert "1 x 1" in finding.statement


@pytest.mark.parametrize(
    "make",
    [
        squeezed(16, 4),
        squeezed(1, 8),  # an autoencoder
        squeezed(2, 4),
        pixels(3, of_neighbours=True),
        pixels(1, of_neighbours=False),
    ],
)
def test_what_is_meant_is_no_alarm(make: Any) -> None:
    assert overfit(make).healthy
