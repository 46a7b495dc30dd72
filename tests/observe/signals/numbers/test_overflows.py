"""Operations of 16 bits that overflow: some of their values, or all of them, which hides what went in."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose


class Normed(nn.Module):
    """Divides by the size of all of a sample's features, summed up in a precision of its own."""

    def __init__(self, dtype: torch.dtype, scale: float, reads: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.inner, self.head = nn.Linear(8, 256), nn.Linear(256, 3)
        self.dtype, self.scale, self.reads = dtype, scale, reads

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.scale * self.inner(self.reads(x))
        size = hidden.to(self.dtype).square().sum(1, keepdim=True).float() / hidden.shape[1]
        return self.head(hidden * torch.rsqrt(size + 1e-6))


def training(
    dtype: torch.dtype = torch.float16, scale: float = 60.0, reads: Callable[[Tensor], Tensor] = lambda x: x
) -> Training:
    centres = 2 * torch.randn(3, 8)
    labels = [torch.randint(3, (24,)) for _ in range(8)]
    data = [(centres[each] + 0.3 * torch.randn(24, 8), each) for each in labels]
    model = Normed(dtype, scale, reads)
    return Training(model, torch.optim.Adam(model.parameters(), 5e-3), data=data, criterion=F.cross_entropy)


@pytest.mark.parametrize("check", ["overfits_one_batch", "gradients_flow", "uses_its_input"])
def test_what_overflows_for_every_sample_hides_the_input(check: str) -> None:
    (verdict,) = diagnose(training, check).verdicts
    finding = verdict.findings[0]
    assert (finding.cause, finding.certainty) == ("low-precision-overflow", "confirmed")
    assert "leaves no other value" in finding.evidence[0].text


def test_sizes_that_fit_into_the_precision() -> None:
    for dtype, scale in ((torch.float32, 60.0), (torch.bfloat16, 60.0), (torch.float16, 0.5)):
        verdicts = diagnose(lambda d=dtype, s=scale: training(d, s), ["gradients_flow", "uses_its_input"]).verdicts
        assert all(verdict.passed for verdict in verdicts), dtype


def test_what_is_not_read_in_float32_either_is_still_told_so() -> None:
    """Nothing overflows here, and nothing is read."""
    (verdict,) = diagnose(lambda: training(scale=0.5, reads=torch.zeros_like), "uses_its_input").verdicts
    assert verdict.findings[0].cause == "ignores-input"
