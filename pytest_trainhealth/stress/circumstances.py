"""What a training may meet one day: the circumstances of a run as conditions, in words, and as a marker to paste."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import wording
from ..records.intervention import Condition

_SAMPLE_TEXTS = {
    "zero": "a sample of zeros",
    "constant": "a sample of one value",
    "repeated": "one sample throughout a batch",
    "extreme": "a sample of the smallest and largest values seen",
}


@dataclass(frozen=True)
class Circumstances:
    """The defaults are those of a plain run."""

    seed: int = 0
    scale: float = 1.0
    batch_size: int = 0
    sample: str = ""
    precision: str = ""
    lr: float = 1.0
    loss_scale: float = 1.0

    @property
    def conditions(self) -> tuple[Condition, ...]:
        found = []
        if self.batch_size:
            found.append(Condition("batch_size", f"batches of {self.batch_size}", {"size": self.batch_size}))
        if self.sample == "repeated":
            found.append(Condition("repeated_sample", _SAMPLE_TEXTS[self.sample]))
        elif self.sample:
            found.append(Condition("degenerate_sample", _SAMPLE_TEXTS[self.sample], {"how": self.sample}))
        if self.scale != 1:
            found.append(Condition("scaled_inputs", f"inputs {_times(self.scale)}", {"factor": self.scale}))
        if self.precision:
            found.append(Condition("autocast", f"autocast to {self.precision}", {"dtype": self.precision}))
        if self.lr != 1:
            found.append(Condition("learning_rate", f"learning rate {_times(self.lr)}", {"factor": self.lr}))
        if self.loss_scale != 1:
            found.append(Condition("scaled_loss", f"loss {_times(self.loss_scale)}", {"factor": self.loss_scale}))
        return tuple(found)

    def describe(self) -> str:
        seed = [f"other random numbers (seed + {self.seed})"] if self.seed else []
        return ", ".join([*(condition.label for condition in self.conditions), *seed])

    def marker(self) -> str:
        """A marker that requests these circumstances and no others."""
        requested = {
            "scales": self.scale if self.scale != 1 else None,
            "batch_sizes": self.batch_size or None,
            "samples": self.sample or None,
            "precisions": self.precision or None,
            "lr_factors": self.lr if self.lr != 1 else None,
            "seeds": self.seed or None,
        }
        given = ", ".join(f"{name}=({value!r},)" for name, value in requested.items() if value is not None)
        return f"@pytest.mark.trains_without_nan({given})"


@dataclass(frozen=True)
class RequestedSweep:
    """The circumstances a marker requests, tried in any combination, each next to its default, which comes first."""

    seeds: tuple[int, ...] = ()
    scales: tuple[float, ...] = ()
    batch_sizes: tuple[int, ...] = ()
    samples: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    lr_factors: tuple[float, ...] = ()

    @classmethod
    def by(cls, settings: Mapping[str, Any]) -> RequestedSweep:
        names = ("seeds", "scales", "batch_sizes", "samples", "precisions", "lr_factors")
        return cls(**{name: tuple(settings.get(name) or ()) for name in names})

    def __bool__(self) -> bool:
        return any((self.seeds, self.scales, self.batch_sizes, self.samples, self.precisions, self.lr_factors))

    def choices(self) -> dict[str, list[Any]]:
        """The possible values of each field of `Circumstances`, the least unusual first."""
        return {
            "seed": [0, *sorted(self.seeds)],
            "scale": [1.0, *sorted(_between(self.scales), key=_unusual)],
            "batch_size": [0, *sorted(self.batch_sizes, reverse=True)],
            "sample": ["", *self.samples],
            "precision": ["", *self.precisions],
            "lr": [1.0, *sorted(_between(self.lr_factors), key=_unusual)],
        }


def _between(factors: tuple[float, ...]) -> set[float]:
    """Each factor and every power of ten on the way to it, so that the smallest factor that fails is found."""
    found = set(factors)
    for factor in factors:
        power = 10.0
        while power < max(factor, 1 / factor):
            found.add(power if factor > 1 else 1 / power)
            power *= 10
    return found - {1.0}


def _unusual(factor: float) -> float:
    return max(factor, 1 / factor)


def _times(factor: float) -> str:
    return f"x {wording.short(factor)}" if factor > 1 else f"/ {wording.short(1 / factor)}"
