"""Standardises data that is far out of scale, per feature, with the statistics of the first batch.

Inputs are changed where a model is called with them, or, if it computes them itself (from bytes, for example), where
they meet its first weights; targets where an output is compared with them. The target of an autoencoder is its input:
it changes along with it.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from ...observe.calls.functions import COMPARING, WEIGHING
from ...observe.run.forward_mode import enter_forward_mode
from ...observe.run.run import Run
from ...observe.signals.data.scales import feature_statistics, is_float_data, target_of
from ...tensors.batches import map_tensors
from ...tensors.function_modes import FunctionMode
from ..optimizer import learning_rate


class StandardisedInputs(learning_rate.LearningRate):
    """`inputs`, `targets`: a tensor with a mean or spread of a feature beyond this is out of scale; None: leave it.

    `rate`: the learning rate is multiplied by this.
    """

    def __init__(
        self,
        run: Run,
        stack: ExitStack,
        inputs: float | None = None,
        targets: float | None = None,
        rate: float = 1.0,
    ) -> None:
        super().__init__(run, stack, rate)
        self._run = run
        self._scaled = _Standardised(inputs, targets)
        enter_forward_mode(self._scaled, run, stack)
        if inputs is not None:
            original = nn.Module.__call__
            stack.callback(setattr, nn.Module, "__call__", original)
            scaled = self._scaled

            def called(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
                return scaled.called(original, module, args, kwargs)

            nn.Module.__call__ = called  # type: ignore[method-assign]

    def step_ends(self) -> None:
        self._run.trace.applied.rescaled_targets = self._scaled.rescaled_targets
        self._scaled.forget()


class _Standardised(FunctionMode):
    def __init__(self, inputs: float | None, targets: float | None) -> None:
        super().__init__()
        self._inputs, self._targets = inputs, targets
        self._depth = 0
        self._statistics: dict[Any, tuple[Tensor, Tensor] | None] = {}
        #: In this step: by the id of the original input, the original and the tensor that replaced it.
        self._given: dict[int, tuple[Tensor, Tensor]] = {}
        self.rescaled_targets = False

    def called(self, original: Any, module: nn.Module, args: Any, kwargs: Any) -> Any:
        """Only the outermost module with parameters gets changed inputs."""
        if not self._depth and self._inputs is not None and next(module.parameters(), None) is not None:
            limit = self._inputs
            args = map_tensors(lambda name, t: self._input(t, (id(module), name), limit), args)
            kwargs = map_tensors(lambda name, t: self._input(t, (id(module), name), limit), kwargs)
        elif self._depth or next(module.parameters(), None) is None:
            return original(module, *args, **kwargs)
        self._depth += 1
        try:
            return original(module, *args, **kwargs)
        finally:
            self._depth -= 1

    def forget(self) -> None:
        self._given.clear()

    def _input(self, tensor: Tensor, key: Any, limit: float) -> Tensor:
        scaled = self._scale(tensor, key, limit)
        if scaled is not tensor:
            self._given[id(tensor)] = (tensor, scaled)
        return scaled

    def _scale(self, tensor: Tensor, key: Any, limit: float) -> Tensor:
        if not is_float_data(tensor):
            return tensor
        with torch.no_grad():
            if key not in self._statistics:
                mean, std = feature_statistics(tensor.detach().float())
                off = max(float(mean.abs().max()), float(std.max())) > limit
                self._statistics[key] = (mean, torch.where(std > 0, std, 1.0)) if off else None
            statistics = self._statistics[key]
            return tensor if statistics is None else ((tensor - statistics[0]) / statistics[1]).to(tensor.dtype)

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if self._given and not self._depth:
            args = tuple(self._given[id(a)][1] if id(a) in self._given else a for a in args)
        if self._inputs is not None and name in WEIGHING and len(args) > 1 and is_float_data(args[0]):
            # by memory, not by object: a transposed weight is another tensor at every call
            key = ("weights", args[1].data_ptr(), tuple(args[0].shape[1:])) if isinstance(args[1], Tensor) else None
            args = args if key is None else (self._scale(args[0], key, self._inputs), *args[1:])
        elif self._targets is not None and name in COMPARING and not self._depth:
            target = target_of(args)
            if target is not None:
                scaled = self._scale(target, ("target", name, tuple(target.shape[1:])), self._targets)
                self.rescaled_targets = self.rescaled_targets or scaled is not target
                args = tuple(scaled if a is target else a for a in args)
        return func(*args, **(kwargs or {}))
