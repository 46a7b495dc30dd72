"""The line that switched gradients off, for a line that ran without them."""

from __future__ import annotations

import linecache
import os

from ...records.verdict import Place
from .places import place_of

#: How they are written: `with torch.no_grad():`, `@torch.inference_mode()`, `with torch.set_grad_enabled(False):`.
_SWITCHES = ("no_grad", "inference_mode", "set_grad_enabled")
#: Lines above that are searched. By judgement: a block of that many lines is long, and the search must end.
_FARTHEST = 200


def switched_off_at(ran: Place | None) -> Place | None:
    """The nearest line above that has a switch in it and is indented less; the line itself if there is none."""
    if ran is None:
        return None
    file = os.path.abspath(ran.file)
    indent = _indent(linecache.getline(file, ran.line))
    for number in range(ran.line, max(0, ran.line - _FARTHEST), -1):
        text = linecache.getline(file, number)
        if not text.strip():
            continue
        outside = number == ran.line or _indent(text) < indent or text.lstrip().startswith("@")
        if outside and any(switch in text.partition("#")[0] for switch in _SWITCHES):
            return place_of(file, number)
        indent = min(indent, _indent(text))
    return ran


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
