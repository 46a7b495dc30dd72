"""Which fields of a batch are inputs of the model, and which are targets of a loss function: seen in one step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

from ....records.loss_functions import BINARY, DIFFERENCES, NAMES, SIGNED, TARGET_AT, WITH_CLASSES
from ....records.verdict import Place
from ....tensors.batches import tensors
from ...calls.torch_calls import Call
from ...source.places import user_place


@dataclass
class GivenTarget:
    """What a loss function was given as its target."""

    function: str
    target: Tensor
    classes: int | None = None
    ignored: int = -100
    place: Place | None = None
    #: Every label counts alike: no weights, and one number comes out. Its value.
    plain: bool = False
    value: float = 0.0

    def outside(self, values: Tensor) -> Tensor:
        """Which of these labels the function does not allow."""
        if self.classes is not None:
            return ((values < 0) | (values >= self.classes)) & (values != self.ignored)
        if self.function in BINARY:
            return (values < 0) | (values > 1)
        return values.abs() != 1 if self.function in SIGNED else torch.zeros_like(values, dtype=torch.bool)

    @property
    def about_classes(self) -> bool:
        return self.classes is not None or self.function in (*BINARY, *SIGNED)


@dataclass
class FieldRoles:
    inputs: set[str] = field(default_factory=set)
    #: Fields that a loss function got, in whatever form; and those it got as they are, with all that is known of it.
    targets: set[str] = field(default_factory=set)
    as_they_are: dict[str, GivenTarget] = field(default_factory=dict)
    #: A model is also given rows that no field holds as they are: put together from several, or computed from one.
    computed: bool = False

    @property
    def known(self) -> bool:
        return bool(self.inputs) and bool(self.targets)


def given_target(call: Call) -> GivenTarget | None:
    """None for a call that is none of a loss function, or whose target was computed with weights."""
    if call.name not in NAMES:
        return None
    given = [*call.args, *([call.kwargs["target"]] if "target" in call.kwargs else [])]
    at = TARGET_AT[call.name]
    if len(given) <= at or not isinstance(given[0], Tensor) or not isinstance(given[at], Tensor):
        return None
    input, target = given[0], given[at]
    if call.name in DIFFERENCES and target.requires_grad and not input.requires_grad:
        input, target = target, input
    if target.requires_grad or not target.numel() or is_functorch_wrapped_tensor(target):
        return None
    classes = None
    if call.name in WITH_CLASSES and not target.is_floating_point():
        classes = int(input.shape[1 if input.ndim > 1 else 0])
    found = GivenTarget(call.name, target, classes, int(call.kwargs.get("ignore_index", -100)), user_place())
    weights = [*given[at + 1 :], call.kwargs.get("weight"), call.kwargs.get("pos_weight")]
    if isinstance(call.result, Tensor) and call.result.numel() == 1 and not is_functorch_wrapped_tensor(call.result):
        found.plain = not any(isinstance(each, Tensor) for each in weights)
        found.value = float(call.result.detach())
    return found


def roles_of(batch: Any, inputs: list[Tensor], targets: list[GivenTarget]) -> FieldRoles:
    found, inputs = FieldRoles(), [each for each in inputs if not is_functorch_wrapped_tensor(each)]
    fields = [(name, t) for name, t in tensors(batch) if t.layout == torch.strided and t.numel()]
    rows = {tensor.shape[0] for _, tensor in fields if tensor.ndim}
    found.computed = any(
        given.ndim
        and given.shape[0] in rows
        and not any(_same_memory(t, given) or _same_values(t, given) for _, t in fields)
        for given in inputs
    )
    for name, tensor in fields:
        if any(_same_memory(tensor, given) or _same_values(tensor, given) for given in inputs):
            found.inputs.add(name)
        for given in targets:
            same = _same_values(tensor, given.target)
            if same or _same_memory(tensor, given.target):
                found.targets.add(name)
            if same:
                found.as_they_are.setdefault(name, given)
    return found


def _same_memory(one: Tensor, other: Tensor) -> bool:
    if other.layout != torch.strided or one.device != other.device or one.device.type == "meta":
        return False
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _same_values(one: Tensor, other: Tensor) -> bool:
    if other.layout != torch.strided or one.numel() != other.numel() or one.is_complex() or other.is_complex():
        return False
    if "meta" in (one.device.type, other.device.type):
        return False
    return bool((one.detach().flatten().cpu().double() == other.detach().flatten().cpu().double()).all())
