"""Something writes to what an optimizer holds, between its steps: does it take back what they did?"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Verdict

AfterStep = Callable[[nn.Module, nn.Module, int], None]


def memorised(after_step: AfterStep) -> Verdict:
    def make() -> Training:
        model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 3))
        other, taken = copy.deepcopy(model).requires_grad_(False), [0]
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            optimizer.step()
            taken[0] += 1
            with torch.no_grad():
                after_step(model, other, taken[0])
            return loss.detach()

        inputs = torch.randn(16, 6)
        return Training(model, optimizer, step=step, data=[(inputs, inputs[:, :3].argmax(1))])

    return examine(make, Request("overfits_one_batch", "written", 0, {}))


def pulled_to(source: nn.Module, moved: nn.Module, share: float) -> None:
    for new, old in zip(source.parameters(), moved.parameters(), strict=True):
        old.lerp_(new, share)


def swapped_average(model: nn.Module, other: nn.Module, step: int) -> None:
    pulled_to(other, model, 0.2)


def copy_that_is_never_renewed(model: nn.Module, other: nn.Module, step: int) -> None:
    if step % 4 == 0:
        model.load_state_dict(other.state_dict())


@pytest.mark.parametrize("after_step", [swapped_average, copy_that_is_never_renewed])
def test_drawn_back_to_the_start(after_step: AfterStep) -> None:
    verdict = memorised(after_step)
    assert [(f.cause, f.certainty) for f in verdict.findings] == [("updates-lost", "confirmed")]
    assert "drawn back to the start" in verdict.findings[0].statement
    place = verdict.findings[0].places[0]
    assert place.file.endswith("test_outside_writes.py")


def average(model: nn.Module, other: nn.Module, step: int) -> None:
    pulled_to(model, other, 0.2)


def lookahead(model: nn.Module, other: nn.Module, step: int) -> None:
    if step % 4 == 0:
        pulled_to(model, other, 0.5)
        model.load_state_dict(other.state_dict())


def average_that_replaces_it(model: nn.Module, other: nn.Module, step: int) -> None:
    pulled_to(model, other, 0.05)
    model.load_state_dict(other.state_dict())


def test_most_of_every_update_is_taken_back() -> None:
    verdict = memorised(average_that_replaces_it)
    assert [(f.cause, f.certainty) for f in verdict.findings] == [("updates-lost", "confirmed")]
    assert "after every single one" in verdict.findings[0].evidence[0].text


class Once:
    """Goes over a generator, which yields its parameters to the first step only."""

    def __init__(self, parameters: Iterator[nn.Parameter] | list[nn.Parameter], rate: float) -> None:
        self.parameters, self.rate = parameters, rate

    @torch.no_grad()
    def step(self) -> None:
        for parameter in self.parameters:
            parameter -= self.rate * parameter.grad  # type: ignore[operator]


@pytest.mark.parametrize(("kept", "rate", "causes"), [(iter, 0.02, [("updates-lost", "likely")]), (list, 0.5, [])])
def test_an_optimizer_that_goes_over_a_generator(
    kept: Callable[..., Any], rate: float, causes: list[tuple[str, str]]
) -> None:
    def make() -> Training:
        model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 3))
        optimizer = Once(kept(model.parameters()), rate)

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            model.zero_grad()
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            optimizer.step()
            return loss.detach()

        inputs = torch.randn(16, 6)
        return Training(model, optimizer, step=step, data=[(inputs, inputs[:, :3].argmax(1))])

    verdict = examine(make, Request("overfits_one_batch", "once", 0, {}))
    assert [(f.cause, f.certainty) for f in verdict.findings] == causes


def unit_rows(model: nn.Module, other: nn.Module, step: int) -> None:
    model[0].weight.div_(model[0].weight.norm(dim=1, keepdim=True))  # type: ignore[index, union-attr, operator]


@pytest.mark.parametrize("after_step", [average, lookahead, unit_rows])
def test_other_writes_are_no_fault(after_step: AfterStep) -> None:
    assert memorised(after_step).passed
