"""JSON with the line of every value: the module of the standard library forgets where it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..unreadable import unreadable

_SPACE = " \t\r\n"


class JsonText:
    """A document that is walked through from its beginning. Raises `UnreadableHistory` with the line."""

    def __init__(self, text: str, source: str) -> None:
        self._text, self._source = text, source
        self._decoder = json.JSONDecoder()
        self._at = self._counted = 0
        self._line = 1

    @property
    def line(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def next(self) -> str:
        """The next character that is no space; empty at the end."""
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1
        return self._text[self._at : self._at + 1]

    def value(self) -> Any:
        self.next()
        try:
            found, self._at = self._decoder.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            line = self._text.count("\n", 0, error.pos) + 1
            cut = "; the file ends here" if error.pos >= len(self._text.rstrip()) else ""
            raise unreadable(self._source, line, f"is no JSON: {error.msg}{cut}") from None
        except RecursionError:
            raise unreadable(self._source, self.line, "is nested too deeply") from None
        return found

    def members(self) -> Iterator[str]:
        """The keys of an object, one by one: the caller takes the value that follows before it asks for the next."""
        self._take("{")
        while self.next() != "}":
            key = self.value()
            self._take(":")
            yield str(key)
            if self.next() != "}":
                self._take(",")
        self._take("}")

    def elements(self) -> Iterator[int]:
        """The elements of an array by their lines: the caller takes the value before it asks for the next."""
        self._take("[")
        while self.next() != "]":
            yield self.line
            if self.next() != "]":
                self._take(",")
        self._take("]")

    def end(self) -> None:
        if self.next():
            raise unreadable(self._source, self.line, "is no JSON: there is more behind the end of the document")

    def _take(self, wanted: str) -> None:
        found = self.next()
        if found != wanted:
            what = f"{found!r}" if found else "the end of the file"
            raise unreadable(self._source, self.line, f"is no JSON: {wanted!r} was expected, not {what}")
        self._at += 1
