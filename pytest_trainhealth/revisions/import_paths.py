"""Which folders a revision imports from, and whether it really did.

An editable install points at the user's checkout, and so do `PYTHONPATH` and pytest's `pythonpath`. So each revision
gets the import path of this process, with every folder of the checkout replaced by its own. If the user's path lacks
the top of the checkout and its `src`, they are added: after the standard library, or else a script `profile.py` would
hide the module of that name, and before installed packages, which may include a copy of the project.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest_trainhealth

_INSTALLED = {"site-packages", "dist-packages"}
_OF_PYTHON = {name: sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
_STANDARD = {*_OF_PYTHON.values(), *(str(Path(folder, "lib-dynload")) for folder in _OF_PYTHON.values())}
#: Both revisions use the same plugin, even if it is the plugin's own repository that is tested.
_THE_PLUGIN = pytest_trainhealth.__name__


@dataclass(frozen=True)
class Folders:
    """`top` is the top folder of the user's checkout, `root` the revision's own copy of it. For the current revision
    they are the same folder."""

    top: Path
    root: Path

    def other(self, path: Path | str) -> Path:
        """The same file or folder in this revision. A path outside the checkout is the same for both."""
        real = Path(os.path.realpath(path))
        return self.root / real.relative_to(self.top) if real.is_relative_to(self.top) else Path(path)

    def import_path(self, entries: Iterable[str], modules: Mapping[str, Any]) -> list[str]:
        added = [self.root, self.root / "src"]
        roots = [other for root in _roots(modules, self.top) if (other := self.other(root)) not in added]
        # what git does not track, such as an environment inside the checkout, exists only in the checkout
        rest = [str(other) if (other := self.other(entry)).exists() else entry for entry in _named(entries)]
        first, late = ([str(folder) for folder in some if folder.is_dir()] for some in (roots, added))
        after = max((place for place, entry in enumerate(rest, 1) if entry in _STANDARD), default=len(rest))
        rest[after:after] = [folder for folder in late if folder not in rest]
        return list(dict.fromkeys([*first, *rest]))

    def foreign_modules(self, modules: Mapping[str, Any], import_path: Iterable[str]) -> list[str]:
        """Modules of the project that did not come from this revision's folder."""
        roots = [Path(entry) for entry in import_path if _below(Path(entry), self.root)]
        found = []
        for name, file in _files(modules):
            if _below(file, self.root):
                continue
            of_the_checkout = _below(file, self.top) and not _installed(file)
            if of_the_checkout or ("." not in name and any(_offers(root, name) for root in roots)):
                found.append(name)
        return sorted(found)


def _named(entries: Iterable[str]) -> list[str]:
    """An empty entry means the current folder."""
    return [entry or str(Path.cwd()) for entry in entries]


def _files(modules: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    for name, module in list(modules.items()):
        file = getattr(module, "__file__", None)
        top_level = name.partition(".")[0]
        if isinstance(file, str) and top_level not in sys.stdlib_module_names and top_level != _THE_PLUGIN:
            yield name, Path(os.path.realpath(file))


def _roots(modules: Mapping[str, Any], top: Path) -> list[Path]:
    """Folders of the checkout that modules were imported from, also those that only an import hook knows."""
    roots: dict[Path, None] = {}
    for name, file in _files(modules):
        if not _below(file, top) or _installed(file):
            continue
        parts = (*name.split("."), "__init__") if file.stem == "__init__" else tuple(name.split("."))
        if file.with_suffix("").parts[-len(parts) :] == parts and len(file.parts) > len(parts):
            roots[Path(*file.parts[: -len(parts)])] = None
    return list(roots)


def _offers(root: Path, name: str) -> bool:
    return (root / f"{name}.py").is_file() or (root / name / "__init__.py").is_file()


def _below(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder)


def _installed(file: Path) -> bool:
    return bool(_INSTALLED & set(file.parts)) or (sys.prefix != sys.base_prefix and _below(file, Path(sys.prefix)))
