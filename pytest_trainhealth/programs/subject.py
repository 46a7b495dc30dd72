"""What can be checked at all: a `Training`, or something that can be called without arguments and makes one."""

from __future__ import annotations

import inspect
from typing import Any


def missing_arguments(function: Any) -> str:
    """What keeps the function from being called without arguments, in one line; empty if nothing does."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin that does not tell
        return ""
    try:
        signature.bind()
    except TypeError:
        needed = [
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
        name = getattr(function, "__name__", type(function).__name__)
        given = ", ".join(f"{each}=..." for each in needed)
        what = "arguments" if len(needed) > 1 else "an argument"
        return f"{name}() needs {what} but is called without any: hand in, say, functools.partial({name}, {given})"
    return ""


def described(value: object) -> str:
    """In one line: the repr of a model has many."""
    return f"{type(value).__name__} {' '.join(repr(value).split())!s:.60}"
