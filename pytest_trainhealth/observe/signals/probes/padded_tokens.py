"""Token sequences with padding at either end, in a call of a model that knows which token is padding.

A model says so by the `padding_idx` of the embedding that its tokens go through, or by a configuration with a
`pad_token_id`, as models have that are stored together with their vocabulary. A mask that was given with the tokens may
say it as well. Padding is one run of that token, at the same end of every row, and not in all rows of the same length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .influence import is_mask
from .repeat_call import Call, Leaf

#: Fewest rows with padding. By judgement: a single row may end with a token that repeats itself.
_FEWEST_ROWS = 2


@dataclass
class PaddedTokens:
    """Tokens, and where they are none."""

    leaf: Leaf
    #: (samples, positions)
    real: Tensor
    token: int
    #: Padding comes before the sequences, not after them.
    in_front: bool
    #: A mask of the same shape that was given with them, and who says which token is padding.
    mask: Leaf | None = None
    said_by: str = "padding_idx"


def padded_tokens(call: Call) -> Iterator[PaddedTokens]:
    for leaf in call.leaves:
        if not _are_tokens(leaf, call.leaves):
            continue
        for token, said_by in pad_tokens(call.module).items():
            real = leaf.tensor != token
            in_front = _side(real)
            if in_front is not None:
                yield PaddedTokens(leaf, real, token, in_front, _mask_of(leaf, call.leaves), said_by)
                break


def pad_tokens(model: nn.Module) -> dict[int, str]:
    """The tokens that a model takes for padding, and what says so."""
    found = {
        module.padding_idx: "padding_idx"
        for module in model.modules()
        if isinstance(module, nn.Embedding) and module.padding_idx is not None
    }
    configured = getattr(getattr(model, "config", None), "pad_token_id", None)
    return found if type(configured) is not int else {configured: "pad_token_id", **found}


def ends_with(model: nn.Module, value: float) -> bool:
    """Whether this token also tells where a sequence ends: then a model may have to learn it."""
    configured = getattr(getattr(model, "config", None), "eos_token_id", None)
    ends = configured if isinstance(configured, (list, tuple)) else [configured]
    return value in [end for end in ends if type(end) is int]


def _are_tokens(leaf: Leaf, leaves: list[Leaf]) -> bool:
    tensor = leaf.tensor
    whole = tensor.ndim == 2 and tensor.dtype in (torch.int64, torch.int32)
    return whole and not is_mask(leaf, leaves) and bool((tensor >= 0).all())


def _side(real: Tensor) -> bool | None:
    """True if padding comes first in every row, False if last; None if it is no padding."""
    rows = (~real).any(1)
    lengths = real.sum(1)
    if int(rows.sum()) < _FEWEST_ROWS or bool((lengths == 0).any()) or bool((lengths == lengths[:1]).all()):
        return None
    steps = real.long().diff(dim=1)
    for in_front, rising in ((False, steps <= 0), (True, steps >= 0)):
        if bool(rising.all()) and bool(real[:, -1 if in_front else 0].all()):
            return in_front
    return None


def _mask_of(tokens: Leaf, leaves: list[Leaf]) -> Leaf | None:
    for leaf in leaves:
        if leaf is not tokens and leaf.tensor.shape == tokens.tensor.shape and is_mask(leaf, leaves):
            return leaf
    return None
