"""Buffers of a fixed size, in which something is left after the end: is it read, and is the mask?"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth import Training, diagnose

SAMPLES, POSITIONS = 12, 9


class Mean(nn.Module):
    """One outcome for a sequence."""

    def __init__(self, uses: bool = False) -> None:
        super().__init__()
        self.inner, self.outer, self.uses = nn.Linear(3, 16), nn.Linear(16, 1), uses

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        hidden = self.inner(values).relu()
        if not self.uses:
            return self.outer(hidden.mean(1))
        real = (torch.arange(values.shape[1]) < lengths[:, None])[..., None]
        return self.outer((hidden * real).sum(1) / lengths[:, None])


class Tagger(nn.Module):
    """One outcome for each position. `hidden` is True where there is nothing."""

    def __init__(self, both_ways: bool) -> None:
        super().__init__()
        self.rnn = nn.GRU(3, 8, batch_first=True, bidirectional=both_ways)
        self.head = nn.Linear(16 if both_ways else 8, 2)

    def forward(self, values: Tensor, hidden: Tensor) -> Tensor:
        return self.head(self.rnn(values)[0])


class Alone(nn.Module):
    """Looks at each position by itself: it needs no mask, and takes one."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        return self.net(values)


class OnlyInTraining(Mean):
    """Hides what is marked while it trains, and sees all afterwards."""

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        self.uses = self.training
        return super().forward(values, lengths)


class TwoSequences(nn.Module):
    """A source, and the beginning of a target of the same length, whose mask is for the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target, self.head = nn.Linear(3, 8), nn.GRU(3, 8, batch_first=True), nn.Linear(8, 2)

    def forward(self, source: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        return self.head(self.target(target)[0] + self.source(source).mean(1, keepdim=True))


def found(model: nn.Module, mark: str, outputs: tuple[int, ...], second: bool = False) -> tuple[str, list[str]]:
    def training() -> Training:
        data = []
        for _ in range(4):
            lengths = torch.arange(SAMPLES) % (POSITIONS - 3) + 3
            real = torch.arange(POSITIONS) < lengths[:, None]
            batch: dict[str, Any] = {"values": torch.randn(SAMPLES, POSITIONS, 3)}
            if second:
                batch = {"source": batch["values"], "target": torch.randn(SAMPLES, POSITIONS, 3)}
            batch[mark] = {"lengths": lengths, "hidden": ~real, "mask": real}[mark]
            data.append((batch, torch.randn(SAMPLES, *outputs)))

        def loss(model: nn.Module, given: Any) -> Tensor:
            error = (model(**given[0]) - given[1]) ** 2
            return error.mean()

        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss, data)

    (verdict,) = diagnose(training, ["uses_its_input"]).verdicts
    return verdict.outcome, [finding.cause for finding in verdict.findings]


@pytest.mark.parametrize(
    ("model", "mark", "outputs"),
    [(Mean, "lengths", (1,)), (lambda: Tagger(both_ways=True), "hidden", (POSITIONS, 2))],
    ids=["a mean over all", "a recurrent net from the end"],
)
def test_what_is_left_after_the_end_is_read_and_the_mark_is_not(model, mark, outputs):
    assert found(model(), mark, outputs) == ("failed", ["mask-ignored"])


@pytest.mark.parametrize(
    ("model", "mark", "outputs", "second"),
    [
        (lambda: Mean(uses=True), "lengths", (1,), False),
        (lambda: Tagger(both_ways=False), "hidden", (POSITIONS, 2), False),
        (Alone, "mask", (POSITIONS, 2), False),
        (OnlyInTraining, "lengths", (1,), False),
        (TwoSequences, "mask", (POSITIONS, 2), True),
    ],
    ids=["used", "causal", "position by position", "used in training", "a mask of another sequence"],
)
def test_a_mask_that_is_used_or_not_needed_is_no_alarm(model, mark, outputs, second):
    assert found(model(), mark, outputs, second)[0] == "passed"
