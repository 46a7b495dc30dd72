"""The table of torch's functions agrees with torch."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch.nn import functional as F

from pytest_trainhealth.records import loss_functions


@pytest.mark.parametrize("loss", loss_functions.LOSSES, ids=lambda loss: loss.name)
def test_the_target_is_where_the_table_says(loss: loss_functions.LossFunction) -> None:
    assert list(inspect.signature(getattr(F, loss.name)).parameters).index("target") == loss.target_at


@pytest.mark.parametrize("each", loss_functions.ACTIVATIONS, ids=lambda each: each.name)
def test_values_lie_where_the_table_says(each: loss_functions.Activation) -> None:
    function = F.logsigmoid if each.name == "log_sigmoid" else getattr(F, each.name)
    given = torch.linspace(-20, 20, 401)
    values = function(given, dim=0) if each.name in loss_functions.SOFTMAXES else function(given)
    assert each.low <= float(values.min())
    assert float(values.max()) <= each.high
