"""Which folders a side imports from, and whether it really did.

An editable install points at the user's checkout, and so do `PYTHONPATH` and pytest's `pythonpath`. So a side gets the
import path of this process, with every folder of the checkout replaced by its own. Where the user's path does not have
the top of the checkout and its `src`, they come after the standard library, or else a script `profile.py` would take
the place of one of its modules; and before what is installed, which may be a copy of the project.
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
#: The same plugin serves on both sides, whatever is tested: also where it is this one's own repository.
_THE_PLUGIN = pytest_trainhealth.__name__


@dataclass(frozen=True)
class Folders:
    """`top` is the checkout's, `side` the folder that stands in for it; they are the same on the near side."""

    top: Path
    side: Path

    def other(self, path: Path | str) -> Path:
        """The same file or folder on this side. What is not in the checkout is the same on both."""
        real = Path(os.path.realpath(path))
        return self.side / real.relative_to(self.top) if real.is_relative_to(self.top) else Path(path)

    def import_path(self, entries: Iterable[str], modules: Mapping[str, Any]) -> list[str]:
        added = [self.side, self.side / "src"]
        roots = [other for root in _roots(modules, self.top) if (other := self.other(root)) not in added]
        # what git does not know, an environment inside of the checkout for one, exists only there
        rest = [str(other) if (other := self.other(entry)).exists() else entry for entry in _named(entries)]
        first, late = ([str(folder) for folder in some if folder.is_dir()] for some in (roots, added))
        after = max((place for place, entry in enumerate(rest, 1) if entry in _STANDARD), default=len(rest))
        rest[after:after] = [folder for folder in late if folder not in rest]
        return list(dict.fromkeys([*first, *rest]))

    def strangers(self, modules: Mapping[str, Any], import_path: Iterable[str]) -> list[str]:
        """Modules of the project that did not come from this side's folder."""
        roots = [Path(entry) for entry in import_path if _below(Path(entry), self.side)]
        found = []
        for name, file in _files(modules):
            if _below(file, self.side):
                continue
            of_the_checkout = _below(file, self.top) and not _installed(file)
            if of_the_checkout or ("." not in name and any(_offers(root, name) for root in roots)):
                found.append(name)
        return sorted(found)


def _named(entries: Iterable[str]) -> list[str]:
    """An empty one means the folder where the user is."""
    return [entry or str(Path.cwd()) for entry in entries]


def _files(modules: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    for name, module in list(modules.items()):
        file = getattr(module, "__file__", None)
        top_level = name.partition(".")[0]
        if isinstance(file, str) and top_level not in sys.stdlib_module_names and top_level != _THE_PLUGIN:
            yield name, Path(os.path.realpath(file))


def _roots(modules: Mapping[str, Any], top: Path) -> list[Path]:
    """Folders of the checkout that modules came from by other ways than the import path: import hooks know them."""
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
