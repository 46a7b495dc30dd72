"""What a model does with the labels that it is given, asked of the model where no loss function is seen.

A model may compute its loss in a way of its own: in chunks, in a kernel that never makes all the scores. Then nothing
shows what is compared with what. But labels are an argument like any other, and what they change can be seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from .padded_tokens import PaddedTokens
from .repeat_call import Leaf, NotRepeatable, Repeater

#: The `ignore_index` of torch's loss functions, unless they are told another. By judgement: so do models.
_LEFT_OUT = -100
#: Fewest positions. By judgement: the label in the middle has to have some on either side.
_SHORTEST = 4


def moves_labels(repeater: Repeater, tokens: Leaf, labels: Leaf) -> bool:
    """Whether the label of a position trains the output before it, as the model itself moves labels by one.

    Of all labels one column is kept. In a causal model, the last position that the loss then depends on is where the
    output is that was compared with it.
    """
    length = tokens.tensor.shape[1]
    columns = (labels.tensor >= 0).any(0).nonzero().flatten().tolist()
    inner = [each for each in columns if 1 < each < length - 1]
    if length < _SHORTEST or not inner:
        return False
    kept = inner[len(inner) // 2]
    only = torch.full_like(labels.tensor, _LEFT_OUT)
    only[:, kept] = labels.tensor[:, kept]
    other = only.clone()
    valid = only[:, kept] >= 0
    other[valid, kept] = _another(labels.tensor[valid, kept], labels.tensor)
    try:
        with _embedded(repeater.call.module, tokens) as found:
            one = repeater.run({labels.name: only}, gradients=True)
            if len(found) != 1:
                return False
            two = repeater.run({labels.name: other})
        follows = [t for name, t in one.items() if name in two and t.requires_grad and not torch.equal(t, two[name])]
        if not follows:
            return False
        total = torch.stack([t.float().sum() for t in follows]).sum()
        (slope,) = torch.autograd.grad(total, [found[0]], allow_unused=True)
    except (NotRepeatable, RuntimeError):
        return False
    if slope is None:
        return False
    reached = slope.abs().amax((0, 2)).nonzero().flatten().tolist()
    return bool(reached) and reached[-1] == kept - 1


def counts_padding(repeater: Repeater, padded: PaddedTokens, labels: Leaf, beyond: Tensor) -> bool:
    """Whether other labels at these padded positions change what the model returns."""
    values = labels.tensor[padded.real]
    others = values[(values >= 0) & (values != padded.token)]
    if not others.numel():
        return False
    changed = labels.tensor.clone()
    changed[beyond] = others[0]
    try:
        one, two = repeater.run(), repeater.run({labels.name: changed})
    except NotRepeatable:
        return False
    return any(name in two and t.is_floating_point() and not torch.equal(t, two[name]) for name, t in one.items())


def _another(now: Tensor, all_labels: Tensor) -> Tensor:
    values: Tensor = torch.unique(all_labels[all_labels >= 0])
    return values[(torch.searchsorted(values, now) + 1) % len(values)]


@contextmanager
def _embedded(model: nn.Module, tokens: Leaf) -> Iterator[list[Tensor]]:
    """What the embedding makes of these tokens at the first call, as the beginning of a graph."""
    found: list[Tensor] = []

    def hook(embedding: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        given = args[0] if args else None
        if not isinstance(given, Tensor) or found or not torch.is_grad_enabled():
            return None
        if given.shape != tokens.tensor.shape or not torch.equal(given.to(tokens.tensor.dtype), tokens.tensor):
            return None
        found.append(output.detach().requires_grad_())
        return found[0]

    handles = [m.register_forward_hook(hook) for m in model.modules() if isinstance(m, nn.Embedding)]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()
