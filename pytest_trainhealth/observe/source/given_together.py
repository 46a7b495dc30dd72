"""What the user's code was given together with a tensor: the batch that a watched step took its inputs from."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from torch import Tensor

from .authorship import is_library_file
from .engine_frames import is_engine_frame

#: Members of a container, and frames. By judgement: a batch has a few fields, a data set has more; and the step that
#: was handed the batch is a few calls away from the model.
_MOST_FIELDS, _DEEP = 16, 8


def given_together(with_these: Iterable[Tensor]) -> list[Tensor]:
    """The tensors of each tuple, list or dict in the user's variables that has one of these in it."""
    wanted = {id(tensor) for tensor in with_these}
    found: dict[int, Tensor] = {}
    for value in _variables():
        members = value.values() if type(value) is dict else value
        fields = [each for each in members if isinstance(each, Tensor)]
        if any(id(each) in wanted for each in fields):
            found |= {id(each): each for each in fields}
    return list(found.values())


def _variables() -> Iterator[Any]:
    frame: FrameType | None = sys._getframe(2)
    searched = 0
    while frame is not None and not is_engine_frame(frame) and searched < _DEEP:
        if not is_library_file(frame.f_code.co_filename):
            searched += 1
            for value in frame.f_locals.values():
                if type(value) in (tuple, list, dict) and len(value) <= _MOST_FIELDS:
                    yield value
        frame = frame.f_back
