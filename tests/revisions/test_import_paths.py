"""Each side imports its own files, whatever an editable install or PYTHONPATH points at."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_trainhealth.revisions.import_paths import Folders

#: As every import path has it, after the scripts' own folders and before what is installed.
STANDARD = [sysconfig.get_path("stdlib"), str(Path(sysconfig.get_path("stdlib"), "lib-dynload"))]


def files(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")


def module(file: Path) -> Any:
    return SimpleNamespace(__file__=str(file))


@pytest.fixture
def sides(tmp_path: Path) -> Folders:
    tmp_path = tmp_path.resolve()
    for root in (tmp_path / "checkout", tmp_path / "worktree"):
        files(root, "src/package/__init__.py", "lib/python/odd/inner/__init__.py", "tests/helper.py", "tool.py")
    files(tmp_path / "checkout", ".venv/lib/site-packages/installed.py")
    return Folders(tmp_path / "checkout", tmp_path / "worktree")


def test_the_import_path_of_the_other_side(sides: Folders) -> None:
    """The standard library is before what was not in the user's own path: a script may be called profile.py."""
    entries = [str(sides.top / "tests"), *STANDARD, str(sides.top / ".venv/lib/site-packages"), sys.prefix]
    assert sides.import_path(entries, {}) == [
        str(sides.root / "tests"),
        *STANDARD,
        str(sides.root),
        str(sides.root / "src"),
        str(sides.top / ".venv/lib/site-packages"),
        sys.prefix,
    ]


def test_what_the_user_has_in_the_path_stays_where_it_is(sides: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty entry is where the user is. Modules that came from the top by their file's name do not move it."""
    monkeypatch.chdir(sides.top / "tests")
    modules = {"tool": module(sides.top / "tool.py")}
    other = {part: str(sides.root / part) for part in ("", "src", "tests")}
    entries = ["", *STANDARD, sys.prefix, str(sides.top / "src")]
    expected = [other["tests"], *STANDARD, other[""], sys.prefix, other["src"]]
    assert sides.import_path(entries, modules) == expected
    assert sides.import_path([str(sides.top), *STANDARD], {})[:2] == [other[""], STANDARD[0]]


def test_the_near_side_is_set_up_the_same_way(sides: Folders) -> None:
    near = Folders(sides.top, sides.top)
    assert near.import_path([str(sides.top / "tests")], {}) == [str(sides.top / part) for part in ("tests", "", "src")]


def test_folders_that_only_an_import_hook_knows(sides: Folders) -> None:
    """As of an editable install of a package that lies elsewhere in the checkout."""
    modules = {"odd.inner": module(sides.top / "lib/python/odd/inner/__init__.py"), "os": module(Path(sys.prefix))}
    assert sides.import_path(STANDARD, modules)[:2] == [str(sides.root / "lib/python"), STANDARD[0]]


def test_modules_from_the_wrong_side(sides: Folders) -> None:
    path = sides.import_path([], {})
    right = {"package": module(sides.root / "src/package/__init__.py"), "torch": module(Path(sys.prefix) / "torch.py")}
    assert sides.foreign_modules(right, path) == []
    from_the_checkout = {"odd.inner": module(sides.top / "lib/python/odd/inner/__init__.py")}
    assert sides.foreign_modules({**right, **from_the_checkout}, path) == ["odd.inner"]
    installed = {"package": module(sides.top / ".venv/lib/site-packages/package/__init__.py")}
    assert sides.foreign_modules(installed, path) == ["package"]


def test_what_is_no_stranger(sides: Folders) -> None:
    """What is installed in the checkout's own environment, and this plugin, which serves on both sides."""
    modules = {
        "installed": module(sides.top / ".venv/lib/site-packages/installed.py"),
        "pytest_trainhealth.facts": module(sides.top / "pytest_trainhealth/facts.py"),
        "built in": SimpleNamespace(),
    }
    assert sides.foreign_modules(modules, sides.import_path([], {})) == []
