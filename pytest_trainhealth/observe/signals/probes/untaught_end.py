"""Is a model that makes sequences ever taught to end one? Not where the end has the value that the loss ignores.

Rows are filled up with the token that also ends them, and the loss leaves that token out, as padding should be: then no
label that counts says "this is the end", and what the model makes goes on forever. Padding that is left out is healthy,
though, and looks the same. So all of these have to be there:

- the targets are the next tokens of an input: the model is trained to go on by itself;
- the loss was told to ignore a value that the model has an output for;
- rows of different lengths are filled up with it, and it stands nowhere else;
- the user's code calls this number the end of a sequence, and no other number that;
- no other loss function ran, which may teach the end in its own way.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ....records.probes import UntaughtEnd
from ....records.verdict import Place
from ...calls import torch_calls
from ...source.end_tokens import called_the_end
from ...source.places import user_place
from .leakage import element_shift
from .repeat_call import Repeater

#: Fewest rows that end early. By judgement: two of different lengths show that lengths differ.
_FEWEST = 2


@dataclass(frozen=True)
class IgnoredEnd:
    """A loss that ignores what the code calls the end."""

    target: Tensor
    value: int
    name: str
    function: str
    place: Place | None


def ignored_end(call: torch_calls.Call, target: Tensor) -> IgnoredEnd | None:
    value = call.kwargs.get("ignore_index")
    scores = call.args[0]
    if type(value) is not int or value < 0 or not isinstance(scores, Tensor) or scores.ndim < 2:
        return None
    if target.is_floating_point() or value >= scores.shape[1]:
        return None
    name = called_the_end(value)
    return IgnoredEnd(target.detach(), value, name, call.name, user_place()) if name else None


def untaught_end(repeater: Repeater, ends: list[IgnoredEnd]) -> UntaughtEnd | None:
    """`ends`: of all loss functions of the step, or empty if another one ran."""
    for leaf in repeater.call.leaves:
        tokens = leaf.tensor
        if tokens.ndim != 2 or tokens.dtype not in (torch.int64, torch.int32):
            continue
        for end in ends:
            rows = _rows_that_end(tokens, end.target, end.value)
            if rows >= _FEWEST and element_shift(tokens, end.target, 1) == 1:
                return UntaughtEnd(repeater.call.kind, leaf.name, end.name, end.value, rows, end.function, end.place)
    return None


def _rows_that_end(tokens: Tensor, target: Tensor, value: int) -> int:
    """Rows of targets that are filled up with the value; 0 if it stands elsewhere, too, or lengths are all the same."""
    positions = target.numel() // len(tokens) if len(tokens) else 0
    if (
        not positions
        or positions * len(tokens) != target.numel()
        or positions
        not in (
            tokens.shape[1],
            tokens.shape[1] - 1,
        )
    ):
        return 0
    filled = target.reshape(len(tokens), positions) == value
    lengths = (~filled).sum(1)
    at_the_end = bool((filled.long().diff(dim=1) >= 0).all()) and bool((lengths > 0).all())
    early = lengths[lengths < positions]
    return len(early) if at_the_end and bool((lengths != lengths[0]).any()) else 0
