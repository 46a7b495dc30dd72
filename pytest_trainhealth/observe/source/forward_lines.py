"""The line of the forward pass that a node of the backward pass belongs to, as anomaly mode makes it remember."""

from __future__ import annotations

import re
from typing import Any

from ...records.verdict import Place
from .authorship import is_library_file
from .places import place_of

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


def forward_place(node: Any) -> Place | None:
    """The user's line with the forward operation that this backward node belongs to."""
    for entry in reversed(node.metadata.get("traceback_", [])):
        match = _FRAME.search(entry)
        if match is not None and not is_library_file(match["file"]):
            return place_of(match["file"], int(match["line"]))
    return None
