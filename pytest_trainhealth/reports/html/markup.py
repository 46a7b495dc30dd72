"""Elements of HTML, so that nothing reaches the page unescaped: whatever is no `Markup` is text.

Names are cleaned where verdicts are made (`records/harmless.py`); nothing here relies on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_VOID = {"meta", "input"}
_CODE = {"code", "pre"}
#: `for_` and `class_` are words of Python's.
_PLAIN_NAME = re.compile(r"_$")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *content: str | Iterable[str] | None, **attributes: str | bool | None) -> Markup:
    """`tag("a", "see <it>", href="#it")`. Attributes that are None or False are left out; True has no value."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    start = f"<{name}{written}>"
    inside = joined(content, code=name in _CODE)
    return Markup(start) if name in _VOID else Markup(f"{start}{inside}</{name}>")


def joined(content: Iterable[str | Iterable[str] | None], *, code: bool = False) -> Markup:
    """`code`: to be copied as it is."""
    return Markup("".join(_written(each, code) for each in content))


def _written(content: str | Iterable[str] | None, code: bool) -> str:
    if content is None:
        return ""
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return escape(content if code else _with_arrows(content))
    return joined(content, code=code)


def _with_arrows(text: str) -> str:
    """'2.303 -> 0.021' is one figure: a line never ends within it."""
    return text.replace(" -> ", "\N{NO-BREAK SPACE}\N{RIGHTWARDS ARROW}\N{NO-BREAK SPACE}")


def _attribute(key: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = _PLAIN_NAME.sub("", key).replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'
