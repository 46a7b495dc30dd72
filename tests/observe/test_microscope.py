"""The first operation to blame, in the forward and the backward pass, with the user's own line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Finding, Verdict


class Net(nn.Module):
    """`unstable` is applied to the hidden layer of a small regression."""

    def __init__(self, unstable: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.unstable = unstable

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.unstable(self.inner(x))


def verdict(unstable: Callable[[torch.Tensor], torch.Tensor], data: Any = None) -> Verdict:
    def factory() -> Training:
        model = Net(unstable)
        batch = torch.randn(8, 4) if data is None else data
        return Training(model, torch.optim.SGD(model.parameters(), 1e-3), lambda m, b: (m(b) ** 2).mean(), batch)

    return examine(factory, Request("trains_without_nan", "unstable", 0, {"steps": 5}))


def first(verdict: Verdict) -> Finding:
    assert verdict.failed
    assert verdict.findings, verdict
    return verdict.findings[0]


def log_of_relu(h: torch.Tensor) -> torch.Tensor:
    return torch.log(torch.relu(h))


def root_of_zero(h: torch.Tensor) -> torch.Tensor:
    apart = (h - h.detach()).pow(2).sum(-1)
    return torch.sqrt(apart)  # finite forward; its slope at 0 is not


def by_its_spread(h: torch.Tensor) -> torch.Tensor:
    centred = h - h.mean()
    return centred * 0 / (centred * 0).std()


def overflowing(h: torch.Tensor) -> torch.Tensor:
    return torch.exp(h * 1000)


def fully_masked(h: torch.Tensor) -> torch.Tensor:
    mask = torch.ones_like(h, dtype=torch.bool)
    return h.masked_fill(mask, -torch.inf).softmax(-1)


@pytest.mark.parametrize(
    ("unstable", "operation", "phase"),
    [
        (log_of_relu, "log", "forward"),
        (root_of_zero, "sqrt", "backward"),
        (by_its_spread, "div", "forward"),
        (overflowing, "exp", "forward"),
        (fully_masked, "softmax", "forward"),
    ],
)
def test_operation_and_line(unstable: Any, operation: str, phase: str) -> None:
    finding = first(verdict(unstable))
    assert finding.cause == "unstable-operation"
    assert operation in finding.statement
    assert f"in the {phase} pass" in finding.why
    assert finding.location is not None
    assert finding.location.file.endswith("test_microscope.py")
    inside = range(unstable.__code__.co_firstlineno, unstable.__code__.co_firstlineno + 5)
    assert finding.location.line in inside


def test_a_mask_of_minus_infinity_is_meant() -> None:
    def attention(h: torch.Tensor) -> torch.Tensor:
        mask = torch.zeros_like(h, dtype=torch.bool)
        mask[:, 0] = True
        return h.masked_fill(mask, -torch.inf).softmax(-1) @ torch.ones(4, 4)

    assert verdict(attention).passed


def test_nan_in_the_data_is_told_apart_from_an_operation() -> None:
    batch = torch.randn(8, 4)
    batch[3, 1] = torch.nan
    finding = first(verdict(torch.tanh, batch))
    assert (finding.cause, finding.certainty) == ("nan-in-data", "confirmed")
    assert "1 of 32 values are NaN or Inf, first in sample 3" in finding.evidence[0].text


def test_nan_that_is_masked_by_the_model_is_no_alarm() -> None:
    batch = torch.randn(8, 4)
    batch[3, 1] = torch.nan

    def factory() -> Training:
        model = nn.Linear(4, 4)
        return Training(
            model, torch.optim.SGD(model.parameters(), 1e-3), lambda m, b: m(b.nan_to_num()).pow(2).mean(), batch
        )

    assert examine(factory, Request("trains_without_nan", "masked", 0, {})).passed


def test_memory_that_nobody_has_written_to_is_not_blamed() -> None:
    """Dropout asks for memory and fills it with its mask; until then it may hold anything, NaN as well."""

    def unwritten(h: torch.Tensor) -> torch.Tensor:
        torch.use_deterministic_algorithms(True)  # then such memory is filled with NaN
        try:
            mask = torch.empty_like(h).zero_()
        finally:
            torch.use_deterministic_algorithms(False)
        return torch.log(torch.relu(h)) + mask

    assert first(verdict(unwritten)).statement.startswith("log")


def told(model: nn.Module, loss: Callable[[nn.Module, torch.Tensor], torch.Tensor]) -> Finding:
    def factory() -> Training:
        return Training(model, torch.optim.SGD(model.parameters(), 1e-3), loss, torch.randn(8, 4))

    return first(examine(factory, Request("trains_without_nan", "unstable", 0, {"steps": 5})))


def in_the_forward_pass(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    return torch.log(model(batch).relu()).mean()


def in_the_backward_pass(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    return (model(batch).relu() * 0).sqrt().mean()


@pytest.mark.parametrize("loss", [in_the_forward_pass, in_the_backward_pass])
@pytest.mark.parametrize("model", [nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))], ids=repr)
def test_an_operation_after_the_model_on_the_line_that_calls_it(loss: Any, model: nn.Module) -> None:
    finding = told(model, loss)
    assert finding.location is not None
    operation = "log" if loss is in_the_forward_pass else "sqrt (backward)"
    where = f"in your loss (test_microscope.py:{finding.location.line})"
    assert finding.statement.startswith(f"{operation} {where} makes ")


class Angles(nn.Module):
    """Its root is taken in a module of its own, or in a method that nobody calls as a module."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.root = nn.Linear(4, 4), Root()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.root(self.inner(x))
        return result

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return (self.inner(x) * 0).sqrt()


class Root(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 0).sqrt()


def test_the_innermost_module_that_runs() -> None:
    assert told(Angles(), lambda m, b: m(b).mean()).statement.startswith("sqrt (backward) in root makes")


def test_a_method_that_is_not_called_as_a_module() -> None:
    assert told(Angles(), lambda m, b: m.encode(b).mean()).statement.startswith("sqrt (backward) in Angles makes")
