"""Whether the user's code calls a number the end of a sequence: `EOS = 2`, `self.eos_id`, `cfg["eos_token_id"]`.

What a token means stands nowhere but in its name. Where names contradict each other, none of them counts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from torch import nn

from .authorship import is_library_file
from .engine_frames import is_engine_frame
from .variable_names import attributes_of

#: Frames that are searched. By judgement: a loss inside of a step that main() calls is three deep.
_DEEP = 4
_END = re.compile(r"^(\w+_)?(eos|eot|end_of_(sequence|text|sentence)|(end|stop)_tok(en)?)(_(id|idx|index|tok|token))*$")


def called_the_end(value: int) -> str:
    """The name by which the code that is running calls this number the end of a sequence; empty if it does not."""
    found = dict(_named(sys._getframe(1)))
    return next((name for name, each in found.items() if each == value), "") if len(set(found.values())) == 1 else ""


def _named(frame: FrameType | None) -> Iterator[tuple[str, int]]:
    searched = 0
    while frame is not None and not is_engine_frame(frame) and searched < _DEEP:
        if not is_library_file(frame.f_code.co_filename):
            searched += 1
            yield from _ends_in(frame.f_globals)
            yield from _ends_in(frame.f_locals)
            for value in list(frame.f_locals.values()):
                yield from _ends_in(vars(value) if isinstance(value, nn.Module) else dict(attributes_of(value)))
        frame = frame.f_back


def _ends_in(names: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in list(names.items()):
        if type(value) is int and isinstance(name, str) and _END.match(name.lower()):
            yield name, value
