"""Models that sort their samples: who puts the outputs back, or the targets?"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from pytest_trainhealth import Training, diagnose

SAMPLES, POSITIONS = 16, 7


class Packed(nn.Module):
    """Sorts by length, for packing. `back`: into the order in which the samples came."""

    def __init__(self, back: bool = False, itself: bool = False, gives_order: bool = False) -> None:
        super().__init__()
        self.rnn, self.head = nn.LSTM(2, 8, batch_first=True), nn.Linear(8, 3)
        self.back, self.itself, self.gives_order = back, itself, gives_order

    def forward(self, values: Tensor, lengths: Tensor) -> Any:
        if self.itself:
            packed = pack_padded_sequence(values, lengths, batch_first=True, enforce_sorted=False)
            return self.head(self.rnn(packed)[1][0][-1])
        order = torch.argsort(lengths, descending=True)
        packed = pack_padded_sequence(values[order], lengths[order], batch_first=True)
        outputs = self.head(self.rnn(packed)[1][0][-1])
        outputs = outputs[order.argsort()] if self.back else outputs
        return (outputs, order) if self.gives_order else outputs


class ByEnergy(nn.Module):
    """Hands the samples to two experts, the quiet ones first."""

    def __init__(self) -> None:
        super().__init__()
        self.quiet, self.loud = nn.Linear(POSITIONS * 2, 1), nn.Linear(POSITIONS * 2, 1)

    def forward(self, values: Tensor) -> Tensor:
        order = values.pow(2).sum((1, 2)).sort().indices
        half = len(order) // 2
        rows = values.flatten(1)
        return torch.cat([self.quiet(rows[order[:half]]), self.loud(rows[order[half:]])]).squeeze(1)


def classes(model: nn.Module, batch: Any) -> Tensor:
    return F.cross_entropy(model(batch[0], batch[1]), batch[2])


def numbers(model: nn.Module, batch: Any) -> Tensor:
    return F.mse_loss(model(batch[0]), batch[2].float())


def puts_outputs_back(model: nn.Module, batch: Any) -> Tensor:
    outputs, order = model(batch[0], batch[1])
    return F.cross_entropy(outputs[order.argsort()], batch[2])


def sorts_targets(model: nn.Module, batch: Any) -> Tensor:
    outputs, order = model(batch[0], batch[1])
    return F.cross_entropy(outputs, batch[2][order])


def found(model: nn.Module, loss: Any, comes_sorted: bool = False) -> tuple[str, list[str]]:
    def training() -> Training:
        data = []
        for _ in range(4):
            lengths = torch.randint(2, POSITIONS + 1, (SAMPLES,))
            lengths = lengths.sort(descending=True).values if comes_sorted else lengths
            real = torch.arange(POSITIONS) < lengths[:, None]
            values = torch.randn(SAMPLES, POSITIONS, 2) * real[..., None]
            data.append((values, lengths, values.sum((1, 2)).gt(0).long() + (lengths > 4)))
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss, data)

    (verdict,) = diagnose(training, ["uses_its_input"]).verdicts
    return verdict.outcome, [finding.cause for finding in verdict.findings]


@pytest.mark.parametrize(
    ("model", "loss"), [(Packed, classes), (ByEnergy, numbers)], ids=["sorted by length", "sorted by energy"]
)
def test_outputs_that_nobody_puts_back(model, loss):
    assert found(model(), loss) == ("failed", ["labels-not-aligned"])


@pytest.mark.parametrize(
    ("model", "loss", "comes_sorted"),
    [
        (lambda: Packed(back=True), classes, False),
        (lambda: Packed(itself=True), classes, False),
        (lambda: Packed(gives_order=True), puts_outputs_back, False),
        (lambda: Packed(gives_order=True), sorts_targets, False),
        (Packed, classes, True),
    ],
    ids=["put back", "torch puts it back", "the caller puts it back", "targets sorted alike", "it comes sorted"],
)
def test_an_order_that_somebody_takes_care_of_is_no_alarm(model, loss, comes_sorted):
    assert found(model(), loss, comes_sorted)[0] != "failed"
