"""What a training may meet one day: the circumstances of a run as conditions, in words, and as a marker to paste.

`CIRCUMSTANCES` is the one table of them: each has a row, and no other code here knows one by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import wording
from ..records.intervention import Condition


class Hook(NamedTuple):
    """The file in `interventions/` that brings a circumstance about, and its options."""

    kind: str
    options: dict[str, Any]


@dataclass(frozen=True)
class CircumstanceRow:
    """One thing about a run that may be unusual."""

    name: str
    #: Its value in a plain run.
    usual: Any
    #: The setting that requests other values; '' if there is none.
    setting: str
    #: A value in words.
    label: Callable[[Any], str]
    #: None for random numbers: they need no hook to be others.
    hook: Callable[[Any], Hook] | None = None
    #: Puts the requested values into the order in which they are tried: the least unusual first.
    ordered: Callable[[Sequence[Any]], Iterable[Any]] = tuple
    #: Which comes first if several change the same batch: its size, its samples, then their values. By judgement.
    turn: int = 2


def _between(factors: Sequence[float]) -> set[float]:
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


def _with_powers_between(factors: Sequence[float]) -> list[float]:
    return sorted(_between(factors), key=_unusual)


def _times(factor: float) -> str:
    return f"x {wording.short(factor)}" if factor > 1 else f"/ {wording.short(1 / factor)}"


def _largest_first(sizes: Sequence[int]) -> list[int]:
    return sorted(sizes, reverse=True)


def _sample_hook(how: str) -> Hook:
    return Hook("repeated_sample", {}) if how == "repeated" else Hook("degenerate_sample", {"how": how})


_SAMPLES = {
    "zero": "a sample of zeros",
    "constant": "a sample of one value",
    "repeated": "one sample throughout a batch",
    "extreme": "a sample of the smallest and largest values seen",
}

#: In the order in which they are tried.
CIRCUMSTANCES: tuple[CircumstanceRow, ...] = (
    CircumstanceRow("seed", 0, "seeds", lambda seed: f"other random numbers (seed + {seed})", ordered=sorted),
    CircumstanceRow(
        "scale",
        1.0,
        "scales",
        lambda factor: f"inputs {_times(factor)}",
        lambda factor: Hook("scaled_inputs", {"factor": factor}),
        _with_powers_between,
    ),
    CircumstanceRow(
        "batch_size",
        0,
        "batch_sizes",
        lambda size: f"batches of {size}",
        lambda size: Hook("batch_size", {"size": size}),
        _largest_first,
        turn=0,
    ),
    CircumstanceRow("sample", "", "samples", lambda how: _SAMPLES[how], _sample_hook, turn=1),
    CircumstanceRow(
        "precision",
        "",
        "precisions",
        lambda dtype: f"autocast to {dtype}",
        lambda dtype: Hook("autocast", {"dtype": dtype}),
    ),
    CircumstanceRow(
        "lr",
        1.0,
        "lr_factors",
        lambda factor: f"learning rate {_times(factor)}",
        lambda factor: Hook("learning_rate", {"factor": factor}),
        _with_powers_between,
    ),
    CircumstanceRow(
        "loss_scale",
        1.0,
        "",
        lambda factor: f"loss {_times(factor)}",
        lambda factor: Hook("scaled_loss", {"factor": factor}),
    ),
)


@dataclass(frozen=True, init=False)
class Circumstances:
    """Everything about a run that is unusual, by the names of the table; a plain run is `Circumstances()`."""

    unusual: tuple[tuple[CircumstanceRow, Any], ...]

    def __init__(self, **values: Any) -> None:
        unknown = set(values) - {row.name for row in CIRCUMSTANCES}
        if unknown:
            raise TypeError(f"there is no circumstance {', '.join(sorted(unknown))}")
        given = ((row, values.get(row.name, row.usual)) for row in CIRCUMSTANCES)
        object.__setattr__(self, "unusual", tuple((row, value) for row, value in given if value != row.usual))

    @property
    def seed(self) -> int:
        """The number that is added to the seed of the run."""
        return next((value for row, value in self.unusual if row.name == "seed"), 0)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        found = []
        for row, value in sorted(self.unusual, key=lambda each: each[0].turn):
            if row.hook is not None:
                kind, options = row.hook(value)
                found.append(Condition(kind, row.label(value), options))
        return tuple(found)

    def describe(self) -> str:
        others = [row.label(value) for row, value in self.unusual if row.hook is None]
        return ", ".join([*(condition.label for condition in self.conditions), *others])

    def marker(self) -> str:
        """A marker that requests these circumstances and no others; those without a hook come last, as in words."""
        requested = sorted(self.unusual, key=lambda each: each[0].hook is None)
        given = ", ".join(f"{row.setting}=({value!r},)" for row, value in requested if row.setting)
        return f"@pytest.mark.trains_without_nan({given})"


@dataclass(frozen=True, init=False)
class RequestedSweep:
    """The circumstances a marker requests, tried in any combination, each next to its usual value, which is first."""

    values: dict[str, tuple[Any, ...]]

    def __init__(self, **values: Iterable[Any]) -> None:
        """Takes the values by the names of their settings."""
        object.__setattr__(self, "values", {name: tuple(each) for name, each in values.items()})

    @classmethod
    def by(cls, settings: Mapping[str, Any]) -> RequestedSweep:
        requested = {row.setting: settings.get(row.setting) for row in CIRCUMSTANCES if row.setting}
        return cls(**{name: values for name, values in requested.items() if values})

    def __bool__(self) -> bool:
        return any(self.values.values())

    def choices(self) -> dict[str, list[Any]]:
        """The possible values of each circumstance, the least unusual first."""
        return {
            row.name: [row.usual, *row.ordered(self.values.get(row.setting, ()))]
            for row in CIRCUMSTANCES
            if row.setting
        }
