"""What looks like data, and what like the noise of a smoke test."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from pytest_trainhealth.observe.signals.data.white_noise import hangs_together, lopsided

SEEDED = torch.Generator().manual_seed(0)
NOISE = {
    "normal": torch.randn(256, 8, generator=SEEDED),
    "uniform": torch.rand(256, 8, generator=SEEDED),
    "whole numbers": torch.randint(0, 10, (256, 8), generator=SEEDED).float(),
    "one-hot": torch.eye(8)[torch.randint(0, 8, (256,), generator=SEEDED)],
    "rare flags": (torch.rand(256, 8, generator=SEEDED) < 0.1).float(),
    "few rows, many columns": torch.randn(48, 256, generator=SEEDED),
    "constant": torch.ones(64, 4),
}


@pytest.mark.parametrize("inputs", NOISE.values(), ids=NOISE)
def test_noise_has_no_tail(inputs: Tensor) -> None:
    assert not lopsided(inputs.double())


@pytest.mark.parametrize("column", ["exponential", "counts", "log-normal"])
def test_a_tail_among_noise(column: str) -> None:
    inputs = torch.randn(256, 6, generator=torch.Generator().manual_seed(1)).double()
    drawn = {
        "exponential": -torch.rand(256, generator=SEEDED).clamp(min=1e-9).log(),
        "counts": torch.poisson(torch.full((256,), 0.5), generator=SEEDED),
        "log-normal": torch.randn(256, generator=SEEDED).exp(),
    }
    inputs[:, 2] = drawn[column]
    assert lopsided(inputs)
    assert not hangs_together(inputs)  # its columns are independent all the same
