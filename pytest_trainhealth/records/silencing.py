"""A silencing: somebody accepts a cause, or what a check finds, says why, and perhaps until when."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

_UNTIL = re.compile(r"[\s,;(]*\buntil (\d{4}-\d{2}-\d{2})\)?\s*$")


@dataclass(frozen=True)
class Silencing:
    #: Of a cause or of a check.
    name: str
    reason: str
    #: Where it was said.
    given: str = ""
    #: The last day on which it holds.
    until: date | None = None
    #: It is about a part of the model: where nothing is left to train, it does not hold.
    of_a_part: bool = False

    def expired(self, today: date) -> bool:
        return self.until is not None and today > self.until

    @property
    def in_words(self) -> str:
        """In one row: 'unused-parameters (the pooler is for later)'."""
        return f"{self.name} ({self.reason})"


def silencing(name: str, text: str, given: str = "", *, of_a_part: bool = False) -> Silencing:
    """From 'the pooler is for later until 2027-01-31'. Raises `ValueError` without a reason, or with no such day."""
    found = _UNTIL.search(text)
    reason = " ".join((text[: found.start()] if found else text).split())
    if not reason:
        raise ValueError(f"{name!r} needs a reason")
    try:
        until = date.fromisoformat(found[1]) if found else None
    except ValueError:
        raise ValueError(f"{name!r}: there is no day {found[1] if found else ''}") from None
    return Silencing(name, reason, given, until, of_a_part)
