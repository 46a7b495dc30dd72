"""Who made it? An unused module is an alarm if the user's own code made it, a note if an installed package did.

Whoever calls the constructor decides, not whose class it is: layers of torch that the user's loop makes are the user's.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import FrameType

import torch
from torch import nn

import pytest_trainhealth

from .engine_frames import is_engine_frame

PACKAGE_ROOT = str(Path(pytest_trainhealth.__file__).resolve().parent)
_LIBRARIES = tuple(
    {str(Path(sysconfig.get_path(key)).resolve()) for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {str(Path(sysconfig.get_path("stdlib")).parent.resolve() / "python3" / "dist-packages")}
)
#: Frames of these make nothing of their own accord: whoever called them does. (Site-packages lies inside the standard
#: library's folder, so it is asked for by name.)
_INTERMEDIARIES = (PACKAGE_ROOT, str(Path(torch.__file__).resolve().parent))
_PYTHON = tuple({str(Path(sysconfig.get_path(key)).resolve()) for key in ("stdlib", "platstdlib")})


@cache
def is_library_file(file: str) -> bool:
    """Whether the file is installed, part of Python, not a real file (`<frozen ...>`), or ours."""
    if file.startswith("<"):
        return not file.startswith("<ipython")
    path = str(Path(file).resolve())
    return path.startswith((PACKAGE_ROOT, *_LIBRARIES)) or "site-packages" in path or "dist-packages" in path


@cache
def is_ours(file: str) -> bool:
    return not file.startswith("<") and str(Path(file).resolve()).startswith(PACKAGE_ROOT)


def package_of(kind: type) -> str:
    """'user', or the name of the installed package that the class comes from."""
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    if kind.__module__ in ("__main__", "builtins") or file is None:
        return "user"
    return kind.__module__.partition(".")[0] if is_library_file(file) else "user"


#: On torch, layers of Keras are what layers of torch are to others: whoever puts them together makes them.
_LAYERS = re.compile(r"[\\/](site|dist)-packages[\\/]keras[\\/]")


@cache
def _makes_nothing(file: str) -> bool:
    """Whether the file is torch's, Python's or ours, or no file at all (the `__init__` that a dataclass generates)."""
    if file.startswith("<"):
        return not file.startswith("<ipython")
    path = str(Path(file).resolve())
    installed = "site-packages" in path or "dist-packages" in path
    intermediary = path.startswith(_INTERMEDIARIES) or _LAYERS.search(path) is not None
    return intermediary or (path.startswith(_PYTHON) and not installed)


def author(frame: FrameType | None) -> str | None:
    """Who is at work on this stack: 'user', or the package whose code called torch. None if the training did not."""
    while frame is not None and not is_engine_frame(frame):
        file = frame.f_code.co_filename
        if not _makes_nothing(file):
            package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            return package if is_library_file(file) else "user"
        frame = frame.f_back
    return None


def made_by(path: str, modules: Mapping[str, nn.Module], *, direct: bool = False) -> str:
    """For a model whose making was not seen: who wrote the class around the module at `path`.

    Torch's own classes are nobody's (a Sequential, a TransformerEncoderLayer): whoever put them together counts.
    `direct`: the question is about a parameter of that module. If the user's class registers it, it is the user's, and
    a package's if its class does; but the weight of a Linear belongs to whoever created the Linear.
    """
    module = modules[path]
    if direct and package_of(type(module)) != "torch":
        return package_of(type(module))
    while path:
        path = path.rpartition(".")[0]
        holder = modules.get(path)
        if holder is not None and package_of(type(holder)) != "torch":
            return package_of(type(holder))
    return "user" if package_of(type(module)) in ("user", "torch") else package_of(type(module))
