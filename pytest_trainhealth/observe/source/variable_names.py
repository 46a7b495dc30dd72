"""How the user's code calls an object: a variable of a running function, or an attribute of one's object."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from torch import nn

from .authorship import is_library_file
from .engine_frames import is_engine_frame

#: Frames that are searched. By judgement: a loop in a method of an object that a script's main() made is a few deep.
_DEEP = 12


def variable_name(thing: Any) -> str:
    """Empty if none is found."""
    frame: FrameType | None = sys._getframe(1)
    searched = 0
    while frame is not None and not is_engine_frame(frame) and searched < _DEEP:
        if not is_library_file(frame.f_code.co_filename):
            searched += 1
            variables = {**frame.f_locals}
            if frame.f_code.co_name == "<module>":
                variables |= frame.f_globals
            found = _name_in(variables, thing)
            if found:
                return found
        frame = frame.f_back
    return ""


def _name_in(variables: dict[str, Any], thing: Any) -> str:
    named = {name: value for name, value in variables.items() if name.isidentifier()}  # pytest's asserts have others
    for name, value in named.items():
        if value is thing and name != "self":
            return name
    for value in named.values():
        for name, each in attributes_of(value):
            if each is thing:
                return name
    return ""


def attributes_of(value: Any) -> list[tuple[str, Any]]:
    """Of an object of the user's own, and of dictionaries; parts of a module have names anyway."""
    if type(value) is dict:
        return [(key, each) for key, each in value.items() if isinstance(key, str)]
    if isinstance(value, (nn.Module, type)) or is_library_file(_file_of(type(value))):
        return []
    return list(getattr(value, "__dict__", {}).items())


def _file_of(kind: type) -> str:
    return str(getattr(sys.modules.get(kind.__module__), "__file__", None) or "<builtin>")
