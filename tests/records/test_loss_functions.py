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
    given = torch.linspace(-20, 20, 401)
    values = _values(each.name, given)
    assert each.low <= float(values.min())
    assert float(values.max()) <= each.high


def _values(name: str, given: torch.Tensor) -> torch.Tensor:
    if name in ("lstm", "gru", "rnn_tanh"):  # the states of a recurrent layer
        layer = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn_tanh": torch.nn.RNN}[name](1, 4, batch_first=True)
        return layer(given[None, :, None])[0].detach()
    if name in loss_functions.SOFTMAXES:
        return getattr(F, name)(given, dim=0)
    return (F.logsigmoid if name == "log_sigmoid" else getattr(F, name))(given)
