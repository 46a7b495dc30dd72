"""Changes the inputs of models where they are called: a batch does not say which of its tensors are targets."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ..tensors.batches import is_input_name, map_tensors
from ._at_the_calls import AtTheCalls


class AtTheInputs(AtTheCalls):
    """Base of such conditions: `changed` is called for each floating-point input of the outermost model."""

    def changed(self, tensor: Tensor) -> Tensor:
        raise NotImplementedError

    def given(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        named = {k: map_tensors(self._change, v) if is_input_name(k) else v for k, v in kwargs.items()}
        return map_tensors(self._change, args), named

    def _change(self, name: str, tensor: Tensor) -> Tensor:
        # a tensor with a graph was made by another model, not read from the data
        if not tensor.is_floating_point() or not tensor.ndim or tensor.grad_fn is not None or not is_input_name(name):
            return tensor
        return self.changed(tensor)
