"""The one place where words from outside are made harmless, before any outlet sees them.

Names of modules, parameters, tests and files come from users, and from files that somebody sent. A terminal obeys
escape codes, a CI server obeys lines that begin with `::error`, a browser obeys tags, a reader is misled by marks that
turn the direction of writing, and a lone surrogate can be written nowhere: it ends a process of pytest-xdist. What
would be obeyed is shown instead, written as Python writes it: `\\x1b`, `\\u202e`. Doing it twice changes nothing.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

#: Characters of one word, and of one text. By judgement: paths and parameters of large models have up to 150, and a
#: chart in which a name takes more than three lines is not read.
LONGEST_WORD, LONGEST_TEXT = 300, 2000
#: More is not even looked at: an exception may hold a whole file. By judgement: ten times what is shown.
_READ_AT_MOST = 20_000
_GAP = "[...]"
#: What CI servers obey: GitHub '::error::' where a line begins, and a wrapped line may begin with any word; the older
#: '##[error]' anywhere in it, as Azure '##vso[...]' and TeamCity '##teamcity[...]'.
_COMMAND = re.compile(r"(?<!\S):(?=:)|#(?=#\w*\[)")
#: The start of a tag, but for what Python itself writes like one: '<lambda>', '<locals>' and "<class 'int'>".
_TAG = re.compile(
    r"<(?!(?:lambda|locals|module|listcomp|dictcomp|setcomp|genexpr|string|stdin)>|class '[\w.]*'>)(?=[/!?]?[A-Za-z!-])"
)


def harmless(text: str, longest: int = LONGEST_TEXT) -> str:
    """The text in one line of printable characters, without anything that an outlet would obey."""
    text = _shortened(text, _READ_AT_MOST)
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)
    if "::" in text or "##" in text:
        text = _COMMAND.sub(_shown, text)
    if "<" in text:  # a tag has an end, or an attribute: `a<b` in a line of code has neither
        end = max(text.rfind(">"), text.rfind("=")) + 1
        text = _TAG.sub(_shown, text[:end]) + text[end:]
    if len(text) > LONGEST_WORD:
        text = re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: _shortened(word[0], LONGEST_WORD), text)
        text = _shortened(text, longest)
    return text


def harmless_fields(record: Any) -> dict[str, Any]:
    """The fields of a record, and of the records in it, that have to change: nearly always none."""
    values = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    new = {name: _harmless_value(value) for name, value in values.items()}
    return {name: value for name, value in new.items() if value is not values[name]}


def _harmless_value(value: Any) -> Any:
    """The very same object where nothing had to be changed."""
    if isinstance(value, str):
        made = harmless(value)
        return value if made == value else made
    if isinstance(value, tuple):
        each = tuple(map(_harmless_value, value))
        return value if all(new is old for new, old in zip(each, value, strict=True)) else each
    if isinstance(value, Mapping):
        named = {_harmless_value(name): each for name, each in value.items()}
        return value if all(new is old for new, old in zip(named, value, strict=False)) else named
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = harmless_fields(value)
        return dataclasses.replace(value, **changed) if changed else value
    return value


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def _shown(match: re.Match[str]) -> str:
    return f"\\x{ord(match[0]):02x}"


def _shortened(text: str, longest: int) -> str:
    """Without its middle: the beginning is what one searches for, and names mostly differ at their end."""
    if len(text) <= longest:
        return text
    kept = longest - len(_GAP)
    return f"{text[: kept - kept // 3]}{_GAP}{text[len(text) - kept // 3 :]}"
