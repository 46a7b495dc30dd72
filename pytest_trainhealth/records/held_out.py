"""A short fit, looked at from outside: the loss of samples that it learns from and of those that it does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean

from .verdict import Place


@dataclass(frozen=True)
class ActiveLayer:
    """What behaves as in training while the model is evaluated."""

    #: The path of a layer, or "F.dropout()".
    name: str
    kind: str
    #: The whole model it belongs to was in training mode.
    in_training_mode: bool = True
    place: Place | None = None


@dataclass(frozen=True)
class Scored:
    """One evaluation of one set of samples, part by part."""

    parts: tuple[float, ...] = ()
    #: Of the classes that were told right; None where the loss is not one of classes.
    accuracy: float | None = None
    #: How many classes were told: samples, pixels, tokens.
    scored: int = 0

    @property
    def loss(self) -> float:
        return fmean(self.parts)


@dataclass(frozen=True)
class HeldOutPoint:
    """After so many steps, in eval mode: samples that were learnt from (None: they cannot be evaluated), and others."""

    steps: int
    val: Scored
    train: Scored | None = None


@dataclass(frozen=True)
class ScaleShift:
    """What the model is given: the mean and spread of its features, from `data` and from `val_data`."""

    mean: float
    std: float
    val_mean: float
    val_std: float


@dataclass(frozen=True)
class OtherOrder:
    """What the model is given from `val_data` has the features of `data`, in another order, or may have."""

    #: The dimension of the input that they lie along, and for each feature of `data` its place in `val_data`.
    dim: int
    order: tuple[int, ...]
    #: The first that is in another place: its mean in `data`, the mean at that place in `val_data`, and of where it is.
    first: int
    mean: float
    val_mean: float
    mean_there: float
    #: Each feature can be known again by its mean and spread. Else they are colours, which may be read backwards.
    known_again: bool = True


@dataclass(frozen=True)
class ShiftedTargets:
    """How well the answers for `val_data` fit the targets of their own positions, and those of their neighbours."""

    name: str
    #: Answers fit the target so many positions before them; negative: behind them.
    by: int
    positions: int
    #: Shares that are right.
    right: float
    right_shifted: float


@dataclass
class HeldOutRecord:
    #: What kept it from being seen.
    why_not: str = ""
    points: list[HeldOutPoint] = field(default_factory=list)
    #: The loss of the best constant answer for the samples of `val_data`; None where it is not known.
    chance: float | None = None
    #: The share of the most frequent class; None where the loss is not one of classes.
    most_frequent: float | None = None
    val_samples: int = 0
    #: `val_data` is evaluated by the training's own `evaluate`.
    own: bool = False
    #: Layers that act as in training in the training's own `evaluate`, the loss there, and that in eval mode.
    active: list[ActiveLayer] = field(default_factory=list)
    own_loss: float | None = None
    own_loss_in_eval_mode: float | None = None
    shift: ScaleShift | None = None
    other_order: OtherOrder | None = None
    #: Of the last evaluation; None where targets are no classes of positions.
    shifted: ShiftedTargets | None = None
