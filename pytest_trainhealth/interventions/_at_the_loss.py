"""Base of cures that change the inputs of the loss: they see each torch call before it is made, and may change it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from ..observe.calls.activation_origin import Outputs
from ..observe.calls.torch_calls import Call, function_name
from ..observe.run.events import Listener
from ..observe.run.run import Run
from ..records.loss_functions import RANGES
from ..tensors.function_modes import FunctionMode


class AtTheLoss(FunctionMode, Listener):
    """Both function mode and listener. Subclasses change a call's `args` and `kwargs` in `before`."""

    #: Whether to track activation functions: only for cures that need it, as this takes time at every call.
    FOLLOWS = False

    def __init__(self, run: Run, stack: ExitStack, kind: str) -> None:
        super().__init__()
        self.outputs = Outputs()
        run.trace.applied.to_the_loss = kind
        stack.enter_context(self)

    def before(self, call: Call) -> None:
        """Called before each function whose first argument is a tensor."""

    def after(self, call: Call) -> None:
        """Called after each such function."""

    def step_ends(self) -> None:
        self.outputs.clear()

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not args or not isinstance(args[0], Tensor) or not torch.is_grad_enabled():
            return func(*args, **kwargs)
        call = Call(function_name(func), func, args, kwargs, "")
        self.before(call)
        raw = call.args[0]
        if self.FOLLOWS and (call.name.removesuffix("_") in RANGES and (call.name[-1] == "_" or kwargs.get("inplace"))):
            raw = raw.clone()
        call.result = func(*call.args, **call.kwargs)
        if self.FOLLOWS:
            self.outputs.note(call, raw)
        self.after(call)
        return call.result
