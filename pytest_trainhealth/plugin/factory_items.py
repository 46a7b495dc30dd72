"""`--trainhealth-training package.module:factory`: items without a test file."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from .. import wording
from ..settings import WITH_VAL_DATA, WrongSetting, near
from .items import request_for
from .run_check import judge_item
from .stash import CHECK, IF_VAL_DATA, OPTIONS

_FLAG = "--trainhealth-training"


@dataclass(frozen=True)
class Factory:
    spec: str
    make: Callable[[], Any]


def load(spec: str, folders: tuple[Path, ...]) -> Factory:
    """Raises `WrongSetting`, which says in one line what is wrong with the name, and which names are similar."""
    module_name, colon, attribute = spec.partition(":")
    if not (module_name and colon and attribute) or "/" in module_name or module_name.endswith(".py"):
        raise WrongSetting(f"{_FLAG}: {spec!r} does not read PACKAGE.MODULE:FACTORY")
    for folder in reversed(folders):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    module = _import(module_name)
    try:
        found = attrgetter(attribute)(module)
    except AttributeError:
        # suggest only what the module defines, not what it imports
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module_name]
        raise WrongSetting(f"{_FLAG}: {module_name} has no {attribute!r}{near(attribute, own)}") from None
    if not callable(found):
        kind = wording.with_article(type(found).__name__)
        raise WrongSetting(f"{_FLAG}: {spec} is {kind}, where a function that makes a Training is needed")
    from ..programs.subject import missing_arguments

    if missing := missing_arguments(found):
        raise WrongSetting(f"{_FLAG}: {missing}")
    return Factory(spec, found)


class TrainingCollector(pytest.Collector):
    """A collector on the same level as test files, so that its items are collected, counted and listed like theirs."""

    def __init__(self, *, factory: Factory, **kwargs: Any) -> None:
        super().__init__(name=factory.spec, nodeid=factory.spec, **kwargs)
        self.factory = factory

    def collect(self) -> Iterator[TrainingItem]:
        options = self.config.stash[OPTIONS]
        for check in (*options["checks"], *WITH_VAL_DATA) if options.whole_battery else options["checks"]:
            name = f"{self.factory.spec}[{check}]"
            yield TrainingItem.from_parent(self, name=name, nodeid=name, factory=self.factory, check=check)


class TrainingItem(pytest.Item):
    """One check of the training that the factory makes."""

    def __init__(self, *, factory: Factory, check: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.factory = factory
        self.stash[CHECK] = check
        self.stash[IF_VAL_DATA] = check in WITH_VAL_DATA and self.config.stash[OPTIONS].whole_battery

    def runtest(self) -> None:
        __tracebackhide__ = True
        request = request_for(self, self.stash[CHECK], keywords={})
        judge_item(self, request, self.factory.make, benchmark=None)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The line of the factory, if it is known."""
        try:
            path = inspect.getsourcefile(self.factory.make)
            line = inspect.getsourcelines(self.factory.make)[1]
        except (OSError, TypeError):
            return self.path, None, self.name
        return (Path(path), line - 1, self.name) if path else (self.path, None, self.name)


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name != missing and not name.startswith(f"{missing}."):
            raise WrongSetting(f"{_FLAG}: importing {name} failed: {error}") from None
        parent, _, last = missing.rpartition(".")
        siblings = [m.name for m in pkgutil.iter_modules(_folders(parent)) if not m.name.startswith("_")]
        hint = near(last, siblings).partition(". Possible")[0]
        raise WrongSetting(f"{_FLAG}: there is no module {missing!r}{hint}") from None
    except Exception as error:
        line = " ".join(f"{type(error).__name__}: {error}".split())
        raise WrongSetting(f"{_FLAG}: importing {name} failed: {line}") from error


def _folders(package: str) -> list[str] | None:
    """Where the modules of a package may lie; without a package, the user's own folders."""
    return list(sys.modules[package].__path__) if package else sys.path[:2]
