"""What the user's code was given together with a tensor."""

from __future__ import annotations

import torch
from torch import Tensor

from pytest_trainhealth.observe.source.given_together import given_together
from pytest_trainhealth.observe.source.variable_names import variable_name


class Listens:
    def step_begins(self, inputs: list[Tensor]) -> list[Tensor]:
        return given_together(inputs)


def test_the_batch_that_an_input_was_taken_from() -> None:
    def model(x: Tensor) -> list[Tensor]:
        return Listens().step_begins([x])

    def step(batch: tuple[Tensor, Tensor]) -> list[Tensor]:
        return model(batch[0])

    x, y, other = torch.zeros(2), torch.ones(2), torch.ones(3)
    unrelated = [other]
    found = step((x, y))
    assert [id(each) for each in found] == [id(x), id(y)]
    assert unrelated


class Owner:
    def __init__(self, part: Tensor) -> None:
        self.part = part


def test_names_of_variables_and_attributes() -> None:
    weight, owner = torch.zeros(1), Owner(torch.ones(1))
    assert variable_name(weight) == "weight"
    assert variable_name(owner.part) == "part"
    assert not variable_name(object())
