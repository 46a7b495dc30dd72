"""Which file holds the baseline of a test: beside the test, readable, and no other test's."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from .stash import CHECK

FOLDER = "trainhealth_baselines"
#: What every file system takes, and no shell obeys. Brackets are those of pytest's parameters.
_HARMLESS = re.compile(r"[^A-Za-z0-9_.,+=@\[\]-]")
#: Characters of a name. File systems take 255 bytes; by judgement, a listing with more is not read.
_LONGEST = 120
#: Letters of a hash. By judgement: 8 tell a million names of one folder apart.
_LETTERS = 8


def baseline_of(item: pytest.Item, test: str, call: int, given: str | None) -> Path:
    """`call`: how many times this test has asked for the check; the fixture may have several trainings judged."""
    near = item.config.invocation_params.dir if CHECK in item.stash else item.path.parent
    if given is not None:
        return near / Path(given).expanduser()
    file, _, names = test.partition("::")
    name = names.replace("::", ".") or file
    if call > 1:
        name = f"{name}.{call}"
    folder = near / FOLDER
    return (folder / item.path.stem if names else folder) / f"{file_name(name)}.json"


def file_name(name: str) -> str:
    """The name itself, if any file system takes it; else what is left of it, and a hash that tells it from others."""
    plain = _HARMLESS.sub("_", name)
    if plain == name and len(name) <= _LONGEST and not name.endswith("."):
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass")).hexdigest()[:_LETTERS]
    return f"{plain[: _LONGEST - _LETTERS - 1].rstrip('.')}-{digest}"
