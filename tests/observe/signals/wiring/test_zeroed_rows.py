"""Rows of an embedding whose gradients are set to 0: weight decay moves them, and nothing else is said of such rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine

Zero = Callable[[Tensor, int], object]


def found(zero: Zero, weight_decay: float = 0.1) -> list[tuple[str, str]]:
    def make() -> Training:
        model = nn.Sequential(nn.Embedding(20, 8, padding_idx=0), nn.Flatten(), nn.Linear(48, 3))
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2, weight_decay=weight_decay)
        taken = [0]

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            loss = F.cross_entropy(model(batch[0]), batch[1])
            optimizer.zero_grad()
            loss.backward()
            zero(model[0].weight.grad, taken[0])
            optimizer.step()
            taken[0] += 1
            return loss

        ids = torch.randint(0, 20, (64, 6))
        return Training(
            model, optimizer, step=step, data=list(zip(ids.split(16), (ids[:, 0] % 3).split(16), strict=True))
        )

    verdict = examine(make, Request("gradients_flow", "loop", 0, {}))
    assert verdict.failed is bool(verdict.findings)
    return [(finding.cause, finding.certainty) for finding in verdict.findings]


def old_words(gradient: Tensor, step: int) -> None:
    gradient[:12] = 0


def test_rows_that_are_kept_by_their_gradients_decay() -> None:
    assert found(old_words) == [("frozen-parameters-change", "confirmed")]


def other_rows(gradient: Tensor, step: int) -> None:
    gradient[torch.rand(len(gradient)) < 0.5] = 0


def at_first(gradient: Tensor, step: int) -> None:
    gradient[:12] *= float(step > 9)


@pytest.mark.parametrize("zero", [other_rows, at_first, lambda gradient, step: None])
def test_rows_that_learn_now_or_later(zero: Zero) -> None:
    assert found(zero) == []


def test_without_weight_decay_they_stay() -> None:
    assert found(old_words, weight_decay=0.0) == []
