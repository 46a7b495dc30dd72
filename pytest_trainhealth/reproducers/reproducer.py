"""A step that was not finite, in a file: its batch, the state before it, and what was found.

The file holds only tensors, numbers, strings and containers of these, so that it loads with `weights_only=True`. Nobody
has to trust a file that a colleague or a CI server sends: `untrusted.py` limits what it may cost to read, `expected.py`
what it may say, and no code runs because a file names it.
"""

from __future__ import annotations

import os
import re
import secrets
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch

from ..observe.run.run import Run
from ..programs.training_program import TrainingRun
from ..records.harmless import harmless
from ..records.intervention import Condition
from ..records.trace import Trace
from ..settings import WrongSetting
from .expected import Malformed, check_fields
from .step_state import NotKept, copied
from .untrusted import Untrusted, load

_FORMAT, _VERSION = "pytest-trainhealth reproducer", 2
#: Letters. File systems take 255, and a suffix follows.
_LONGEST_NAME = 120
#: A number of a version that is not one. By judgement.
_ODD_VERSION = 1000


@dataclass(frozen=True)
class Reproducer:
    check: str
    training: str
    #: The node id; empty outside of pytest.
    test: str
    #: 'package.module:function'; empty if it cannot be imported.
    factory: str
    seed: int
    run_seed: int
    call: int
    seed_offset: int
    step: int
    conditions: tuple[Condition, ...]
    #: What the microscope found, as plain values; None if it found nothing.
    culprit: dict[str, Any] | None
    #: The verdict as JSON.
    verdict: dict[str, Any]
    #: None if only a run of all the steps before shows the failure again; then `why` says why.
    state: dict[str, Any] | None
    why: str = ""
    #: The file it was read from.
    file: str = ""


class StepCapture:
    """Wraps the step that goes under the microscope, and copies the state that the step begins with."""

    def __init__(self) -> None:
        self.trace: Trace | None = None
        self.step = 0
        #: None for a watched test, which is always run as a whole.
        self.state: dict[str, Any] | None = None
        self.trouble = ""

    def __call__(self, microscope: Callable[[Run], Any]) -> Callable[[Run], Any]:
        @contextmanager
        def look(run: Run) -> Iterator[None]:
            self.trace, self.step = run.trace, run.wrapped_step
            try:
                self.state = copied(run) if isinstance(run, TrainingRun) else None
            except Exception as error:  # a model that cannot be copied must not change its verdict
                self.trouble = one_line(error)
            with microscope(run):
                yield

        return look


def write(reproducer: Reproducer, file: Path) -> None:
    """Writes the whole file or nothing: a full disk leaves the old file in place."""
    folder = file.parent
    _make(folder)
    content = {**asdict(reproducer), "format": _FORMAT, "version": _VERSION, "torch": str(torch.__version__)}
    unfinished = file.with_name(f".{secrets.token_hex(8)}.tmp")  # nobody else has that name, in other containers too
    try:
        with open(unfinished, "xb") as opened:
            torch.save(content, opened)
        os.replace(unfinished, file)
    finally:
        unfinished.unlink(missing_ok=True)


def _make(folder: Path) -> None:
    """With a file that hides a new folder from git. If that cannot be written, the folder does not stay either: the
    next run would take it for one of the user's."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:  # perhaps made by another worker at this very moment
        return
    hides = folder / ".gitignore"
    try:
        hides.write_text("*\n")
    except OSError:
        with suppress(OSError):
            hides.unlink(missing_ok=True)
            folder.rmdir()
        raise


def read(file: str | os.PathLike[str], shown_as: str = "") -> Reproducer:
    """`shown_as` is the file's name in messages. Raises `WrongSetting`, with a message of one line.

    The file may be from anybody: nothing in it is trusted, and nothing that it names is imported.
    """
    path, shown_as = Path(file), shown_as or str(file)
    if not path.exists():
        raise WrongSetting(harmless(f"{shown_as}: there is no such file"))
    try:
        content = load(path)
    except Untrusted as error:
        raise WrongSetting(harmless(f"{shown_as} cannot be read: {error}")) from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise WrongSetting(harmless(f"{shown_as} is not a reproducer of pytest-trainhealth"))
    version = content.get("version")
    if type(version) is not int or version != _VERSION:
        number = version if type(version) is int and 0 <= version < _ODD_VERSION else "unknown"
        raise WrongSetting(harmless(f"{shown_as} is of version {number}, and this pytest-trainhealth reads {_VERSION}"))
    try:
        check_fields(content)
    except Malformed as error:
        raise WrongSetting(
            harmless(f"{shown_as} is damaged, or was made by hand: the field {error} is not valid")
        ) from None
    known = {f.name: content[f.name] for f in fields(Reproducer) if f.name != "file"}
    conditions = tuple(Condition(**each) for each in content["conditions"])
    return Reproducer(**{**known, "conditions": conditions, "file": shown_as})


def file_name(test: str, check: str) -> str:
    """The same name for the same check of the same test, so that the old file is overwritten; else a different one."""
    path, _, inside = re.sub(r"\.py(?=::|$)", "", test.partition("[")[0]).rpartition("::")
    parameters = test.partition("[")[2].removesuffix("]")
    shown_as = (path, inside, parameters, "" if check in parameters else check)
    name = "-".join(filter(None, (re.sub(r"[^\w.]+", "-", part).strip("-") for part in shown_as)))
    if len(name) > _LONGEST_NAME or re.search(r"[^\w.-]", parameters):
        name = f"{name[:_LONGEST_NAME]}-{zlib.crc32(test.encode()):08x}"
    return f"{name}.pt"


def one_line(error: BaseException) -> str:
    words = " ".join(str(error).split())
    return words if isinstance(error, NotKept) else f"{type(error).__name__}: {words:.200}"
