"""What went wrong in the process of a revision, in one line: taken from an error, or from what was printed about it.

Imports the standard library only: the process needs this module before its import path is set.
"""

from __future__ import annotations

import re
import sys

from .protocol import Message

_IN_A_FILE = re.compile(r'File "(?:[^"]*[/\\])?([^"/\\]+)", line (\d+)')
_SYNTAX = re.compile(r"(Syntax|Indentation|Tab)Error\b")
#: Errors that say that a module or a file does not exist.
_NOT_THERE = re.compile(r"\b(ModuleNotFoundError|ImportError|FileNotFoundError)\b")
_HINT = "what git does not hold at that revision (ignored files, submodules) is not there"


def of_error(error: BaseException) -> Message:
    first, kind = str(error).partition("\n")[0], type(error).__name__
    outcomes = sys.modules.get("_pytest.outcomes")  # imported already if a test was skipped
    if outcomes is not None and isinstance(error, outcomes.Skipped):
        return {"skipped": first}
    return {"raised": f"{kind}: {first}" if first else kind}


def first_line(message: str) -> str:
    """The first line of an error message. The message of a syntax error begins with the place, so its last line."""
    first = message.strip().partition("\n")[0]
    return last_line(message) if _IN_A_FILE.match(first) else first


def last_line(printed: str) -> str:
    """The last line of a traceback is the error. For a syntax error, adds the place, which the lines before it give."""
    lines = [line.removeprefix("E ").strip() for line in printed.splitlines() if line.strip()]
    if not lines:
        return ""
    places = _IN_A_FILE.findall(printed)
    if _SYNTAX.match(lines[-1]) and places:
        file, number = places[-1]
        return f"{lines[-1]} ({file}, line {number})"
    return lines[-1]


def with_hint(message: str) -> str:
    """For the other revision, whose folder holds only what was committed."""
    return f"{message}: {_HINT}" if _NOT_THERE.search(message) else message
