"""Which module an error came out of: the innermost one whose method stands in the traceback."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from torch import nn

from ...records.errors import RunningModule
from ..run.run import Run
from ..source.authorship import package_of

#: Attributes by which layers of torch say what they take.
_SIZES = ("in_features", "in1_features", "in2_features", "in_channels", "num_features", "normalized_shape",
          "num_channels", "input_size", "hidden_size", "embed_dim", "num_embeddings", "kernel_size",
          "num_classes")  # fmt: skip


def innermost_module(trace: TracebackType | None, run: Run) -> RunningModule | None:
    found: nn.Module | None = None
    while trace is not None:
        owner = trace.tb_frame.f_locals.get("self")
        if isinstance(owner, nn.Module):
            found = owner
        trace = trace.tb_next
    if found is None:
        return None
    path = next((path for path, module in run.named_modules() if module is found), "")
    sizes = {name: size for name in _SIZES if (size := _size(getattr(found, name, None)))}
    return RunningModule(path, type(found).__name__, sizes, package_of(type(found)) == "user")


def _size(value: Any) -> tuple[int, ...]:
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,)
    if isinstance(value, tuple) and all(isinstance(each, int) for each in value):
        return tuple(value)
    return ()
