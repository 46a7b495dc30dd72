"""Sizes of values inside the model, and those that are not finite."""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors import ErrorContext
from .verdict import Place


@dataclass
class ActivationRecord:
    """One activation function in one module: a module of its own or a call such as `F.relu`."""

    function: str
    module: str
    units: int
    #: Share of units that were 0 for every sample, by sampled step.
    dead: dict[int, float] = field(default_factory=dict)
    #: Share of outputs at the ends of a bounded function, by sampled step.
    saturated: dict[int, float] = field(default_factory=dict)
    place: Place | None = None
    #: A rectifier that is a module of its own; and whether that overwrites its input.
    is_module: bool = False
    in_place: bool = False
    #: Of a softmax: the module whose weights its outputs are multiplied with.
    feeds: str = ""


@dataclass
class DropoutRecord:
    """One call of a dropout function at step 0 that set values to 0."""

    share: float
    module: str
    place: Place | None = None


@dataclass
class HalfRecord:
    """Operations whose results were float16 or bfloat16."""

    dtype: str
    operation: str
    module: str
    calls: int = 0
    #: Largest size of a finite value among the results.
    largest: float = 0.0
    place: Place | None = None
    #: The first operation that made Inf out of finite values.
    overflow: str = ""
    overflow_place: Place | None = None
    #: It left nothing of what went in: of several values, each is Inf.
    overflows_whole: bool = False


@dataclass
class NonFinite:
    """The first value that was not finite."""

    step: int
    where: str
    value: str


@dataclass
class Range:
    """One tensor that went into an operation."""

    low: float
    high: float
    smallest: float
    zeros: float
    dtype: str
    shape: tuple[int, ...] = ()
    #: Share of values that were already infinite; the other figures are about the rest.
    infinite: float = 0.0


@dataclass
class FirstBadOperation:
    """The first operation that made a non-finite value, as the microscope saw it."""

    operation: str
    phase: str
    value: str
    module: str = ""
    place: Place | None = None
    inputs: tuple[Range, ...] = ()
    #: The inputs were finite: the operation itself did it.
    from_finite: bool = True
    step: int = 0
    sample: int | None = None
    #: No part of the model had run by then, so that it is none of the loss either.
    before_model: bool = False


@dataclass
class Crash:
    """An exception that came out of the user's code."""

    kind: str
    message: str
    step: int
    place: Place | None = None
    #: The same of the error that it was raised from (`raise ... from`), the first of the chain; else its own.
    origin_kind: str = ""
    origin_message: str = ""
    seen: ErrorContext = field(default_factory=ErrorContext)

    @property
    def first_kind(self) -> str:
        return self.origin_kind or self.kind

    @property
    def first_message(self) -> str:
        """What to explain: one that was raised from another only says where it was caught."""
        return self.origin_message or self.message


@dataclass
class NearDanger:
    """An operation on a line of the user's that is not finite everywhere, and how close it came to that."""

    operation: str
    place: Place
    #: The smallest distance of an argument to where the danger begins, by step.
    gaps: dict[int, float] = field(default_factory=dict)
    #: Distances are to be compared by their difference (an exponent), not by their ratio.
    evenly: bool = False


@dataclass(frozen=True)
class Found:
    """An input inside the data's bounds that the search found, with which a step is not finite."""

    operation: str
    #: The line of the operation that was aimed at.
    place: Place | None
    #: Of the training, counted from 0.
    step: int
    #: Moves along the gradient that it took.
    moves: int
    #: The field of the batch that was moved furthest, how many of its samples were moved, and the range it came to.
    field: str
    samples: int
    low: float
    high: float

    def describe(self) -> str:
        at = "" if self.place is None else f" at {self.place}"
        steps = f"{self.moves} step{'' if self.moves == 1 else 's'}"
        return f"an input inside the data's bounds that the search found ({steps} towards {self.operation}{at})"


@dataclass
class NumbersRecord:
    """Everything about the sizes of values inside the model."""

    activations: dict[str, ActivationRecord] = field(default_factory=dict)
    #: Values per channel that a BatchNorm in training mode was given, the fewest of all looks, by path.
    values_per_channel: dict[str, int] = field(default_factory=dict)
    #: The same in the largest call.
    most_values_per_channel: dict[str, int] = field(default_factory=dict)
    dropouts: list[DropoutRecord] = field(default_factory=list)
    #: Lines outside the model that take the size of a parameter with its gradient.
    penalties: list[Place] = field(default_factory=list)
    #: Names of the torch functions that ran inside the model at step 0.
    operations: set[str] = field(default_factory=set)
    halves: dict[str, HalfRecord] = field(default_factory=dict)
    #: By operation and line; at steps 2, 8, 32, ...
    near_dangers: dict[str, NearDanger] = field(default_factory=dict)
    culprit: FirstBadOperation | None = None
