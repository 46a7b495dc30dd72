"""What loss functions and adversaries were given."""

from __future__ import annotations

from dataclasses import dataclass, field

from .verdict import Place


@dataclass
class TensorSummary:
    """One tensor that a loss function was given."""

    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    low: float = 0.0
    high: float = 0.0
    std: float = 0.0
    #: Whole numbers only, and how many different ones among the first thousand.
    whole: bool = False
    distinct: int = 0
    #: Its rows (along the classes) are probabilities that sum to one.
    probabilities: bool = False
    #: Between what its rows (along the classes) sum up to, of values from 0 to 1.
    row_sums: tuple[float, float] | None = None


@dataclass
class GeneratorRange:
    """A layer that was given data of the batch, and at the same step what the model of another optimizer made."""

    step: int
    layer: str
    #: The activation function that made the latter, where, and in which module.
    activation: str
    activation_module: str = ""
    activation_place: Place | None = None
    #: Where the data lie, the line that handed them in, and the share that is far outside of what it can give.
    low: float = 0.0
    high: float = 0.0
    place: Place | None = None
    outside: float = 0.0


@dataclass
class LossCall:
    """One call of a loss function at one of the first steps, or a loss by hand as far as it can be recognised.

    By hand: "squared difference", "absolute difference", "log-likelihood" (a choice of log-probabilities), "product",
    "KL divergence" (of a Gaussian from the standard one).
    """

    function: str
    step: int = 0
    module: str = ""
    place: Place | None = None
    input: TensorSummary = field(default_factory=TensorSummary)
    target: TensorSummary = field(default_factory=TensorSummary)
    #: The activation function that made the input, where, in which module, and how many it normalises over (softmax).
    activation: str = ""
    activation_place: Place | None = None
    activation_module: str = ""
    over: int | None = None
    #: It normalises over the samples of the batch.
    over_batch: bool = False
    #: Share of the targets that lie outside of what that activation can give.
    unreachable: float = 0.0
    classes: int | None = None
    reduction: str = "mean"
    #: What the reduction goes over, and the number of samples.
    terms: int = 0
    samples: int = 0
    #: Of the whole result, where it is a scalar.
    value: float | None = None
    result_shape: tuple[int, ...] = ()
    #: Targets that the function does not allow, and the share that it ignores.
    invalid: int = 0
    ignored: float = 0.0
    #: Derivative of what backward() was called on by this value (by a sum over it, where it is no scalar).
    weight: float | None = None
    #: What backward() was called on is this value times its weight, and nothing else.
    sole: bool = False
    #: It is the sum of this value and of others that were recorded, each times its weight, and of nothing else.
    complete: bool = False
    #: The kind of exception that it raised.
    error: str = ""


@dataclass
class LossRecord:
    """What loss functions and adversaries were given. The values of the loss itself are `Trace.losses`."""

    #: What loss functions were given at the first steps.
    calls: list[LossCall] = field(default_factory=list)
    generator_ranges: list[GeneratorRange] = field(default_factory=list)
