"""How a training's object is reached, as its user would write it: `train.counter`, `model.head.weight`, `log['seen']`.

A snapshot notes thousands of paths and shows hardly any, so that a path is only spelt out on demand.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

#: What torch keeps in dictionaries of its own is written as an attribute.
_REGISTRIES = re.compile(r"\._(?:parameters|buffers|modules)\['([^']*)'\]")
#: Longest key that is shown. By judgement: a message stays one line.
_LONGEST_KEY = 40


class Path(NamedTuple):
    parent: Path | None
    #: "root", "attribute" or "item"
    kind: str
    key: Any

    def attribute(self, name: Any) -> Path:
        return Path(self, "attribute", name)

    def item(self, key: Any) -> Path:
        return Path(self, "item", key)

    def __str__(self) -> str:
        parts: list[str] = []
        path: Path | None = self
        while path is not None:
            parts.append(_written(path))
            path = path.parent
        return _REGISTRIES.sub(r".\1", "".join(reversed(parts)))


def root(thing: Any) -> Path:
    """An object that is handed in has the name it gave itself, or that of its kind."""
    return Path(None, "root", getattr(thing, "__name__", None) or type(thing).__name__)


def _written(path: Path) -> str:
    if path.kind == "attribute":
        return f".{path.key}"
    if path.kind == "item":
        key = path.key if isinstance(path.key, (str, int, float, bool)) else type(path.key).__name__
        return f"[{key!r:.{_LONGEST_KEY}}]"
    return str(path.key)
