"""What went wrong on a side, in one line: of an error, or of what was printed about it.

Nothing but the standard library is imported here: a side needs it before its import path is set.
"""

from __future__ import annotations

import re
import sys

from .protocol import Message

_IN_A_FILE = re.compile(r'File "(?:[^"]*[/\\])?([^"/\\]+)", line (\d+)')
_SYNTAX = re.compile(r"(Syntax|Indentation|Tab)Error\b")
#: Kinds of errors that say that a module or a file is not there.
_NOT_THERE = re.compile(r"\b(ModuleNotFoundError|ImportError|FileNotFoundError)\b")
_HINT = "what git does not hold at that revision (ignored files, submodules) is not there"


def of_error(error: BaseException) -> Message:
    first, kind = str(error).partition("\n")[0], type(error).__name__
    outcomes = sys.modules.get("_pytest.outcomes")  # whoever skips has imported it
    if outcomes is not None and isinstance(error, outcomes.Skipped):
        return {"skipped": first}
    return {"raised": f"{kind}: {first}" if first else kind}


def first_line(message: str) -> str:
    """Of what an error says; but that of a syntax error begins with the place."""
    first = message.strip().partition("\n")[0]
    return last_line(message) if _IN_A_FILE.match(first) else first


def last_line(printed: str) -> str:
    """Of a traceback, that is the error. That of a syntax error does not say where it is: the lines before it do."""
    lines = [line.removeprefix("E ").strip() for line in printed.splitlines() if line.strip()]
    if not lines:
        return ""
    places = _IN_A_FILE.findall(printed)
    if _SYNTAX.match(lines[-1]) and places:
        file, number = places[-1]
        return f"{lines[-1]} ({file}, line {number})"
    return lines[-1]


def with_hint(message: str) -> str:
    """For the far side, whose folder holds what was committed and nothing else."""
    return f"{message}: {_HINT}" if _NOT_THERE.search(message) else message
