"""A checkpoint that the user's `save` has written, and what the run was like at that moment, for the run that resumes.

Everything of it goes when the trace of the run that saved it does.
"""

from __future__ import annotations

import tempfile
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Checkpoint:
    path: Path
    #: Copies of all parts (`loop_state.parts_of`), and their fingerprints.
    values: dict[str, Any]
    prints: dict[str, str]
    #: The batches of the steps after it, and the random numbers before the first of them.
    batches: list[Any] = field(default_factory=list)
    random: Any = None
    #: Of the built-in step: the losses of the epoch so far, and its loss scaler.
    epoch: list[float] = field(default_factory=list)
    scaler: Any = None


_KEPT: dict[str, Checkpoint] = {}


def new_folder(owner: Any) -> Path:
    """An empty folder that lasts as long as its owner."""
    folder = tempfile.TemporaryDirectory(prefix="trainhealth-")
    weakref.finalize(owner, folder.cleanup)
    return Path(folder.name)


def keep(checkpoint: Checkpoint, owner: Any) -> None:
    _KEPT[str(checkpoint.path)] = checkpoint
    weakref.finalize(owner, _KEPT.pop, str(checkpoint.path), None)


def kept(path: str) -> Checkpoint:
    return _KEPT[path]
