"""What was recorded while stepping: names, numbers, places; never tensors.

Checks judge a `Trace` and causes look for evidence in it, so both are tested in microseconds on made-up
ones. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite

from .facts import Place


@dataclass
class ParameterRecord:
    """One parameter. Steps are keys because norms are sampled (steps 0, 1, 2, 4, 8, ...)."""

    name: str
    shape: tuple[int, ...] = ()
    size: int = 0
    dtype: str = "float32"
    trainable: bool = True
    #: The module that holds it, its class, and who wrote the class that made that module ("user" or a package).
    module: str = ""
    module_class: str = ""
    made_by: str = "user"
    held_by: tuple[str, ...] = ()
    #: Norm of the gradient that the optimizer got; None where it got none.
    gradients: dict[int, float | None] = field(default_factory=dict)
    #: Size of an update relative to the weights.
    updates: dict[int, float] = field(default_factory=dict)
    norm: float | None = None
    moved: bool | None = None

    @property
    def has_gradient(self) -> bool:
        """Some sampled step gave it a gradient other than exactly zero."""
        return any(g is not None and g != 0 for g in self.gradients.values())

    @property
    def never_reached(self) -> bool:
        return bool(self.gradients) and all(g is None for g in self.gradients.values())

    def rms_gradients(self) -> dict[int, float]:
        """Per value rather than per tensor, so that layers of different size can be compared."""
        scale = max(self.size, 1) ** 0.5
        return {step: g / scale for step, g in self.gradients.items() if g is not None}


@dataclass
class ModuleRecord:
    """One module of the model, as far as forward hooks saw it at sampled steps."""

    path: str
    kind: str
    made_by: str = "user"
    calls: int = 0
    #: False when it ran where torch records no graph.
    grad_enabled: bool = True
    place: Place | None = None
    #: Put into the model after an optimizer had been made.
    after_optimizer: bool = False


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


@dataclass
class OptimizerRecord:
    label: str
    kind: str
    lr: dict[int, float] = field(default_factory=dict)
    steps: int = 0
    parameters: int = 0
    values: int = 0
    #: Tensors it holds that the model does not have.
    strangers: int = 0
    stranger_values: int = 0
    place: Place | None = None

    @property
    def first_lr(self) -> float | None:
        return next(iter(self.lr.values()), None)


@dataclass
class FieldRecord:
    """One tensor of a batch."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    low: float
    high: float
    mean: float = 0.0
    std: float = 0.0
    nonfinite: int = 0
    #: Index of the first sample with a value that is not finite.
    bad_sample: int | None = None


@dataclass
class GraphEnd:
    """A place in the user's source where the autograd graph ends."""

    operation: str
    module: str
    place: Place | None = None


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


@dataclass
class GuiltyOperation:
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


@dataclass
class Crash:
    """An exception that came out of the user's code."""

    kind: str
    message: str
    step: int
    place: Place | None = None


@dataclass
class Trace:
    losses: list[float] = field(default_factory=list)
    #: backward() calls and optimizer steps, step by step.
    backwards: list[int] = field(default_factory=list)
    updates: list[int] = field(default_factory=list)
    parameters: dict[str, ParameterRecord] = field(default_factory=dict)
    modules: dict[str, ModuleRecord] = field(default_factory=dict)
    activations: dict[str, ActivationRecord] = field(default_factory=dict)
    optimizers: dict[str, OptimizerRecord] = field(default_factory=dict)
    #: Size of all gradients right after backward() (per value), and of those that the optimizers got (together).
    after_backward: dict[int, float] = field(default_factory=dict)
    at_update: dict[int, float] = field(default_factory=dict)
    #: Steps at which an optimizer used gradients that still held the previous step's.
    stale_gradients: dict[str, list[int]] = field(default_factory=dict)
    #: Where zero_grad() was called between backward() and step().
    cleared_at: Place | None = None
    fields: dict[int, list[FieldRecord]] = field(default_factory=dict)
    graph_ends: list[GraphEnd] = field(default_factory=list)
    nonfinite: NonFinite | None = None
    guilty: GuiltyOperation | None = None
    crash: Crash | None = None
    #: False when backward() was called on a loss that no trainable parameter reaches.
    loss_connected: bool = True
    batch_size: int | None = None
    #: Seconds per step: waiting for the batch, and everything else.
    waits: list[float] = field(default_factory=list)
    computes: list[float] = field(default_factory=list)
    #: Cures that reported that they had nothing to do.
    without_effect: list[str] = field(default_factory=list)
    #: The run was cut short before it could show anything (the reason).
    cut_short: str = ""

    @classmethod
    def of(cls, losses: Iterable[float] = (), parameters: Sequence[ParameterRecord] = ()) -> Trace:
        """A made-up trace, for tests of judgement."""
        values = [float(x) for x in losses]
        return cls(
            losses=values,
            backwards=[1] * len(values),
            updates=[1] * len(values),
            parameters={p.name: p for p in parameters},
            batch_size=16,
        )

    @property
    def steps(self) -> int:
        return len(self.losses)

    @property
    def trainable(self) -> list[ParameterRecord]:
        return [p for p in self.parameters.values() if p.trainable]

    @property
    def frozen(self) -> list[ParameterRecord]:
        return [p for p in self.parameters.values() if not p.trainable]

    @property
    def finite(self) -> bool:
        return self.nonfinite is None and all(isfinite(x) for x in self.losses)

    @property
    def update_count(self) -> int:
        return sum(self.updates)
