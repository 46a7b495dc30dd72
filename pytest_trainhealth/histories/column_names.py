"""Which columns of a log say where an entry stands, and which say what it belongs to."""

from __future__ import annotations

import re
from typing import Literal

#: What a column holds: the step, the epoch, the seconds since some moment, the part of the data, or a value.
Role = Literal["step", "epoch", "clock", "part", "value"]

_STEP = {
    *("step", "steps", "global_step", "globalstep", "iteration", "iterations", "iter", "it", "trainer_global_step"),
    *("train_global_step", "batch", "batch_idx", "update", "updates", "num_updates", "total_steps", "timesteps"),
}
_EPOCH = {"epoch", "epochs", "ep", "trainer_epoch", "train_epoch"}
_CLOCK = {"timestamp", "wall_time", "walltime", "runtime", "elapsed", "elapsed_seconds", "wall"}
_PART = {"phase", "split", "stage", "mode", "subset", "part"}


def normalised(name: str) -> str:
    """'trainer/global_step', 'Trainer Global-Step' and '_step' alike."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")


def role_of(name: str) -> Role:
    plain = normalised(name)
    if plain in _STEP:
        return "step"
    if plain in _EPOCH:
        return "epoch"
    if plain in _CLOCK:
        return "clock"
    return "part" if plain in _PART else "value"


def of_part(name: str, part: str) -> str:
    """In a log with a column 'phase', the loss of 'val' is 'val_loss'."""
    return f"{part.strip().lower()}_{name}" if part.strip() else name
