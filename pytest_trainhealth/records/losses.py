"""The inputs of loss functions and adversaries."""

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
    #: The smallest and largest sum of its rows (along the classes), of values from 0 to 1.
    row_sums: tuple[float, float] | None = None


@dataclass
class GeneratorRange:
    """A layer that got data of the batch, and at the same step the output of another optimizer's model."""

    step: int
    layer: str
    #: The activation function that made the latter, where, and in which module.
    activation: str
    activation_module: str = ""
    activation_place: Place | None = None
    #: The range of the data, the line that passed them in, and the share that is far outside the activation's range.
    low: float = 0.0
    high: float = 0.0
    place: Place | None = None
    outside: float = 0.0


@dataclass
class LossCall:
    """One call of a loss function at one of the first steps, or a loss by hand as far as it can be recognised.

    By hand: "squared difference", "absolute difference", "difference" (one that broadcasts, whatever is done with it),
    "log-likelihood" (a choice of log-probabilities), "product", "KL divergence" (of a Gaussian from the standard one).
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
    #: Activation functions whose outputs the input is a mix of: nothing that is trained comes after them.
    mixed: tuple[str, ...] = ()
    #: Share of the targets that lie outside that activation's range.
    unreachable: float = 0.0
    classes: int | None = None
    reduction: str = "mean"
    #: What the reduction goes over, and the number of samples.
    terms: int = 0
    samples: int = 0
    #: Of the whole result, where it is a scalar.
    value: float | None = None
    result_shape: tuple[int, ...] = ()
    #: The least mean over the terms that these targets allow, and that of the best constant answer; None: not known.
    floor: float | None = None
    chance: float | None = None
    #: The targets are values of the batch itself, and not computed by the step.
    given_target: bool = False
    #: The share of each target that is spread over all classes.
    smoothing: float = 0.0
    #: Its scores are distances between samples: the right class is pushed away.
    distances: bool = False
    #: Targets that the function does not allow, and the share that it ignores.
    invalid: int = 0
    ignored: float = 0.0
    #: The value that it ignores, where the model has an output for it.
    ignored_class: int | None = None
    #: Derivative of the tensor that backward() was called on with respect to this value (to its sum, if not a scalar).
    weight: float | None = None
    #: The same where each sample has a derivative of its own: none of them is below 0, so that a log-likelihood falls.
    rises: bool = False
    #: What it adds to the tensor that backward() was called on.
    part: float | None = None
    #: What backward() was called on is this value times its weight, and nothing else.
    sole: bool = False
    #: It is the sum of this value and of others that were recorded, each times its weight, and of nothing else.
    complete: bool = False
    #: The kind of exception that it raised.
    error: str = ""


@dataclass
class Similarity:
    """What the loss consists of is the likeness of outputs and targets of the batch, which should become large."""

    #: "cosine_similarity" or "overlap" (of a mask and its prediction).
    kind: str
    step: int = 0
    place: Place | None = None
    #: The mean of the cosines, or of the prediction.
    level: float = 0.0
    #: The loss gets larger with it.
    rises: bool = False


@dataclass
class TurnedAdvantage:
    """Log-probabilities that are made larger by a critic's error which rises with the critic's own estimate."""

    step: int
    place: Place | None = None
    #: What the step returns is another figure than the loss, and so shows by itself how good the policy is.
    other_figure: bool = False


@dataclass
class LossRecord:
    """The inputs of loss functions and adversaries. The values of the loss itself are `Trace.losses`."""

    #: The inputs of loss functions at the first steps.
    calls: list[LossCall] = field(default_factory=list)
    similarities: list[Similarity] = field(default_factory=list)
    generator_ranges: list[GeneratorRange] = field(default_factory=list)
    turned_advantages: list[TurnedAdvantage] = field(default_factory=list)
