"""What is changed in a run: the cures that are tried, and the conditions under which a training is judged.

Records rather than code, so that causes can prescribe cures without importing torch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .verdict import Fix


@dataclass(frozen=True)
class Cure:
    """One small intervention for a re-run. `kind` names the file in `cures/` that knows how."""

    kind: str
    label: str
    options: dict[str, Any] = field(default_factory=dict)
    #: What to tell the user when this is the cure that heals, if that differs from one cure to the next.
    fix: Fix | None = None


@dataclass(frozen=True)
class Condition:
    """One thing about a run that is different from usual. `kind` names a file of `conditions/` or `cures/`."""

    kind: str
    label: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Applied:
    """What the interventions of a run report about themselves."""

    #: The cure that changes the inputs of loss functions, or their results. The calls are recorded as they were before.
    to_the_loss: str = ""
    #: The step from which on a cure made the learning rate smaller, where it did not from the start.
    smaller_steps_from: int | None = None
    #: Updates that the run is to have, so that it is as long as the one without the cure.
    lasts: int | None = None
    #: The step after which nothing was learnt any more, where a cure saw to that.
    stopped_after: int | None = None
    #: Steps on batches that were never learnt from.
    held_out: list[int] = field(default_factory=list)
    #: Of the only optimizer that learns, the loss of each of its turns.
    player_losses: list[float] = field(default_factory=list)
    #: A cure kept dropout from drawing anything: the loss is that of the whole model, which is lower by itself.
    without_dropout: bool = False
    #: A cure brought back gradients that were gone when an update came: whoever clipped before it found none.
    restored_gradients: bool = False
    #: A cure gave the loss other targets: it is in another unit, and no level without the cure says anything about it.
    rescaled_targets: bool = False
    #: Cures that reported that they had nothing to do.
    without_effect: list[str] = field(default_factory=list)
    #: Parts of the state that a run keeps when it is resumed, whatever the checkpoint holds.
    carried_over: list[str] = field(default_factory=list)
    #: How the run is evaluated: as it is, "not at all", "in eval mode", or "put back" afterwards.
    evaluated: str = ""
    #: Fingerprints of what the models were called with before each update, where that is noted.
    inputs: list[tuple[str, ...]] = field(default_factory=list)
    #: How what the models are given from `val_data` is changed: not at all, "on the scale of data", or
    #: "in the order of data".
    validated: str = ""
    #: The run goes on from a checkpoint.
    resumed: bool = False
