"""What a torch function was given: the name, shape, type and device of each tensor among its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from ...records.errors import FailedCall, GivenTensor
from .known_tensors import KnownTensors

#: Functions in C do not say how their arguments are called.
_ARGUMENTS = {
    "linear": ("input", "weight", "bias"),
    "conv1d": ("input", "weight", "bias"),
    "conv2d": ("input", "weight", "bias"),
    "conv3d": ("input", "weight", "bias"),
    "conv_transpose1d": ("input", "weight", "bias"),
    "conv_transpose2d": ("input", "weight", "bias"),
    "conv_transpose3d": ("input", "weight", "bias"),
    "gru": ("input", "hidden state"),
    "lstm": ("input", "hidden state"),
    "one_hot": ("labels",),
    "multinomial": ("probabilities",),
}
_ORDINALS = ("first", "second", "third", "fourth")
#: Tensors of one call that are looked at. By judgement: a batch of ragged samples shows itself in the first few.
_MOST = 64
#: Values of a tensor that are read. By judgement: an expanded view may have more than there is memory for (0.4 GB).
_MOST_VALUES = 100_000_000
#: Lists within lists. By judgement: torch's own functions have one level, the state of an LSTM two.
_DEEPEST = 3


def tensors_in(given: Any, depth: int = 0) -> Iterator[Tensor]:
    if isinstance(given, Tensor):
        yield given
    elif depth <= _DEEPEST and isinstance(given, (tuple, list)):
        for each in given:
            yield from tensors_in(each, depth + 1)
    elif depth <= _DEEPEST and isinstance(given, dict):
        for each in given.values():
            yield from tensors_in(each, depth + 1)


def failed_call(name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], known: KnownTensors) -> FailedCall:
    given = []
    for argument, value in named_arguments(name, func, args, kwargs).items():
        several = list(tensors_in(value))
        for number, tensor in enumerate(several):
            called = argument if len(several) == 1 and isinstance(value, Tensor) else f"tensor {number}"
            given.append(given_tensor(called, tensor, known))
            if len(given) == _MOST:
                return FailedCall(_spoken(name), tuple(given))
    return FailedCall(_spoken(name), tuple(given))


def named_arguments(name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    if inspect.isfunction(func):
        try:
            return dict(inspect.signature(func).bind_partial(*args, **kwargs).arguments)
        except TypeError:  # it is what raised
            pass
    names = _ARGUMENTS.get(name, _ORDINALS)
    positional = {names[at] if at < len(names) else f"argument {at}": value for at, value in enumerate(args)}
    return {**positional, **kwargs}


def _spoken(name: str) -> str:
    """`add` for `__add__`: what the user has written is an operator."""
    return name.strip("_") if name.startswith("__") else name


def given_tensor(argument: str, tensor: Tensor, known: KnownTensors) -> GivenTensor:
    nans, infinities = _not_finite(tensor)
    return GivenTensor(
        argument,
        tuple(tensor.shape),
        str(tensor.dtype).removeprefix("torch."),
        str(tensor.device),
        known.name_of(tensor),
        nans,
        infinities,
    )


def _not_finite(tensor: Tensor) -> tuple[int, int]:
    if not tensor.is_floating_point() or tensor.is_meta or tensor.layout != torch.strided:
        return 0, 0
    if tensor.numel() > _MOST_VALUES:
        return 0, 0
    values = tensor.detach()
    return int(torch.isnan(values).sum()), int(torch.isinf(values).sum())
