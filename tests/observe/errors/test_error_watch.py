"""What is seen of an error leaves nothing behind, and never takes its place."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.engine import errors
from pytest_trainhealth.observe.errors import error_watch
from pytest_trainhealth.observe.errors.crash import first_of_chain, user_lines

X, Y = torch.randn(8, 4), torch.arange(8) % 3


def make(loss: Any = None, width: int = 5) -> Training:
    model = nn.Linear(width, 3)
    loss = loss or (lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]))
    return Training(model, torch.optim.SGD(model.parameters(), 0.1), loss, (X, Y))


def test_nothing_is_left_on() -> None:
    before = list(warnings.filters)
    assert not diagnose(make, checks=["gradients_flow"]).healthy
    assert list(warnings.filters) == before
    assert not torch.is_anomaly_enabled()
    assert not torch._C._len_torch_function_stack()


def test_autograd_does_not_warn_of_what_is_explained() -> None:
    def loss(model: nn.Module, batch: Any) -> Tensor:
        hidden = torch.exp(model(batch[0]))
        total = hidden.square().mean()
        hidden += 1
        return total

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        report = diagnose(lambda: make(loss, 4), checks=["gradients_flow"])
    assert report.findings[0].cause == "in-place-modification"
    assert not [each for each in seen if "Error detected in" in str(each.message)]


@pytest.mark.parametrize("part", ["failed_call", "what_is_not_finite"])
def test_a_fault_in_looking_does_not_hide_the_error(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def loss(model: nn.Module, batch: Any) -> Any:
        return model(batch[0]).mean() + (batch[0] - torch.zeros(8, 5)).sum()

    def fails(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(error_watch, part, fails)
    with pytest.raises(RuntimeError, match="must match the size"):
        diagnose(lambda: make(loss, 4), checks=["gradients_flow"])


def test_a_fault_in_explaining_is_a_note_on_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(errors, "crashed", fails)
    with pytest.raises(RuntimeError, match="cannot be multiplied") as raised:
        diagnose(make, checks=["gradients_flow"])
    assert "it could not be explained: ZeroDivisionError: ours" in raised.value.__notes__


def test_a_call_that_was_caught_is_not_the_one_that_raised() -> None:
    def loss(model: nn.Module, batch: Any) -> Tensor:
        try:
            model(batch[0][:, :2])
        except RuntimeError:
            return F.nll_loss(model(batch[0]), batch[1] + 9)
        raise AssertionError

    (verdict,) = diagnose(lambda: make(loss, 4), checks=["gradients_flow"]).verdicts
    assert verdict.findings[0].cause == "invalid-labels"


def test_an_error_that_cannot_say_anything() -> None:
    class Mute(RuntimeError):
        def __str__(self) -> str:
            raise KeyError

    def loss(model: nn.Module, batch: Any) -> Tensor:
        raise Mute

    with pytest.raises(Mute):
        diagnose(lambda: make(loss, 4), checks=["gradients_flow"])


def test_a_chain_is_followed_where_it_was_written_down() -> None:
    def raises(written_down: bool) -> None:
        try:
            {}["first"]
        except KeyError as error:
            if written_down:
                raise LookupError("second") from error
            raise LookupError("another matter")  # noqa: B904 - this is what is tested

    with pytest.raises(LookupError) as chained:
        raises(True)
    assert isinstance(first_of_chain(chained.value), KeyError)
    assert [place.code for place in user_lines(chained.value)][-2:] == [
        'raise LookupError("second") from error',
        '{}["first"]',
    ]
    with pytest.raises(LookupError) as alone:
        raises(False)
    assert first_of_chain(alone.value) is alone.value
