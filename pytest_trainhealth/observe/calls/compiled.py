"""What torch.compile has compiled. A mode around a compiled call makes it compile once more."""

from __future__ import annotations

import sys
from typing import Any

from torch import nn


def compiled_graphs() -> int:
    """How many graphs were compiled in this process so far."""
    dynamo: Any = sys.modules.get("torch._dynamo.utils")
    return 0 if dynamo is None else int(dynamo.counters["stats"]["unique_graphs"])


def is_compiled(module: nn.Module) -> bool:
    """Whether it is compiled by torch.compile(model), by model.compile(), or in its forward()."""
    in_place = getattr(module, "_compiled_call_impl", None) is not None
    return in_place or hasattr(getattr(module, "forward", None), "_torchdynamo_orig_callable")
