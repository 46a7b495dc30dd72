"""What models answer while they are evaluated, and which dropout is on although nobody asked for it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from types import FrameType
from typing import Any

from torch import Tensor, nn
from torch.jit import ScriptModule
from torch.nn.modules.dropout import _DropoutNd

from ....records.held_out import ActiveLayer
from ....tensors.batches import tensors
from ....tensors.function_modes import FunctionMode
from ...calls.dropouts import DROPOUTS, caller, is_told
from ...calls.torch_calls import function_name
from ...source.authorship import is_library_file
from ...source.module_calls import after_call
from ...source.places import user_place

#: Most values that are kept of the outputs. By judgement: 4 million take 32 MB.
_MOST = 4_000_000


class EvaluatedCalls:
    """The first float tensor of each output of each model, in the order of the calls."""

    def __init__(self, models: Mapping[str, nn.Module], stack: ExitStack) -> None:
        self.outputs: list[Tensor] = []
        self._kept = 0
        for model in models.values():
            if isinstance(model, ScriptModule):  # takes no hooks
                continue
            stack.callback(after_call(self._note, model).remove)

    def _note(self, module: nn.Module, given: Any, output: Any) -> None:
        found = next((t for _, t in tensors(output) if t.is_floating_point() and t.ndim), None)
        if found is not None and self._kept + found.numel() <= _MOST:
            self._kept += found.numel()
            self.outputs.append(found.detach().double().cpu().clone())


class DropoutsSeen(FunctionMode):
    """Dropout by a function, or by a layer that is made anew at each call: no `eval()` reaches it."""

    def __init__(self, *, off: bool) -> None:
        super().__init__()
        self._off = off
        self.found: list[ActiveLayer] = []

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = function_name(func)
        if name in DROPOUTS and kwargs.get("p") and kwargs.get("training"):
            frame: FrameType | None = caller(sys._getframe(1))
            if self._is_lasting(frame):
                if self._off:
                    kwargs = {**kwargs, "training": False}
                else:
                    self._note(name, frame)
        return func(*args, **kwargs)

    def _is_lasting(self, frame: FrameType | None) -> bool:
        if frame is None:
            return False
        if isinstance(frame.f_locals.get("self"), _DropoutNd):
            return False  # a layer: what is registered is watched by its hooks
        return not is_library_file(frame.f_code.co_filename) and not is_told(frame)

    def _note(self, name: str, frame: FrameType | None) -> None:
        record = ActiveLayer(f"F.{name}()", name, in_training_mode=False, place=user_place(frame))
        if record not in self.found:
            self.found.append(record)
