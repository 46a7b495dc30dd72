"""Batches, and what happens to them and to stored tensors."""

from __future__ import annotations

from dataclasses import dataclass, field

from .survey import SurveyRecord
from .verdict import Place


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
class ToldClass:
    """One of two classes in one step: how many labels of it came, and how many of these the model told."""

    step: int
    label: int
    came: int
    recognised: int


@dataclass
class ScaleRecord:
    """One float tensor at step 0: what a model was called with, or what its output was compared with."""

    #: As the user knows it: `batch[0]`, or the argument's name.
    name: str
    shape: tuple[int, ...]
    #: Mean over the features of their absolute means, and of their spreads.
    mean: float
    std: float
    low: float
    high: float
    #: The largest of any feature's mean and spread.
    largest: float = 0.0
    target: bool = False
    #: Sample with the largest value, and how many times the largest value of the median sample that is.
    outlier: int | None = None
    outlier_ratio: float = 0.0
    place: Place | None = None


@dataclass
class Alignment:
    """How well inputs predict targets, as they were used and in another order, leaving each sample out."""

    samples: int
    #: "classes" (the scores are accuracies) or "values" (the shares of the variance that are explained).
    kind: str
    chance: float
    used: float
    best: float
    #: The other order, and whether the step ("step") or the data ("data") put them out of it.
    order: str = ""
    by: str = "data"
    #: Samples that the step certainly gives the target of another sample.
    crossed: int = 0
    place: Place | None = None
    #: In the order used, targets are predicted no better than by a constant answer.
    at_chance: bool = False
    #: The inputs are no white noise: their columns go together.
    structured: bool = False


@dataclass
class Repaired:
    """Later epochs have the same inputs as the first and, overall, the same targets, but paired differently."""

    samples: int
    #: Of these, with a different target from before; all later epochs together.
    changed: int
    place: Place | None = None
    #: Epochs after the first. More than one if they have few samples.
    later: int = 1


@dataclass
class SampleChange:
    """A sample that differed each time it was read, and the attribute that reading wrote into.

    Or a batch of the user's own loader that differed at each visit, because the step wrote into it.
    """

    dataset: str
    attribute: str
    index: int
    means: tuple[float, ...]
    place: Place | None = None
    by_step: bool = False


@dataclass
class DriftingBatch:
    """A tensor of a batch in a list that a step writes into, and again when it gets the batch as it was left."""

    name: str
    #: Shares of its values that were changed: at the first visit, and at the second.
    shares: tuple[float, float]
    #: Before the first visit, and after each.
    means: tuple[float, float, float]
    place: Place | None = None


@dataclass
class KeptTensor:
    """A buffer, or another tensor kept by one of the user's modules: how far it moved from its start."""

    name: str
    size: float = 0.0
    changes: dict[int, float] = field(default_factory=dict)
    place: Place | None = None


@dataclass
class DataRecord:
    """Everything about the batches and stored tensors."""

    fields: dict[int, list[FieldRecord]] = field(default_factory=dict)
    scales: list[ScaleRecord] = field(default_factory=list)
    alignment: Alignment | None = None
    repaired: Repaired | None = None
    sample_change: SampleChange | None = None
    drifting_batch: DriftingBatch | None = None
    kept_tensors: dict[str, KeptTensor] = field(default_factory=dict)
    #: A look through the data themselves.
    survey: SurveyRecord | None = None
    told_classes: list[ToldClass] = field(default_factory=list)
