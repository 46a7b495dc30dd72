"""Clipping with an iterator of parameters, which yields them once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis.wiring import clipped_in_vain, clipped_with_nothing, of_unheld
from pytest_trainhealth.programs.watched_program import watch
from pytest_trainhealth.records.wiring import ClipCalls, UsedUpClip

#: torch says so for generators, and for nothing else.
pytestmark = pytest.mark.filterwarnings("ignore:.*empty generator")


class BeginsAnew(Iterator[Tensor]):
    """An iterator for which the language has another word: it starts again with each loop."""

    def __init__(self, model: nn.Module) -> None:
        self._model, self._left = model, iter(())

    def __iter__(self) -> Iterator[Tensor]:
        self._left = iter(list(self._model.parameters()))
        return self

    def __next__(self) -> Tensor:
        return next(self._left)


def seen(clipper: Callable[[nn.Module], Callable[[], object]]) -> UsedUpClip | None:
    model = nn.Linear(4, 1)
    optimizer, clip = torch.optim.SGD(model.parameters(), lr=1e-3), clipper(model)
    with watch(signals=("clipping", "used_up_clips")) as trace:
        for _ in range(6):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).square().mean().backward()
            clip()
            optimizer.step()
    return clipped_with_nothing(trace)


def kept_for_ever(model: nn.Module) -> Callable[[], object]:
    parameters = model.parameters()
    return lambda: clip_grad_norm_(parameters, max_norm=1.0)


def mapped(model: nn.Module) -> Callable[[], object]:
    parameters = map(lambda named: named[1], model.named_parameters())
    return lambda: clip_grad_norm_(parameters=parameters, max_norm=0.5)


@pytest.mark.parametrize("clipper", [kept_for_ever, mapped], ids=lambda clipper: clipper.__name__)
def test_an_iterator_that_is_used_up(clipper: Callable[[nn.Module], Callable[[], object]]) -> None:
    found = seen(clipper)
    assert found is not None
    assert "clip_grad_norm_" in found.place.code


@pytest.mark.parametrize(
    "clipper",
    [
        lambda model: lambda: clip_grad_norm_(model.parameters(), 1.0),  # a new one each time
        lambda model: lambda: clip_grad_norm_([], 1.0),  # a part that this model does not have
        lambda model: lambda: clip_grad_norm_((p for p in model.parameters() if p.dim() > 4), 1.0),
    ],
    ids=["new", "empty list", "empty each time"],
)
def test_no_iterator_is_used_twice(clipper: Callable[[nn.Module], Callable[[], object]]) -> None:
    assert seen(clipper) is None


def test_an_iterator_that_begins_anew() -> None:
    def clipper(model: nn.Module) -> Callable[[], object]:
        parameters = BeginsAnew(model)
        return lambda: clip_grad_norm_(parameters, 1.0)

    assert seen(clipper) is None


def test_measuring_the_norm_is_no_clipping() -> None:
    def clipper(model: nn.Module) -> Callable[[], object]:
        parameters = model.parameters()
        return lambda: clip_grad_norm_(parameters, float("inf"))

    assert seen(clipper) is None


def test_what_the_optimizer_has_taken() -> None:
    def training() -> Training:
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
        trainable = (p for p in model.parameters() if p.requires_grad)
        optimizer = torch.optim.Adam(trainable, 1e-2)

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            clip_grad_norm_(trainable, 0.5)
            optimizer.step()
            return loss

        return Training(model, optimizer, step=step, data=(torch.randn(16, 6), torch.randint(3, (16,))))

    finding = diagnose(training, "gradients_flow").findings[0]
    assert (finding.cause, finding.certainty) == ("bad-gradient-clipping", "confirmed")
    assert "used up" in finding.statement


# -- parameters of another model, with gradients ------------------------------------------------------


def clipped_beside(how: str) -> ClipCalls | None:
    """Only the head is trained, and gradients come to its body all the same."""
    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=1e-3)
    with watch(signals=("clipping",)) as trace:
        for _ in range(6):
            for each in (body, head):
                each.zero_grad()
            head(body(torch.randn(8, 4))).square().mean().backward()
            if how == "values":
                clip_grad_value_(body.parameters(), 0.01)
            else:
                clip_grad_norm_([*body.parameters(), *(head.parameters() if how == "all" else ())], 0.1)
            if how == "both":
                clip_grad_norm_(head.parameters(), 0.1)
            optimizer.step()
            if how == "by hand":
                with torch.no_grad():
                    for p in body.parameters():
                        p -= 0.01 * p.grad
    return clipped_in_vain(trace)


@pytest.mark.parametrize("how", ["norm", "values"])
def test_what_nobody_trains_is_clipped(how: str) -> None:
    found = clipped_beside(how)
    assert found is not None
    assert of_unheld(found)


@pytest.mark.parametrize("how", ["all", "both", "by hand"])
def test_what_is_trained_is_clipped_too(how: str) -> None:
    assert clipped_beside(how) is None
