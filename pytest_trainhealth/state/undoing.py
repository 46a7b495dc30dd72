"""Tries every undo: what fails is told by name and keeps nothing else from being put back."""

from __future__ import annotations

from collections.abc import Iterable

from ..records.error_words import words_of
from .values import Undo

#: Longest message of an error that is shown. By judgement: a note stays one line.
_LONGEST_REASON = 120


def undo_all(undos: Iterable[tuple[object, Undo]]) -> list[str]:
    """What failed, by the name it has here and with the reason."""
    failed: list[str] = []
    for name, undo in undos:
        try:
            undo()
        except Exception as error:  # a user's object may refuse in any way; nothing else suffers for it
            why = " ".join(f"{type(error).__name__}: {words_of(error)}".split())
            failed.append(f"`{name}` ({why:.{_LONGEST_REASON}})")
    return failed
