"""Who wrote the code? An unused module is an alarm if the user wrote it, a note if an installed package did."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from torch import nn

import pytest_trainhealth

PACKAGE_ROOT = str(Path(pytest_trainhealth.__file__).resolve().parent)
_LIBRARIES = tuple(
    {str(Path(sysconfig.get_path(key)).resolve()) for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {str(Path(sysconfig.get_path("stdlib")).parent.resolve() / "python3" / "dist-packages")}
)
#: A container is not the author of a module: whoever put the module into it is.
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)


@cache
def is_library_file(file: str) -> bool:
    """Whether the file is installed, part of Python, not a real file (`<frozen ...>`), or ours."""
    if file.startswith("<"):
        return not file.startswith("<ipython")
    path = str(Path(file).resolve())
    return path.startswith((PACKAGE_ROOT, *_LIBRARIES)) or "site-packages" in path or "dist-packages" in path


def package_of(kind: type) -> str:
    """'user', or the name of the installed package that the class comes from."""
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    if kind.__module__ in ("__main__", "builtins") or file is None:
        return "user"
    return kind.__module__.partition(".")[0] if is_library_file(file) else "user"


def made_by(path: str, modules: Mapping[str, nn.Module], *, direct: bool = False) -> str:
    """Who wrote the class that created the module at `path`: the nearest parent that is not just a container.

    `direct`: the question is about a parameter of that module. If the user's class registers it, it is the user's;
    but the weight of a Linear belongs to whoever created the Linear.
    """
    module = modules[path]
    if direct and package_of(type(module)) == "user":
        return "user"
    while path:
        path = path.rpartition(".")[0]
        holder = modules.get(path)
        if holder is not None and not isinstance(holder, _CONTAINERS):
            return package_of(type(holder))
    return "user" if package_of(type(module)) in ("user", "torch") else package_of(type(module))
