"""What the processes of a distributed training have reported, rank by rank and update by update."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .verdict import Place

#: How a rank ended: it took its steps; it raised; it was killed or ended by itself; it waits in vain; or others ended
#: the run first.
End = Literal["done", "raised", "gone", "waits", "stopped"]


@dataclass(frozen=True)
class TensorSketch:
    """A tensor in a few numbers. Sums and differences of sketches are those of the tensors, so that what lies in
    different processes can be compared without sending it."""

    norm: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class UpdateRecord:
    """What one rank saw of one optimizer step, by the names of parameters."""

    #: As they were when the optimizer began; where each rank holds a part, this one's.
    parameters: Mapping[str, TensorSketch] = field(default_factory=dict)
    #: The gradients that the optimizer got.
    used: Mapping[str, TensorSketch] = field(default_factory=dict)
    #: The gradients as backward() computed them from this rank's own samples, before anything was exchanged.
    local: Mapping[str, TensorSketch] = field(default_factory=dict)
    #: Buffers as the forward pass found them, without statistics of normalisation.
    buffers: Mapping[str, TensorSketch] = field(default_factory=dict)
    #: A fingerprint of what the model was given; empty if that is not known.
    inputs: str = ""
    #: The same of the batch that the step was given, of which it may use a part.
    batch: str = ""
    loss: float = 0.0


@dataclass
class RankRecord:
    """One process."""

    rank: int
    updates: list[UpdateRecord] = field(default_factory=list)
    #: Updates in all, with those that were not looked at.
    taken: int = 0
    end: End = "stopped"
    #: How many batches an epoch of it has, if known.
    batches: int | None = None
    #: Shapes of parameters by their names.
    shapes: Mapping[str, str] = field(default_factory=dict)
    #: Parameters of which each rank holds a part.
    shards: tuple[str, ...] = ()
    #: BatchNorm layers that use the samples of their own rank alone.
    batch_norms: tuple[str, ...] = ()
    #: Layers that draw random numbers.
    random_layers: tuple[str, ...] = ()
    #: Why it cannot be compared with other ranks, if it cannot.
    unfit: str = ""
    watched: bool = False
    #: Its code asks for its rank, or exchanges something with others. Known at the end.
    distributed: bool = True
    #: Parameters that the latest backward pass did not reach.
    without_gradient: tuple[str, ...] = ()
    #: What it raised, or was killed by, in one line.
    error: str = ""
    #: The user's line that it raised at, or waits at, and in what.
    place: Place | None = None
    waits_in: str = ""
    #: The lines of its traceback.
    traceback: tuple[str, ...] = ()


@dataclass
class RanksRecord:
    """All processes of one run. `joint` is a process of its own that was given the samples of all ranks at once."""

    ranks: list[RankRecord] = field(default_factory=list)
    joint: UpdateRecord | None = None
    why_no_joint: str = ""
    #: Seconds without progress after which ranks were taken to hang.
    patience: float = 0.0

    @property
    def world(self) -> int:
        return len(self.ranks)


def update_of(message: Mapping[str, Any]) -> UpdateRecord:
    """From what a process has sent."""
    fields = {
        name: {each: TensorSketch(norm, tuple(values)) for each, (norm, values) in message[name].items()}
        for name in ("parameters", "used", "local", "buffers")
    }
    return UpdateRecord(**fields, inputs=message["inputs"], batch=message["batch"], loss=message["loss"])
