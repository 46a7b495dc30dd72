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
        squeezed(2, 4),
        pixels(3, of_neighbours=True),
        pixels(1, of_neighbours=False),
    ],
)
def test_what_is_meant_is_no_alarm(make: Any) -> None:
    assert not overfit(make).findings


def test_even_an_autoencoder_does_not_squeeze_everything_into_one_number() -> None:
    (finding, *_) = overfit(squeezed(1, 8)).findings
    assert (finding.cause, finding.certainty) == ("insufficient-capacity", "confirmed")


@pytest.mark.parametrize(("hidden", "healthy"), [(2, False), (32, True)])
def test_a_recurrent_layer_of_two_units_remembers_too_little(hidden: int, healthy: bool) -> None:
    class Speller(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.letters = nn.Embedding(20, 16)
            self.rnn = nn.GRU(16, hidden, batch_first=True)
            self.head = nn.Linear(hidden, 20)

        def forward(self, letters: torch.Tensor) -> torch.Tensor:
            return self.head(self.rnn(self.letters(letters))[0])

    def make() -> Training:
        model = Speller()
        words = torch.cat([torch.arange(8)[:, None], torch.randint(0, 20, (8, 12))], 1)  # each begins in its own way
        return Training(
            model,
            torch.optim.Adam(model.parameters(), 1e-2),
            loss=lambda model, words: F.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten()),
            data=words,
        )

    report = overfit(make)
    assert report.healthy is healthy
    if not healthy:
        assert report.findings[0].cause == "insufficient-capacity"
