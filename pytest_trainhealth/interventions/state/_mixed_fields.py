"""Through which fields of a batch its samples change each other's gradients, where it is not the outputs themselves.

Fields of the first half of a batch are exchanged for those of other samples, fields of the second half too, and both.
Where samples are apart, the two changes add up to that of both; where they do not, one half counts for the other. If
that is so for what a model gets, outputs are compared with one another, as in contrastive losses. If it is so only for
a field that no model gets, something is computed from it over the batch: an advantage is standardised in the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from ...tensors.batches import map_tensors, tensors

#: Of the gradient. By judgement, as in accumulates_exactly: rounding leaves 3e-7, and what mixes a hundredth or more.
_SAME = 1e-3
#: Times the inputs. By judgement: a hinge between two outputs has a constant slope as long as they are close, and only
#: with larger outputs it shows that it compares them.
_LARGER = 10.0

Gradient = Callable[[Any], Tensor]
Names = set[str]


def mixed_in_the_data(batch: Any, samples: int, gradient: Gradient, models: Iterable[nn.Module]) -> tuple[str, ...]:
    """Names of the fields, all of them outside of the models; none where outputs are compared."""
    models = list(models)
    fields = {name for name, tensor in tensors(batch) if tensor.ndim and tensor.shape[0] == samples}
    outside = {name for name in fields if _stays_outside(batch, name, gradient, models)}
    inside = fields - outside
    larger = map_tensors(lambda name, t: _LARGER * t if name in inside and t.is_floating_point() else t, batch)
    if not inside or any(_count_for_each_other(each, samples, inside, inside, gradient) for each in (batch, larger)):
        return ()
    return tuple(sorted(n for n in outside if _count_for_each_other(batch, samples, {n}, fields, gradient)))


def _count_for_each_other(batch: Any, samples: int, first: Names, second: Names, gradient: Gradient) -> bool:
    """Whether these fields of the first half and those of the second depend on each other in the gradient."""
    half = samples // 2

    def found(*, in_first: bool, in_second: bool) -> Tensor:
        def exchanged(name: str, tensor: Tensor) -> Tensor:
            if not tensor.ndim or tensor.shape[0] != samples:
                return tensor
            one, other = tensor[:half], tensor[half : 2 * half]
            return torch.cat(
                [other if in_first and name in first else one, one if in_second and name in second else other]
            )

        return gradient(map_tensors(exchanged, batch))

    as_it_is, both = found(in_first=False, in_second=False), found(in_first=True, in_second=True)
    together = as_it_is + both - found(in_first=True, in_second=False) - found(in_first=False, in_second=True)
    return float(together.norm()) > _SAME * float(as_it_is.norm())


def _stays_outside(batch: Any, name: str, gradient: Gradient, models: list[nn.Module]) -> bool:
    """Only what has derivatives can be followed; of all else a model may get something."""
    if not all(tensor.is_floating_point() for field, tensor in tensors(batch) if field == name):
        return False
    got: list[bool] = []

    def called(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        got.append(any(t.requires_grad and not isinstance(t, nn.Parameter) for _, t in tensors((args, kwargs))))

    with ExitStack() as stack:
        for model in models:
            stack.callback(model.register_forward_pre_hook(called, with_kwargs=True).remove)
        gradient(map_tensors(lambda field, t: t.detach().clone().requires_grad_() if field == name else t, batch))
    return bool(got) and not any(got)
