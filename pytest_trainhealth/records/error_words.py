"""What an error says, also one that fails to say anything."""

from __future__ import annotations


def words_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as another:  # of the user's class, which may do anything in __str__
        return f"(its message raises {type(another).__name__})"
