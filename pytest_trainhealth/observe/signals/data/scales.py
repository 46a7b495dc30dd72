"""How large the values are that the first weights multiply, and those that the output is compared with; at step 0."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ....records.data import ScaleRecord
from ....tensors.batches import tensors
from ...calls.functions import COMPARING, WEIGHING
from ...calls.torch_calls import CallSignal
from ...run.run import Run
from ...run.signal import Cost
from ...source.places import user_place

#: A sample this many times as large as the median one: at most 11 in 257 healthy programs.
_OUTLYING = 30.0


def _learns_nothing(weight: Any) -> bool:
    """A pass through trainable weights without gradients: Keras sends ones through a model to learn its shapes."""
    return isinstance(weight, Tensor) and weight.requires_grad and not torch.is_grad_enabled()


class Scales(CallSignal):
    """Tensors are recognised by their memory, so that a view of a batch's field still counts as that field."""

    NAME, COST = "scales", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._names: dict[int, str] = {}
        #: By the address of its memory, what frozen weights have made. Kept alive during the step, like the batch, so
        #: that no other tensor gets that memory and is taken for it.
        self._weighed: dict[int, torch.UntypedStorage] = {}
        self._batch: list[Tensor] = []

    def wanted(self) -> bool:
        return self._run.step == 0

    def step_begins(self, batch: object) -> None:
        if self.wanted():
            for name, tensor in tensors(batch):
                if tensor.layout == torch.strided:
                    self._batch.append(tensor)
                    self._names.setdefault(tensor.untyped_storage().data_ptr(), f"batch{name}")
        super().step_begins(batch)

    def step_ends(self) -> None:
        super().step_ends()
        self._weighed.clear()
        self._batch.clear()

    def seen(self, name: str, args: tuple[Any, ...], result: Any, module: str) -> None:
        if name in WEIGHING and module and len(args) > 1 and not _learns_nothing(args[1]):
            self._note_weight(name, args[1])
            if is_float_data(args[0]):
                self._meets_weights(args[0], result, module)
        elif name in COMPARING and (target := target_of(args)) is not None:
            field = self._names.get(target.untyped_storage().data_ptr(), "")
            if field or name.endswith("loss"):  # a difference from any other tensor need not be a loss
                self._note(target, field or f"the target of {name}", target=True)

    def _note_weight(self, name: str, weight: Any) -> None:
        if not isinstance(weight, Tensor) or weight.ndim < 2:
            return
        held = weight if isinstance(weight, nn.Parameter) else weight._base  # `x @ weight.T` is given a view of it
        if not isinstance(held, nn.Parameter) or weight.numel() != held.numel():
            return
        known = next((key for key, parameter in self._run.parameters.items() if parameter is held), None)
        if known is not None:
            rows_are_units = name == "linear" or name.startswith("conv")
            self._run.trace.wiring.parameters[known].fan_in = weight[0].numel() if rows_are_units else weight.shape[-2]

    def _meets_weights(self, given: Tensor, result: Any, module: str) -> None:
        memory = given.untyped_storage().data_ptr()
        if memory not in self._weighed:
            self._note(given, self._names.get(memory, "") or f"the input of {module}")
        # the output of frozen weights has no gradient either, but it is not an input
        for tensor in result if isinstance(result, tuple) else (result,):
            if isinstance(tensor, Tensor) and not tensor.requires_grad:
                memory_of_output = tensor.untyped_storage()
                self._weighed[memory_of_output.data_ptr()] = memory_of_output

    def _note(self, tensor: Tensor, name: str, *, target: bool = False) -> None:
        known = self._run.trace.data.scales
        if any(record.name == name and record.target == target for record in known):
            return
        with torch.no_grad():
            values = tensor.detach().double()
            if not bool(torch.isfinite(values).all()):
                return
            sizes, usual = sample_sizes(values)
            kept = values[sizes <= _OUTLYING * usual]  # a single sample must not set the scale of all
            mean, std = feature_statistics(kept if kept.numel() else values)
            record = ScaleRecord(
                name=name,
                shape=tuple(tensor.shape),
                mean=float(mean.abs().mean()),
                std=float(std.mean()),
                low=float(values.min()),
                high=float(values.max()),
                largest=max(float(mean.abs().max()), float(std.max())),
                target=target,
                outlier=int(sizes.argmax()),
                outlier_ratio=float(sizes.max()) / usual,
                place=user_place(),
            )
        known.append(record)


def is_float_data(value: Any) -> bool:
    """A float tensor that no gradient flows through: data, not something computed with weights."""
    return (
        isinstance(value, Tensor)
        and value.is_floating_point()
        and value.layout == torch.strided
        and value.ndim > 0
        and value.numel() > 1
        and not value.requires_grad
    )


def sample_sizes(values: Tensor) -> tuple[Tensor, float]:
    """The largest value of each sample, and the median of these over samples that are not all 0."""
    sizes = values.flatten(1).abs().amax(1) if values.ndim > 1 else values.abs()
    some = sizes[sizes > 0]
    return sizes, float(some.median()) if some.numel() else 1.0


def target_of(args: tuple[Any, ...]) -> Tensor | None:
    """Of two tensors that are compared, the one that was not computed with weights."""
    if len(args) < 2 or not isinstance(args[0], Tensor) or not isinstance(args[1], Tensor):
        return None
    first: Tensor = args[0]
    second: Tensor = args[1]
    if is_float_data(second) and first.requires_grad:
        return second
    return first if is_float_data(first) and second.requires_grad else None


def feature_statistics(values: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and spread per feature, shaped for subtracting and dividing.

    Features are in the second dimension (images) or the last (tables and sequences): the one that explains more of the
    spread. A tensor with one dimension is one feature.
    """
    if values.ndim < 2 or values.shape[0] < 2:
        return values.mean().reshape([1] * values.ndim), values.std(correction=0).reshape([1] * values.ndim)
    choices = []
    for dim in dict.fromkeys((1, values.ndim - 1)):
        others = [d for d in range(values.ndim) if d != dim]
        choices.append((values.mean(others, keepdim=True), values.std(others, correction=0, keepdim=True)))
    return min(choices, key=lambda statistics: float(statistics[1].mean()))
