"""How a revision finds the same training: by the test's node id, or by the function that makes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..settings import OUTLETS
from .git import CannotCompare
from .import_paths import Folders
from .protocol import Message

if TYPE_CHECKING:
    import pytest

#: Other plugins that may be active without an option, and how to turn each off.
_WITHOUT = {"xdist": ("-n0",), "_cov": ("--no-cov",), "timeout": ("--timeout=0",)}
#: Settings of a project that are not for this run: which tests to leave out, which reports to write.
_CLEARED = ("addopts", "log_file")


@dataclass(frozen=True)
class TestLocator:
    """`folder` is the folder that pytest was started in."""

    #: Keeps pytest from collecting it as a test because of its name.
    __test__ = False

    file: Path
    folder: Path
    function: str | None = None
    #: The node id without the check; what follows is for pytest.
    test: str = ""
    rootdir: Path | None = None
    ini: Path | None = None
    options: tuple[str, ...] = ()
    #: Which of the test's calls of the fixture, if it has several.
    call: int = 0

    def order(self, folders: Folders, cache: Path) -> Message:
        """What the process of the revision with these folders has to know."""
        message: Message = {
            "file": str(folders.other(self.file)),
            "folder": str(_existing(folders.other(self.folder), folders.root)),
            "function": self.function,
            "test": self.test,
            "call": self.call,
        }
        if self.function is None:
            message["target"] = message["file"] + self.test[self.test.index("::") :].partition("[")[0]
            apart = ["-o", f"cache_dir={cache}", f"--basetemp={cache}-files"]
            for outlet in OUTLETS:
                apart += ["-o", f"{outlet.key}={cache}.{outlet.name}"]
            message["arguments"] = [*self.options, *apart, *self._where(folders)]
        return message

    def _where(self, folders: Folders) -> list[str]:
        where = [] if self.rootdir is None else [f"--rootdir={folders.other(self.rootdir)}"]
        if self.ini is not None and folders.other(self.ini).is_file():
            where += ["-c", str(folders.other(self.ini))]
        return where


def of_test(config: pytest.Config, test: str) -> TestLocator:
    """Passes on only some options: reports must not be written twice, and paths would point into this checkout."""
    options = ["--trainhealth", f"--import-mode={config.getoption('importmode')}"]
    for plugin in config.getoption("plugins") or ():
        options += ["-p", plugin]
    for override in (*(config.getoption("override_ini") or ()), *(f"{name}=" for name in _CLEARED)):
        options += ["-o", override]
    if config.getoption("noconftest"):
        options.append("--noconftest")
    for name, turned_off in _WITHOUT.items():
        if config.pluginmanager.has_plugin(name):
            options += turned_off
    return TestLocator(
        file=config.rootpath / test.partition("::")[0],
        folder=config.invocation_params.dir,
        test=test,
        rootdir=config.rootpath,
        ini=config.inipath,
        options=tuple(options),
    )


def of_function(subject: Callable[[], object] | Any) -> TestLocator:
    """For `diagnose()`, which has no test. Takes a function at the top level of a file."""
    name = getattr(subject, "__qualname__", "")
    if not inspect.isfunction(subject) or not name.isidentifier():
        raise CannotCompare("only a test, or a function at the top of a file, can be found in another revision")
    return TestLocator(file=Path(subject.__code__.co_filename).absolute(), folder=Path.cwd(), function=name)


def _existing(folder: Path, otherwise: Path) -> Path:
    return folder if folder.is_dir() else otherwise
