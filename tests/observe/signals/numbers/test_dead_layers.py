"""A rectifier of which nothing ever comes out, in a model that learns without it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.analysis.silent_faults import dead_function
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.numbers import ActivationRecord
from pytest_trainhealth.records.trace import Trace


class BothSides(nn.Module):
    def __init__(self, act: Callable[[Tensor], Tensor], penalty: bool = False) -> None:
        super().__init__()
        self.first, self.act, self.out = nn.Linear(8, 16), act, nn.Linear(32, 3)
        self.penalty = penalty

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        both = self.out(torch.cat([self.act(x), self.act(-x)], dim=1))
        return both + F.relu(both - 1000) if self.penalty else both


def learning(make: Callable[[], nn.Module]) -> list[tuple[str, str]]:
    def training() -> Training:
        model, x = make(), torch.randn(128, 8)
        data = list(zip(x.split(16), x[:, :3].argmax(1).split(16), strict=True))
        return Training(
            model, torch.optim.Adam(model.parameters(), 1e-2), lambda m, b: F.cross_entropy(m(b[0]), b[1]), data
        )

    verdict = examine(training, Request("learns_from_data", "rectified", 0, {}))
    assert verdict.failed is bool(verdict.findings)
    return [(finding.cause, finding.certainty) for finding in verdict.findings]


def test_what_was_overwritten_has_nothing_below_zero() -> None:
    assert learning(lambda: BothSides(nn.ReLU(inplace=True))) == [("dead-activations", "confirmed")]


@pytest.mark.parametrize(
    "make",
    [lambda: BothSides(nn.ReLU()), lambda: BothSides(nn.ReLU(), penalty=True)],
    ids=["not overwritten", "a penalty that has nothing to object to"],
)
def test_rectifiers_that_do_their_work(make: Callable[[], nn.Module]) -> None:
    assert learning(make) == []


@pytest.mark.parametrize(
    ("facts", "dead"),
    [
        ({}, True),
        ({"units": 2}, False),
        ({"is_module": False}, False),
        ({"dead": {0: 1.0, 1: 1.0, 2: 1.0, 4: 0.9}}, False),
        ({"dead": {0: 1.0, 1: 1.0}}, False),
    ],
    ids=["for ever", "a gate", "a call", "alive later", "too few looks"],
)
def test_what_is_said_of_a_function_that_is_0(facts: dict[str, object], dead: bool) -> None:
    trace = Trace.of([1.0] * 8)
    known: dict[str, object] = {"units": 12, "is_module": True, "dead": dict.fromkeys((0, 1, 2, 4), 1.0)}
    trace.numbers.activations["act:relu:2"] = ActivationRecord("relu", "act", **{**known, **facts})  # type: ignore[arg-type]
    assert (dead_function(trace) is not None) is dead
