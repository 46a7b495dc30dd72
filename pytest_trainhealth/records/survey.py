"""What a look through the data themselves shows: values, labels, features, and samples that are there twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

from .verdict import Place


def placed(source: str, batch: int | None, sample: int | None) -> str:
    """'sample 3 of batch 5 of data', as far as it is known."""
    words = [] if sample is None else [f"sample {sample}"]
    return " of ".join([*words, *([] if batch is None else [f"batch {batch}"]), source])


@dataclass
class BadValues:
    """Values of a field that are not finite: the first batch that holds some, and what a step with it comes to."""

    #: "data" or "val_data".
    source: str
    name: str
    #: None where samples were taken from the tensors of a data set, past its loader: then `sample` is the row there.
    batch: int | None
    sample: int | None
    count: int
    total: int
    #: Of all batches that were read, how many hold some.
    batches: int = 1
    #: Whether a step was taken with that batch, and what was wrong with it: "gives a loss of nan". Empty: nothing.
    tried: bool = False
    outcome: str = ""

    @property
    def where(self) -> str:
        return placed(self.source, self.batch, self.sample)


@dataclass
class BadLabels:
    """Targets that the loss function does not allow, and what a step with their batch comes to."""

    source: str
    name: str
    batch: int | None
    sample: int | None
    count: int
    low: float
    high: float
    function: str
    #: Outputs of the model, for a loss that takes classes.
    classes: int | None = None
    #: How many of the labels that the loss was given in the step it does not allow.
    given: int = 0
    tried: bool = False
    outcome: str = ""
    place: Place | None = None

    @property
    def where(self) -> str:
        return placed(self.source, self.batch, self.sample)


@dataclass
class FieldSurvey:
    """One field of the batches, a row per sample. Features are the columns of its rows."""

    name: str
    samples: int
    features: int
    #: Of features: the size of the mean of their means, and the mean of their spreads.
    mean: float = 0.0
    std: float = 0.0
    #: The feature with the largest mean or spread, that size, and the median of these sizes over all features.
    largest_feature: int = 0
    largest: float = 0.0
    usual: float = 0.0
    #: That feature is large in nearly every sample, not in single ones.
    raw_column: bool = False
    #: Features with the same value in all samples, the first of them, and how many were looked at.
    constant: int = 0
    first_constant: int | None = None
    looked_at: int = 0
    #: Of a table most of which never changes: the features that do are measured numbers, no codes of a few values.
    rest_is_measured: bool = False
    is_input: bool = False
    #: A table: one number per feature and sample, no image and no sequence.
    is_table: bool = False
    #: The largest sample, where it is (its batch, if there are any, and its place), and how many times the median one
    #: that is.
    outlier: tuple[int | None, int] | None = None
    outlier_ratio: float = 0.0


@dataclass
class ClassSurvey:
    """The classes of a target: of samples, or of the pixels or tokens of each."""

    name: str
    counts: dict[int, int]
    samples: int
    #: Several labels a sample, as in segmentation.
    dense: bool = False
    #: The mean over batches of the share of their largest class, and the same of all batches together.
    in_a_batch: float = 0.0
    overall: float = 0.0
    batches: int = 0
    #: The loss is one call of a loss function without weights, which counts every label alike.
    counted_alike: bool = False

    @property
    def rarest(self) -> int:
        return min(self.counts, key=lambda label: self.counts[label])


@dataclass
class LabelNoise:
    """How many labels differ from those of the nearest neighbours, where the neighbours agree."""

    name: str
    samples: int
    agreed: int
    differ: int
    rate: float
    #: Two standard errors.
    uncertainty: float


@dataclass
class HeldOutLabels:
    """How well labels can be told from inputs: those of `data`, and those of `val_data`. Shares that are right."""

    name: str
    samples: int
    val_samples: int
    classes: int
    #: Of `data`: by a constant answer, and each sample left out in turn.
    chance: float
    predicted: float
    val_chance: float
    #: Of `val_data`: by what was learnt from `data`, and from itself, each sample left out in turn.
    val_told: float
    val_told_by_itself: float
    #: Of `data`: by what was learnt from `val_data`; None where that was not tried.
    told_by_val: float | None = None

    @property
    def wrong_by_val(self) -> float:
        """The same by the other set: right labels would be told as well as it tells its own, each left out in turn."""
        hit = (1 - self.val_told_by_itself) / max(self.classes - 1, 1)
        return (self.val_told_by_itself - (self.told_by_val or 0.0)) / max(self.val_told_by_itself - hit, 1e-9)

    @property
    def uncertainty_by_val(self) -> float:
        """Two standard errors."""
        hit, by_val = (1 - self.val_told_by_itself) / max(self.classes - 1, 1), self.told_by_val or 0.0
        own = self.val_told_by_itself * (1 - self.val_told_by_itself) / self.val_samples
        return 2 * sqrt(by_val * (1 - by_val) / self.samples + own) / max(self.val_told_by_itself - hit, 1e-9)

    @property
    def wrong(self) -> float:
        """An estimate of the share of wrong labels in `data`: right ones would be told as well as those of `val_data`.

        Of a wrong label, a guess that misses the right one hits it by chance, among the other classes.
        """
        hit = (1 - self.val_told) / max(self.classes - 1, 1)
        return (self.val_told - self.predicted) / max(self.val_told - hit, 1e-9)

    @property
    def uncertainty(self) -> float:
        """Two standard errors."""
        hit = (1 - self.val_told) / max(self.classes - 1, 1)
        variance = (
            self.predicted * (1 - self.predicted) / self.samples
            + self.val_told * (1 - self.val_told) / self.val_samples
        )
        return 2 * sqrt(variance) / max(self.val_told - hit, 1e-9)


@dataclass
class OtherOrder:
    """Targets that cannot be told from their inputs, but can in another order of the samples."""

    name: str
    samples: int
    #: "classes" or "values": shares that are right, or of the variance.
    kind: str
    chance: float
    used: float
    best: float
    #: Whose target fits: "the sample before it".
    order: str


@dataclass
class TargetCopy:
    """A feature that is the target, or that each value of the target has its own value of."""

    name: str
    column: int
    target: str
    samples: int
    #: For numbers "equal", "scaled" (a straight line), "in its order", or that while the others tell much of it, too
    #: ("in its order alone"); for classes "one to one", "only in one class".
    kind: str
    #: The inputs may be a smoke test's: each feature drawn for itself.
    noise: bool = False
    #: Its place in a window, where the inputs are no table.
    at: tuple[int, ...] = ()

    @property
    def feature(self) -> str:
        what = f"value {list(self.at)}" if len(self.at) > 1 else f"feature {self.column}"
        return f"{what} of batch{self.name}"

    @property
    def is_target(self) -> bool:
        """It is the target, not only made from it."""
        return self.kind not in ("in its order", "in its order alone", "only in one class")

    @property
    def by_itself(self) -> bool:
        """The others tell the target, too, and this one does far better without them."""
        return self.kind == "in its order alone"


@dataclass
class SharedSamples:
    """Samples that are in `data` and in `val_data`."""

    #: Of the validation samples that were compared.
    samples: int
    shared: int
    #: As many would be shared if both were drawn from what `data` hold, which has samples more than once.
    by_chance: float = 0.0
    #: Batch and sample of one of them in `val_data`, and in `data`.
    example: tuple[int | None, int] | None = None
    twin: tuple[int | None, int] | None = None
    #: By their indices in one data set, not by their values.
    by_index: bool = False
    #: Without them something is left of `data`, of every batch that was read.
    removable: bool = False
    #: Validation samples with the inputs of one in `data`, and with another target or mask: the nodes of one graph.
    otherwise: int = 0
    #: So few different values are possible that two sets of samples may both hold all of them.
    enumerable: bool = False
    #: Validation samples that differ by less than a hundredth of a spread from one in `data`.
    near: int = 0


@dataclass
class NearCopies:
    """Samples of `val_data` that are nearly those of `data`, and nearer than samples drawn one by one ever are."""

    name: str
    #: Of `val_data`, those that were compared.
    samples: int
    near: int = 0
    #: The share of `data` that they were compared with: of large sets it is a sample.
    compared_with: float = 1.0


@dataclass
class WorkerRandomness:
    """Random numbers that a dataset keeps, which every worker process gets the same copy of."""

    dataset: str
    attribute: str
    workers: int


@dataclass
class SurveyRecord:
    #: Why nothing was read, or not all that there is.
    why_not: str = ""
    batches: int = 0
    samples: int = 0
    #: Whether that is all there is.
    complete: bool = False
    #: The batches of a watched test, as its steps were given them.
    watched: bool = False
    #: Fields without a row for each sample, or of other shapes in other batches.
    uneven: bool = False
    val_batches: int = 0
    val_samples: int = 0
    bad_values: list[BadValues] = field(default_factory=list)
    bad_labels: list[BadLabels] = field(default_factory=list)
    fields: list[FieldSurvey] = field(default_factory=list)
    classes: list[ClassSurvey] = field(default_factory=list)
    noise: LabelNoise | None = None
    held_out_labels: HeldOutLabels | None = None
    other_order: OtherOrder | None = None
    copies: list[TargetCopy] = field(default_factory=list)
    shared: SharedSamples | None = None
    near_copies: NearCopies | None = None
    #: `val_data` is `data`, or consists of its very batches.
    val_is_data: bool = False
    #: Samples whose inputs and targets were there before.
    repeated: int = 0
    #: The same of `val_data`.
    val_repeated: int = 0
    #: The share of samples that are there more than once, and whether they are measured: no two are equal by chance.
    of_several: float = 0.0
    measured: bool = False
    #: Something says that samples are to come more than once: a sampler, a data set that is joined to itself.
    repeats_meant: bool = False
    #: All batches are the same though the loader has more samples than one of them; how many.
    same_batches: int = 0
    #: None for a list, each batch of which is a copy of its own.
    dataset_size: int | None = None
    #: Every batch comes this many times in a row, once from each worker.
    batches_per_worker: int = 0
    #: The inputs of all samples are the same, and their targets are not: the inputs' name.
    same_inputs: str = ""
    #: How many different inputs there are, and how many different samples, with their targets.
    different_inputs: int = 0
    different_samples: int = 0
    worker_randomness: WorkerRandomness | None = None
    #: Reading a validation sample twice gives two different ones; batches of it come in a random order.
    val_augmented: bool = False
    #: The classes of its targets, of what was read.
    val_classes: list[ClassSurvey] = field(default_factory=list)
    val_shuffled: bool = False
