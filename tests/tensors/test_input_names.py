"""Which names belong to inputs: one list for all code that changes inputs or tests what depends on them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth.interventions.inputs import zeroed_inputs
from pytest_trainhealth.observe.run.run import Run
from pytest_trainhealth.tensors.batches import has_to_matter, is_input_name


@pytest.mark.parametrize("name", ["x", "input_ids", "['image']", "pixel_values", "[0]", ""])
def test_inputs(name: str) -> None:
    assert is_input_name(name)
    assert has_to_matter(name)


@pytest.mark.parametrize("name", ["labels", "Target", "attention_mask", "['lengths']", "sample_weight", ".edge_weight"])
def test_what_the_loss_or_the_padding_needs_is_none(name: str) -> None:
    assert not is_input_name(name)
    assert not has_to_matter(name)


@pytest.mark.parametrize("name", ["user_index", "seq_len", "metadata", "epoch", "return_dict"])
def test_what_may_be_for_the_books_is_an_input_that_may_be_left_alone(name: str) -> None:
    assert is_input_name(name)
    assert not has_to_matter(name)


class Seen(nn.Module):
    def forward(self, **given: Any) -> Tensor:
        self.given = given
        return given["x"].sum()


def test_the_control_sees_zeros_and_keeps_what_the_loss_is_weighed_with() -> None:
    """With weights of 0 the control would have a loss of 0, which no training can beat."""
    run, model = Run(), Seen()
    run.add_models({"": model})
    with ExitStack() as stack:
        zeroed_inputs.ZeroedInputs(run, stack)
        model(x=torch.ones(4), user_index=torch.arange(4), sample_weight=torch.ones(4), labels=torch.ones(4))
    sums = {name: float(tensor.sum()) for name, tensor in model.given.items()}
    assert sums == {"x": 0, "user_index": 0, "sample_weight": 4, "labels": 4}
