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
        named = "make" if name == "<lambda>" else name
        given = ", ".join(f"{each}=..." for each in needed)
        what = "arguments" if len(needed) > 1 else "an argument"
        how = f"hand in lambda: {named}({given}), or functools.partial({named}, {given})"
        return f"{name}() needs {what} but is called without any: {how}"
    return ""


def instead_of(returned: object) -> str:
    """What a test has to return in place of this, for those who do it the first time."""
    if any(kind.__name__ == "Module" and kind.__module__.startswith("torch.nn.") for kind in type(returned).__mro__):
        how = "return Training(model, optimizer=..., criterion=..., data=...), or nothing at all"
        return f"the test returned a model ({type(returned).__name__}): {how}"
    if inspect.isfunction(returned) or inspect.ismethod(returned):
        return f"the test returned the function {returned.__name__}: call it, and return the Training that it makes"
    return f"the test returned {described(returned)}: return a Training, or nothing at all"


def described(value: object) -> str:
    """In one line: the repr of a model has many."""
    return f"{type(value).__name__} {' '.join(repr(value).split())!s:.60}"
