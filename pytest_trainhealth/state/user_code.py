"""Which code is the user's own, and which global names it uses."""

from __future__ import annotations

import copy
import sys
import types

_STANDARD_LIBRARY = copy.__file__.rsplit("copy.py", 1)[0]


def written_by_user(function: types.FunctionType) -> bool:
    """Globals of a library are not the training's state (and far too many)."""
    module = sys.modules.get(function.__module__ or "")
    file = getattr(module, "__file__", None) or function.__code__.co_filename
    return "site-packages" not in file and not file.startswith(_STANDARD_LIBRARY)


def names_used(code: types.CodeType) -> list[str]:
    """Global names used by a function and by the functions defined inside it."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [*code.co_names, *(name for c in inner for name in names_used(c))]
