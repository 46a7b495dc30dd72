"""The scale of each parameter at the start, and whether the units of a weight differ, at the start and at the end."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from ....records.wiring import ParameterRecord
from ...run.run import Run
from ...run.signal import Cost, Signal

#: How many matrices stand below one another in one weight, by the class of its module: the gates of a recurrent layer,
#: the queries, keys and values of an attention. Equal units get equal gradients, but each gate gets its own.
_STACKED = {"LSTM": 4, "LSTMCell": 4, "GRU": 3, "GRUCell": 3, "RNN": 1, "RNNCell": 1, "MultiheadAttention": 3}
#: A row for each token: the units are the columns.
_TABLES = {"Embedding", "EmbeddingBag"}


class InitialValues(Signal):
    NAME, COST = "initial_values", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run

    def step_begins(self, batch: object) -> None:
        if self._run.sampled:
            self._note(self._run.step)

    def run_ends(self) -> None:
        self._note(self._run.step)

    def _note(self, step: int) -> None:
        for name, parameter in self._run.parameters.items():
            record = self._run.trace.wiring.parameters[name]
            if is_lazy(parameter) or parameter.layout != torch.strided or not parameter.is_floating_point():
                continue
            with torch.no_grad():
                values = parameter.detach().float()
                if record.std is None and values.numel():
                    record.std = float(values.std(correction=0))
                    record.mean = float(values.mean())
                if values.ndim > 1 and values.numel() > 1:
                    units, known = _by_units(values, record)
                    record.units = units.shape[1] if known else None
                    if units.shape[1] > 1:
                        size = float(values.square().mean().sqrt())
                        apart = float((units - units.mean(1, keepdim=True)).square().mean().sqrt())
                        record.unit_spread[step] = apart / size if size else 0.0


def _by_units(values: Tensor, record: ParameterRecord) -> tuple[Tensor, bool]:
    """As matrices with a row for each unit, one for each gate; and whether the kind of module says what a unit is."""
    stacked = _STACKED.get(record.module_class)
    if record.module_class in _TABLES:
        return values.t().unsqueeze(0), True
    if record.module_class == "MultiheadAttention" and values.shape[0] == values.shape[1]:
        stacked = 1  # queries, keys and values in weights of their own
    if stacked is not None and values.shape[0] % stacked == 0:
        return values.reshape(stacked, -1, *values.shape[1:]), True
    return values.unsqueeze(0), False
