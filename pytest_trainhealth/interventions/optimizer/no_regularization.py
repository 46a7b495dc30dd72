"""Turns off dropout, weight decay and label smoothing, and takes penalties on weights out of the loss."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch import nn
from torch.optim import Optimizer

from ...observe.calls.functions import DROPOUTS, PENALTIES
from ...observe.run.events import Listener
from ...observe.run.forward_mode import enter_forward_mode
from ...observe.run.run import Run
from ...tensors.function_modes import FunctionMode


class NoRegularization(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run, self._stack = run, stack
        self._before: dict[int, list[Any]] = {}
        self._recurrent: set[int] = set()
        enter_forward_mode(_Without(run), run, stack)

    def run_begins(self) -> None:
        self.step_begins(None)

    def step_begins(self, batch: object) -> None:
        for model in self._run.models.values():
            for module in model.modules():
                if isinstance(module, nn.RNNBase) and module.dropout and id(module) not in self._recurrent:
                    self._recurrent.add(id(module))
                    self._stack.callback(setattr, module, "dropout", module.dropout)
                    module.dropout = 0.0
                    self._run.trace.applied.without_dropout |= module.training

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._before[id(optimizer)] = [group.get("weight_decay") for group in optimizer.param_groups]
        for group in optimizer.param_groups:
            if group.get("weight_decay"):
                group["weight_decay"] = 0.0

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        for group, decay in zip(optimizer.param_groups, self._before.pop(id(optimizer), []), strict=False):
            if decay is not None:
                group["weight_decay"] = decay


class _Without(FunctionMode):
    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "").rstrip("_")
        if name in DROPOUTS:
            self._run.trace.applied.without_dropout |= _draws(*args, **kwargs)
            return args[0] if args else kwargs["input"]
        if kwargs.get("dropout_p"):  # attention
            kwargs = {**kwargs, "dropout_p": 0.0}
            self._run.trace.applied.without_dropout = True
        if kwargs.get("label_smoothing"):
            kwargs = {**kwargs, "label_smoothing": 0.0}
            self._run.trace.applied.to_the_loss = "no_regularization"
        result = func(*args, **kwargs)
        return result * 0 if name in PENALTIES and args and isinstance(args[0], nn.Parameter) else result


def _draws(input: Any, p: float = 0.5, training: bool = True, *_: Any, train: bool = True, **others: Any) -> bool:
    return bool(p and training and train)
