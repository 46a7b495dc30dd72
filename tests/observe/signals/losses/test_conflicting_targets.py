"""Equal inputs with different targets keep a loss above 0, whatever the model."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.signals.losses.conflicting_targets import bounds_in_batch

INPUTS = torch.tensor([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def floor_of(name: str, output: Tensor, target: Tensor, *fields: Tensor) -> float | None:
    return bounds_in_batch(name, output, target, {}, [*fields, target]).floor


def test_two_labels_for_one_input() -> None:
    labels = torch.tensor([0, 1, 2, 2])
    least = floor_of("cross_entropy", torch.randn(4, 3), labels, INPUTS)
    assert least == pytest.approx(math.log(2) / 2)  # half of the samples are a toss-up


def test_two_values_for_one_input() -> None:
    values = torch.tensor([[0.0], [2.0], [5.0], [7.0]])
    assert floor_of("mse_loss", torch.randn(4, 1), values, INPUTS) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("labels", "fields"),
    [
        (torch.tensor([1, 1, 2, 0]), (INPUTS,)),
        (torch.tensor([0, 1, 2, 2]), (INPUTS, torch.arange(4))),
        (torch.tensor([0, 1, 2, 2]), ()),
        (torch.tensor([0, 1, 2, 2]), (torch.zeros(4, 2),)),
        (torch.tensor([0, 1, 2, 2]), (torch.tensor(3.0), INPUTS[:3])),
    ],
    ids=[
        "the same label",
        "a second field tells them apart",
        "no inputs in the batch",
        "nothing but equal inputs",
        "fields of another length",
    ],
)
def test_no_conflict(labels: Tensor, fields: tuple[Tensor, ...]) -> None:
    assert floor_of("cross_entropy", torch.randn(4, 3), labels, *fields) == pytest.approx(0.0)


def test_inputs_that_only_agree_at_a_glance() -> None:
    long = torch.zeros(4, 40)
    long[0, 30], long[1, 31] = 1.0, 1.0  # the same beginning and the same sum
    assert floor_of("cross_entropy", torch.randn(4, 3), torch.tensor([0, 1, 2, 2]), long) == pytest.approx(0.0)


def test_what_nobody_can_memorise_is_no_fault_of_the_model() -> None:
    """Eight questions, each asked four times, and answered with yes three times."""
    questions = torch.eye(8).repeat(4, 1)
    answers = torch.ones(32)
    answers[:8] = 0.0

    def make() -> Training:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
        answer = torch.where(torch.arange(32) % 8 < 4, answers, torch.zeros(32))  # half of them always with no
        return Training(
            model,
            torch.optim.Adam(model.parameters(), lr=1e-2),
            criterion=nn.BCEWithLogitsLoss(),
            data=[(questions, answer)],
        )

    (verdict,) = diagnose(make, checks=["overfits_one_batch"]).verdicts
    assert verdict.outcome == "passed"
    three_of_four = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert verdict.figures["floor"] == pytest.approx(three_of_four / 2)
