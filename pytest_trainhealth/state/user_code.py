"""Which code is the user's own, and which names it uses and binds."""

from __future__ import annotations

import copy
import dis
import sys
import types
from typing import Any, TypeGuard

_STANDARD_LIBRARY = copy.__file__.rsplit("copy.py", 1)[0]
#: Never the user's, wherever they are installed.
_LIBRARIES = ("torch", "numpy", __name__.partition(".")[0])


def written_by_user(code: types.FunctionType | type) -> bool:
    """Globals and classes of a library are not the training's state (and far too many)."""
    return _is_users(code.__module__ or "", code.__code__.co_filename if isinstance(code, types.FunctionType) else "")


def module_of_user(value: Any) -> TypeGuard[types.ModuleType]:
    """Also tells what is no module at all."""
    return isinstance(value, types.ModuleType) and _is_users(value.__name__, "")


def _is_users(name: str, source: str) -> bool:
    """`source`: the file, if the module does not tell."""
    if name.partition(".")[0] in _LIBRARIES or name == "builtins":
        return False
    file = getattr(sys.modules.get(name), "__file__", None) or source
    if not file and name.partition(".")[0] in sys.stdlib_module_names:  # written in C, such as `sys` and `time`
        return False
    return not any(folder in file for folder in ("site-packages", "dist-packages")) and not file.startswith(
        _STANDARD_LIBRARY
    )


def names_used(code: types.CodeType) -> list[str]:
    """Global names used by a function and by the functions defined inside it."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [*code.co_names, *(name for c in inner for name in names_used(c))]


def names_bound(code: types.CodeType) -> set[str]:
    """Global names that a function binds, or a function defined inside it."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    own = {each.argval for each in dis.get_instructions(code) if each.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")}
    return own.union(*(names_bound(c) for c in inner))


def special_methods(kind: type) -> dict[str, types.FunctionType]:
    """`__call__`, `__getitem__` and the like: nobody rebinds them, but they keep count as other functions do."""
    functions = {name: value for name, value in vars(kind).items() if isinstance(value, types.FunctionType)}
    return {name: value for name, value in functions.items() if name.startswith("__")}


def class_state(kind: type) -> dict[str, Any]:
    """What a class holds by name, without what Python itself keeps there."""
    return {name: value for name, value in vars(kind).items() if not name.startswith(("__", "_abc_"))}
