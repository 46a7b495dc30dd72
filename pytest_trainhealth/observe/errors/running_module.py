"""Which module an error came out of: the innermost one whose method stands in the traceback."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from torch import Tensor, nn

from ...records.errors import FailedCall, RunningModule
from ..run.run import Run
from ..source.authorship import package_of
from .arguments import given_tensor
from .known_tensors import KnownTensors

#: Attributes by which layers of torch say what they take.
_SIZES = ("in_features", "in1_features", "in2_features", "in_channels", "num_features", "normalized_shape",
          "num_channels", "input_size", "hidden_size", "embed_dim", "num_embeddings", "kernel_size",
          "num_classes")  # fmt: skip


def innermost_module(trace: TracebackType | None, run: Run) -> RunningModule | None:
    found = _innermost(trace)[0]
    if found is None:
        return None
    path = next((path for path, module in run.named_modules() if module is found), "")
    sizes = {name: size for name in _SIZES if (size := _size(getattr(found, name, None)))}
    return RunningModule(path, type(found).__name__, sizes, package_of(type(found)) == "user")


def refused_by_a_layer(trace: TracebackType | None, known: KnownTensors) -> FailedCall | None:
    """Layers that look at their input before they call any function (GRU, LSTM): the input, as the layer calls it."""
    module, given = _innermost(trace)
    if module is None or not isinstance(given, Tensor) or package_of(type(module)) == "user":
        return None
    return FailedCall(type(module).__name__, (given_tensor("input", given, known),))


def _innermost(trace: TracebackType | None) -> tuple[nn.Module | None, Any]:
    """And the variable that is called `input` there."""
    found: nn.Module | None = None
    given: Any = None
    while trace is not None:
        variables = trace.tb_frame.f_locals
        owner = variables.get("self")
        if isinstance(owner, nn.Module):
            found, given = owner, variables.get("input")
        trace = trace.tb_next
    return found, given


def _size(value: Any) -> tuple[int, ...]:
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,)
    if isinstance(value, tuple) and all(isinstance(each, int) for each in value):
        return tuple(value)
    return ()
