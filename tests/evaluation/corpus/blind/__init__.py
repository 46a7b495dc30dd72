"""Programs written blind, in batches: by someone who had read neither the package nor the rest of the corpus.

All that their author had was a list of causes, with a line on how each shows, and the form that a program has: a file
with `META` (what is wrong, where it was seen, every name that counts as right) and `build(fixed=False, seed=0)`, which
seeds itself and returns the parts of a training, or with `fixed=True` those of its healthy twin. Programs about another
promise than those of the battery name it (`META["checks"]`) and have `save`, `load` or `evaluate` of their own. Each
batch was scored once before anybody looked at its programs; what came out is in `docs/first_tries.json` and is never
changed. Rules are mended with them at hand afterwards, so they are in-sample now like the rest, and left as they were
written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_trainhealth import Training

#: The folders, in the order in which they were scored. "healthy", "second_healthy" and "odd_data" hold healthy
#: programs, "over_time" both kinds. (The folder "logs" holds files: `scoreboard/logs.py`.)
BATCHES = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "healthy",
    "sixth",
    "data",
    "odd_data",
    "seventh",
    "eighth",
    "second_healthy",
    "over_time",
    "ninth",
    "second_over_time",
    "third_healthy",
)
#: `build` seeds itself: whatever the caller has seeded, it is the same program.
SEED = 0


@dataclass(frozen=True)
class Blind:
    """One program, which is imported when it is asked for."""

    name: str
    batch: str

    @property
    def roots(self) -> tuple[str, ...]:
        """All causes that are right when named first; none for a healthy program."""
        return tuple(self._module.META["roots"])

    @property
    def checks(self) -> tuple[str, ...]:
        """Those that it is about; none where it is the battery."""
        return tuple(self._module.META.get("checks", ()))

    def broken(self) -> Training:
        """The program as it was written: with its fault, unless it is a healthy one."""
        return as_training(self._module.build(fixed=False, seed=SEED))

    def twin(self) -> Training:
        return as_training(self._module.build(fixed=True, seed=SEED))

    @property
    def _module(self) -> ModuleType:
        return import_module(f"{__name__}.{self.batch}.{self.name}")


def blind() -> dict[str, Blind]:
    """All programs by name, in the order of the batches and of the files in them."""
    folder = Path(__file__).parent
    found = [Blind(file.stem, batch) for batch in BATCHES for file in sorted((folder / batch).glob("*.py"))]
    return {program.name: program for program in found}


def as_training(parts: dict[str, Any]) -> Training:
    """A step of the program's own does everything, so a loss or a scheduler beside it is not handed over."""
    model, optimizer, data, val = (parts.get(key) for key in ("model", "optimizer", "data", "val"))
    own = {key: parts[key] for key in ("save", "load", "evaluate", "precision") if parts.get(key) is not None}
    step: Callable[[Any], Any] | None = parts.get("step")
    if step is not None:
        return Training(model, optimizer, step=step, data=data, val_data=val, **own)
    scheduler = parts.get("scheduler")
    every = None if scheduler is None else "epoch"
    return Training(
        model, optimizer, parts["loss"], data, val_data=val, scheduler=scheduler, scheduler_every=every, **own
    )
