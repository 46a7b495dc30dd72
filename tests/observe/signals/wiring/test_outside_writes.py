"""Something writes to what an optimizer holds, between its steps: does it take back what they did?"""

from __future__ import annotations

import copy
from collections.abc import Callable

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


def unit_rows(model: nn.Module, other: nn.Module, step: int) -> None:
    model[0].weight.div_(model[0].weight.norm(dim=1, keepdim=True))  # type: ignore[index, union-attr, operator]


@pytest.mark.parametrize("after_step", [average, lookahead, unit_rows])
def test_other_writes_are_no_fault(after_step: AfterStep) -> None:
    assert memorised(after_step).passed
