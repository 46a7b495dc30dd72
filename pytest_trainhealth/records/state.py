"""What tells two runs apart that have to be the same: fingerprints, and where runs take what no seed decides."""

from __future__ import annotations

from dataclasses import dataclass, field

from .baseline import FirstSteps
from .held_out import ActiveLayer, HeldOutRecord
from .improvement import Validation
from .verdict import Place


@dataclass(frozen=True)
class EntropyRecord:
    """A call by the user's code that answers differently each time, whatever the seeds are."""

    #: "clock", "system", "hash" or "threads".
    source: str
    call: str
    place: Place | None = None


@dataclass(frozen=True)
class LostRecord:
    """A part of the state that is other after loading than it was when saving."""

    #: "weights", "buffers", "attributes", "optimizer", "scheduler", "scaler", "left out", "random numbers", "loop",
    #: "data".
    kind: str
    name: str
    #: What is shown of a plain value: '7 -> 0'.
    words: str = ""


@dataclass(frozen=True)
class PassesRecord:
    """An update that was made of several backward passes, beside one with a single pass over all their terms."""

    step: int
    optimizer: str
    passes: int
    #: What the losses are: "mean", "sum", "quotient" (of two sums over the samples), or "unknown".
    kind: str
    #: What the loss of a pass was multiplied by.
    factor: float
    #: How many terms each loss has: samples, pixels, tokens that are not ignored.
    counts: tuple[float, ...]
    #: Of the norms, and the norm of the difference as a share of the right one; of quotients, that in direction alone.
    ratio: float
    error: float
    one_loop: bool = True
    #: There were no gradients left from the update before.
    clean: bool = True
    place: Place | None = None


@dataclass(frozen=True)
class TermRecord:
    """An addend of a loss, by its gradients: that of the batch is the mean, or the sum, of those of its parts."""

    #: Of the operation that ends it: "smooth_l1_loss".
    name: str
    #: "mean", "sum", or "other".
    kind: str
    #: What the values that it adds up are multiplied by.
    factor: float


@dataclass(frozen=True)
class CutRecord:
    """A batch cut into parts of one size: their gradients beside that of the whole, in eval mode."""

    parts: int
    #: How far the whole is from the mean of the parts, from their sum, and from any weighted sum of them.
    from_mean: float = 0.0
    from_sum: float = 0.0
    from_any: float = 0.0
    #: By how much the same batch differs when other random numbers are drawn.
    by_chance: float = 0.0
    #: The weights of the parts in the sum that comes closest.
    weights: tuple[float, ...] = ()
    #: Fields of the batch that no model gets, and from which something is computed over all of its samples.
    mixed_by: tuple[str, ...] = ()
    #: The addends of the loss that have a gradient, by their places among all; looked at where no weights make the
    #: parts the whole.
    terms: dict[int, TermRecord] = field(default_factory=dict)
    samples: int = 0
    #: What kept it from being tried.
    why_not: str = ""


@dataclass
class EvaluationRecord:
    """Evaluations between two steps: twice with other random numbers, and once with smaller batches."""

    #: The user's own `evaluate`, or the loss in eval mode.
    own: bool
    #: Figures of the first two, as far as they are numbers.
    results: tuple[tuple[float, ...], ...] = ()
    #: How far the models' outputs are apart, as a share of their spread: with other random numbers, and in batches of
    #: half the size. None where that could not be compared.
    by_chance: float | None = None
    by_size: float | None = None
    #: The same of the figures.
    figures_by_size: float | None = None
    active: list[ActiveLayer] = field(default_factory=list)
    #: Names of weights, buffers and attributes that are other afterwards.
    changed: list[str] = field(default_factory=list)
    #: Whose shared random numbers ("torch", "numpy", "Python") stand at the same place after two evaluations that began
    #: at different ones, of those that steps draw from.
    reseeded: list[str] = field(default_factory=list)
    #: Models that are in eval mode in the step that follows, and were not in the step before.
    left_in_eval: list[str] = field(default_factory=list)
    #: What kept it from being tried.
    why_not: str = ""


@dataclass(frozen=True)
class Sketch:
    """A few values of a tensor, at places that are the same in every run, and the norm of all."""

    norm: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class LayerSketch:
    """The output of one call of a layer."""

    name: str
    kind: str
    dtype: str
    values: tuple[float, ...]


@dataclass
class PrecisionRecord:
    #: The type of 16 bits that the training itself computes in; empty where it has none.
    own: str = ""
    half_weights: list[str] = field(default_factory=list)
    #: Whether there were any before a cure has made them float32.
    was_half: bool = False
    #: Of the first step, in the order of the calls; and gradients by parameter, of the first step and of a later one.
    layers: list[LayerSketch] = field(default_factory=list)
    gradients: dict[str, Sketch] = field(default_factory=dict)
    later: dict[str, Sketch] = field(default_factory=dict)
    #: By parameter of 16 bits: how often a value that has a gradient was left where it was by an update, and how often
    #: it was moved.
    moves: dict[str, tuple[int, int]] = field(default_factory=dict)


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
    #: Generators of random numbers in modules of the user's, by name, that the run before has drawn from.
    drawn_from: tuple[str, ...] = ()
    #: With how many threads torch computed.
    threads: int = 1
    #: Updates of several backward passes.
    passes: list[PassesRecord] = field(default_factory=list)
    cut: CutRecord | None = None
    #: The loss can be computed on a part of a batch: the training has the built-in step.
    splittable: bool = False
    evaluation: EvaluationRecord | None = None
    #: The losses of `val_data` beside those of what is learnt from.
    held_out: HeldOutRecord | None = None
    precision: PrecisionRecord | None = None
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
    #: What a baseline keeps of a run.
    first_steps: FirstSteps | None = None
    #: What the run was measured by while it trained, beside another one.
    validation: Validation | None = None
