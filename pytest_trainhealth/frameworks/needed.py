"""Packages that only some users have: imported when they are needed, or asked for by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class NotInstalled(ImportError):
    """A package is missing; the message says how to get it."""


def needed(package: str, extra: str) -> Any:
    """The package, imported. `extra`: the optional dependency of this package that brings it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package.partition(".")[0]:
            raise  # it is there, and something that it needs is not
        message = f'{package} is not installed: pip install "pytest-trainhealth[{extra}]"'
        raise NotInstalled(message, name=error.name) from None
