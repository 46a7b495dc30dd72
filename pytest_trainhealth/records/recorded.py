"""What a verdict keeps of the run that decided, for reports that draw it: short series and a few figures per layer.

All of it is bounded (`analysis/kept_of_a_run.py` says by how much), frozen, and survives a trip through JSON unchanged.
It decides nothing: checks and causes read the trace itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Curve:
    """One quantity over a run, thinned so that its peaks are kept. Values may be nan or inf."""

    name: str
    steps: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    #: What the numbers in `steps` count.
    unit: str = "step"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Curve:
        return cls(data["name"], _numbers(data["steps"]), _numbers(data["values"]), data["unit"])


@dataclass(frozen=True)
class ParameterFigures:
    """One parameter: its gradient per value and its update relative to its size, at the first look and at the last."""

    name: str
    size: int
    trainable: bool = True
    #: (first, last); None where it had none.
    gradient: tuple[float | None, float | None] = (None, None)
    update: tuple[float | None, float | None] = (None, None)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ParameterFigures:
        return cls(data["name"], data["size"], data["trainable"], _two(data["gradient"]), _two(data["update"]))


@dataclass(frozen=True)
class ActivationFigures:
    """One activation function in one module, at the last look."""

    function: str
    module: str
    units: int
    #: Shares: of units that are 0 for every sample, and of outputs at the ends of a bounded function.
    dead: float | None = None
    saturated: float | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ActivationFigures:
        return cls(**{**data, "dead": _number(data["dead"]), "saturated": _number(data["saturated"])})


@dataclass(frozen=True)
class FieldFigures:
    """One tensor of the batches."""

    name: str
    #: "16 x 3 x 32 x 32 float32", as far as it is known.
    kind: str = ""
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    std: float | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FieldFigures:
        figures = {name: _number(data[name]) for name in ("low", "high", "mean", "std")}
        return cls(data["name"], data["kind"], **figures)


@dataclass(frozen=True)
class Recorded:
    losses: Curve | None = None
    #: Of each optimizer, one value for each of its updates.
    rates: tuple[Curve, ...] = ()
    #: Of a finished run: what its log holds.
    logged: tuple[Curve, ...] = ()
    #: What the loss is judged by, where it is known: the best constant answer, the least that is possible, and what a
    #: plain recipe gets to.
    chance: float | None = None
    floor: float | None = None
    reach: float | None = None
    #: In the order of the model; some of them where it has very many, and how many it has in all.
    parameters: tuple[ParameterFigures, ...] = ()
    parameter_count: int = 0
    activations: tuple[ActivationFigures, ...] = ()
    fields: tuple[FieldFigures, ...] = ()
    #: The largest classes of the targets, each with the number of its samples.
    classes: tuple[tuple[int, int], ...] = ()
    #: Samples that were read, if the data were gone through.
    samples: int = 0
    val_samples: int = 0

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Recorded | None:
        if data is None:
            return None
        return cls(
            losses=None if data["losses"] is None else Curve.from_json(data["losses"]),
            rates=tuple(map(Curve.from_json, data["rates"])),
            logged=tuple(map(Curve.from_json, data["logged"])),
            chance=_number(data["chance"]),
            floor=_number(data["floor"]),
            reach=_number(data["reach"]),
            parameters=tuple(map(ParameterFigures.from_json, data["parameters"])),
            parameter_count=data["parameter_count"],
            activations=tuple(map(ActivationFigures.from_json, data["activations"])),
            fields=tuple(map(FieldFigures.from_json, data["fields"])),
            classes=tuple((label, count) for label, count in data["classes"]),
            samples=data["samples"],
            val_samples=data["val_samples"],
        )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)  # JSON has words for nan and inf


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(map(float, values))


def _two(values: Any) -> tuple[float | None, float | None]:
    first, last = values
    return _number(first), _number(last)
