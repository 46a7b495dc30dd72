"""The first steps of a run in a few figures, and what was recorded of them once: a baseline.

A figure of a baseline knows by how much it may differ, and from what: from one seed to the next, and by rounding alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Shape = tuple[int, ...]
#: Of hexadecimal digits: sums wrap around, so that they stay as long. 16 is what a fingerprint has.
_DIGITS = 16


def added_up(prints: Sequence[str]) -> str:
    """One print of several, the same in any order; empty if one of them is."""
    if not prints or not all(prints):
        return ""
    return f"{sum(int(each, 16) for each in prints) % 16**_DIGITS:0{_DIGITS}x}"


@dataclass(frozen=True)
class Surroundings:
    """What may change the figures of a training that nobody has changed."""

    #: Major and minor number.
    torch: str = ""
    device: str = ""
    hardware: str = ""
    #: Of the parameters, and what the training itself computes in.
    dtype: str = ""
    threads: int = 1

    def others(self, here: Surroundings) -> list[str]:
        """What is different here, in words: 'torch 2.13, recorded with 2.11'."""
        pairs = [(name, getattr(self, name), getattr(here, name)) for name in self.__dataclass_fields__]
        return [f"{name} {now}, recorded with {then}" for name, then, now in pairs if then != now]


@dataclass
class LayerSteps:
    """One parameter: norms of its values at the start, and of its gradient and its change in the first update."""

    name: str
    shape: Shape
    start: float | None = None
    gradient: float | None = None
    update: float | None = None


@dataclass
class BatchSteps:
    """What a step was given, and what it drew."""

    #: Of all values, in their order, and of the samples in any order; empty where none could be taken.
    print: str = ""
    samples: str = ""
    #: The norm of all values.
    size: float = 0.0
    #: Of torch's generator after the step.
    draws: str = ""


@dataclass
class FirstSteps:
    """Of one run. Layers stand in the order in which the model calls them."""

    layers: list[LayerSteps] = field(default_factory=list)
    #: By step: the norm of the gradient of all parameters, and the learning rate; None where nothing was updated.
    gradients: list[float | None] = field(default_factory=list)
    rates: list[float | None] = field(default_factory=list)
    batches: list[BatchSteps] = field(default_factory=list)
    #: What decides the order of the samples, as far as a loader says so: 'RandomSampler'.
    order: str = ""
    surroundings: Surroundings = Surroundings()


@dataclass(frozen=True)
class Figure:
    """A recorded value. `mean` and `spread` over seeds are None where other seeds were not tried."""

    value: float
    mean: float | None = None
    spread: float | None = None
    #: The largest difference that rounding alone has made.
    rounding: float = 0.0


@dataclass(frozen=True)
class LayerFigures:
    name: str
    shape: Shape
    start: Figure | None = None
    gradient: Figure | None = None
    update: Figure | None = None


@dataclass(frozen=True)
class StepRow:
    """A recorded step."""

    loss: Figure
    gradient: Figure | None = None
    rate: float | None = None
    batch: BatchSteps = field(default_factory=BatchSteps)


@dataclass(frozen=True)
class Baseline:
    """A healthy run, as it was recorded."""

    test: str
    seed: int
    #: With how many seeds the training was run, this one included.
    seeds: int = 1
    surroundings: Surroundings = Surroundings()
    #: By optimizer: its kind, rate and settings.
    optimizers: dict[str, str] = field(default_factory=dict)
    order: str = ""
    batch_size: int | None = None
    #: How many batches the data hold, as far as they say so.
    batches: int | None = None
    #: Steps until one batch was memorised; None where it was not, or could not be tried.
    memorised: Figure | None = None
    layers: tuple[LayerFigures, ...] = ()
    steps: tuple[StepRow, ...] = ()


@dataclass(frozen=True)
class KeptBaseline:
    """What a check is given: the baseline, or why there is none, and how messages show its file."""

    file: str
    #: Writes it, or writes it anew.
    command: str
    baseline: Baseline | None = None
    why_not: str = ""
