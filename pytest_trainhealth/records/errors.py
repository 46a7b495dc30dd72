"""What was seen of an error of the user's code: the call that raised, what it was given, and what led to it.

Words, numbers and places only: an exception holds the frames that it went through, and with them every tensor there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .verdict import Place


@dataclass(frozen=True)
class GivenTensor:
    """One tensor that the call was given."""

    #: The name of the argument, as torch calls it: `input`, `weight`, `second`, `tensor 3`.
    argument: str
    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    device: str = "cpu"
    #: What it is known as: a parameter's name, or `batch[0]`; empty for what the step has computed.
    name: str = ""
    #: How many of its values are NaN, and how many infinite.
    nans: int = 0
    infinities: int = 0

    @property
    def spoken(self) -> str:
        return self.name or self.argument


@dataclass(frozen=True)
class FailedCall:
    """The torch function that raised."""

    function: str
    given: tuple[GivenTensor, ...] = ()


@dataclass(frozen=True)
class RunningModule:
    """The innermost module that was running when the error was raised."""

    path: str
    kind: str
    #: What it was made with, as far as it says which shapes it takes: in_features, in_channels, num_embeddings.
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    #: Whether its class is the user's own.
    own: bool = False

    @property
    def spoken(self) -> str:
        return f"{self.kind} {self.path}".strip()


@dataclass(frozen=True)
class BadIndex:
    """Indices that name a row which the table does not have."""

    #: The first of them, and how many rows there are.
    value: int
    rows: int
    low: int
    high: int
    count: int
    total: int
    #: The tensor that they are in, where it belongs to the batch, and the sample of the first of them.
    name: str = ""
    sample: int | None = None
    #: Where in the sample: position 17 of a sequence.
    position: int | None = None
    #: The table: a parameter's name.
    table: str = ""


@dataclass(frozen=True)
class Write:
    """A change in place, in the step that raised or the one before it."""

    operation: str
    place: Place | None
    #: A parameter's name, where one was written to.
    name: str = ""


@dataclass(frozen=True)
class HeldTensor:
    """A large tensor that was in memory when no more was to be had."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int


@dataclass(frozen=True)
class ErrorContext:
    """All that was seen of an error."""

    #: The user's own lines that it came through, outermost first.
    lines: tuple[Place, ...] = ()
    call: FailedCall | None = None
    module: RunningModule | None = None
    bad_index: BadIndex | None = None
    #: Whether it was raised while a batch was read, or in a backward pass.
    reading_data: bool = False
    in_backward: bool = False
    #: Backward passes of this step that had ended by then.
    passes_before: int = 0
    #: Writes that the message of autograd fits.
    writes: tuple[Write, ...] = ()
    #: The forward lines of the part of the graph that was freed, and whether an earlier step had made it.
    freed_at: tuple[Place, ...] = ()
    freed_earlier: bool = False
    #: The largest tensors in memory, largest first, and the bytes of all.
    held: tuple[HeldTensor, ...] = ()
    held_in_all: int = 0
    #: The value that it complains about is not finite: what it is, and "nan" or "inf".
    not_finite: str = ""
    value: str = ""
