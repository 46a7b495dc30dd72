"""Elements of HTML, so that nothing reaches the page unescaped: whatever is no `Markup` is text.

Names are cleaned where verdicts are made (`records/harmless.py`); nothing here relies on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_VOID = {"meta", "input", "br"}
#: `for_` and `class_` are words of Python's.
_PLAIN_NAME = re.compile(r"_$")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *content: str | Iterable[str] | None, **attributes: str | bool | None) -> Markup:
    """`tag("a", "see <it>", href="#it")`. Attributes that are None or False are left out; True has no value."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    start = f"<{name}{written}>"
    return Markup(start) if name in _VOID else Markup(f"{start}{joined(content)}</{name}>")


def joined(content: Iterable[str | Iterable[str] | None]) -> Markup:
    return Markup("".join(_written(each) for each in content))


def _written(content: str | Iterable[str] | None) -> str:
    if content is None:
        return ""
    if isinstance(content, Markup):
        return content
    return escape(content) if isinstance(content, str) else joined(content)


def _attribute(key: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = _PLAIN_NAME.sub("", key).replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'
