"""Put a changed module into a running program: other modules hold its functions by now, so these are changed in place.

A fresh import would be simpler, and would cost every trial the start of pytest and of the package again.
"""

from __future__ import annotations

import contextlib
import sys
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any


def put_in(path: Path, code: CodeType) -> None:
    """Whatever the module at ``path`` defines is from now on as ``code`` has it."""
    module = _module_at(path)
    fresh: dict[str, Any] = {name: vars(module).get(name) for name in ("__name__", "__package__", "__file__")}
    fresh["__path__"] = vars(module).get("__path__")
    exec(code, fresh)
    for name, new in fresh.items():
        old = vars(module).get(name)
        if name.startswith("__") or new is old or _changed_in_place(old, new):
            continue
        for holder in _holders(module, name, old):
            setattr(holder, name, new)
    _forget(module.__name__.partition(".")[0])


def _module_at(path: Path) -> ModuleType:
    """Imported by now: what is imported only when it is needed would come unchanged afterwards."""
    with_files = [module for module in [*sys.modules.values()] if getattr(module, "__file__", None)]
    found = [module for module in with_files if Path(str(module.__file__)).resolve() == path]
    return found[0] if found else import_module(".".join(path.relative_to(Path.cwd()).with_suffix("").parts))


def _holders(module: ModuleType, name: str, old: object) -> list[ModuleType]:
    """A constant that others have imported by its name is theirs, too."""
    if name.startswith("_"):
        return [module]
    others = [other for other in [*sys.modules.values()] if isinstance(other, ModuleType) and other is not module]
    return [module, *(other for other in others if vars(other).get(name, others) is old)]


def _changed_in_place(old: Any, new: Any) -> bool:
    """False for a plain value, which has to be set wherever it is held."""
    if isinstance(new, FunctionType) and isinstance(old, FunctionType):
        _same_code(old, new)
    elif hasattr(new, "cache_clear") and hasattr(old, "__wrapped__"):
        _same_code(old.__wrapped__, new.__wrapped__)
    elif isinstance(new, type) and isinstance(old, type):
        _class_changed(old, new)
    else:
        return False
    return True


def _same_code(old: FunctionType, new: FunctionType) -> None:
    old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__


def _class_changed(old: type, new: type) -> None:
    for name, value in vars(new).items():
        before = vars(old).get(name)
        if isinstance(value, property) and isinstance(before, property):
            value, before = value.fget, before.fget
        if isinstance(value, FunctionType) and isinstance(before, FunctionType):
            with contextlib.suppress(ValueError):  # what dataclass() makes has variables of its own
                _same_code(before, value)
                continue
        if name == "__init__":
            setattr(old, name, value)


def _forget(package: str) -> None:
    """What a cached function has returned was made of the module as it was."""
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] == package:
            for value in [*vars(module).values()]:
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
