"""What tells two runs apart that have to be the same: fingerprints, and where runs take what no seed decides."""

from __future__ import annotations

from dataclasses import dataclass, field

from .verdict import Place


@dataclass(frozen=True)
class EntropyRecord:
    """A call by the user's code that answers differently each time, whatever the seeds are."""

    #: "clock", "system" or "hash".
    source: str
    call: str
    place: Place | None = None


@dataclass(frozen=True)
class LostRecord:
    """A part of the state that is other after loading than it was when saving."""

    #: "weights", "buffers", "attributes", "optimizer", "scheduler", "scaler", "random numbers", "loop", "data".
    kind: str
    name: str
    #: What is shown of a plain value: '7 -> 0'.
    words: str = ""


@dataclass
class StateRecord:
    #: By step: of the batch, and of the generators of random numbers after it (torch, numpy, Python).
    batches: list[str] = field(default_factory=list)
    draws: list[tuple[str, ...]] = field(default_factory=list)
    #: Of each parameter and buffer when the run ended, by name.
    end: dict[str, str] = field(default_factory=dict)
    #: Parameters that began with other values than in the run before.
    starts_differently: tuple[str, ...] = ()
    entropy: list[EntropyRecord] = field(default_factory=list)
    #: With how many threads torch computed.
    threads: int = 1
    #: Recorded on a `Training`; not on a watched test.
    from_training: bool = False
    #: The step before which the run was interrupted, or a checkpoint saved; None where that was not possible.
    saved_at: int | None = None
    #: The file that the user's `save` has written; empty where there is none.
    checkpoint: str = ""
    #: Of a run that was resumed: what the checkpoint does not bring back.
    lost: list[LostRecord] = field(default_factory=list)
    #: What `save` or `load` raised.
    failure: str = ""
