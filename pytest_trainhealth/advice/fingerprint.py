"""Whether a training is the one that was measured before: by what it does, and by the code that it is made of."""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
from pathlib import Path
from typing import Any

import torch

from ..observe.source.authorship import is_library_file
from ..records.advice import TimedRun
from ..training import Training


def fingerprint(training: Training, factory: object, first: TimedRun) -> str:
    """`first`: a run of it as it is. Every loss of it is in here: whatever changes one of them is another training.

    What only changes the time of a step does not show there: so the files that it comes from count as well.
    """
    made = hashlib.sha256()
    loader = training.data
    for part in (
        [loss.hex() for loss in first.losses],
        [getattr(loader, name, None) for name in ("batch_size", "num_workers")],
        [torch.__version__, torch.get_num_threads(), platform.machine(), os.cpu_count(), str(training.device)],
        *_sources(training, factory),
    ):
        made.update(repr(part).encode())
    return made.hexdigest()[:24]


def _sources(training: Training, factory: object) -> list[bytes]:
    dataset = getattr(training.data, "dataset", None)
    parts = [factory, training.loss, training.criterion, training.step, dataset, *training.modules.values()]
    files = {file for each in parts if each is not None and (file := _file_of(each))}
    return [Path(file).read_bytes() for file in sorted(files)]


def _file_of(thing: Any) -> str:
    """Of the user's own: libraries have their versions. Empty where there is none, as in a notebook."""
    for each in (thing, getattr(thing, "func", None), type(thing)):
        try:
            file = inspect.getsourcefile(inspect.unwrap(each)) if callable(each) else None
        except (TypeError, ValueError):
            continue
        if file is not None and os.path.isfile(file):
            return "" if is_library_file(file) else file
    return ""
