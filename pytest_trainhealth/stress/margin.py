"""How far a training is from its limits: the largest factor on inputs, learning rate and loss that stays finite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .circumstances import Circumstances
from .sweep import Sweep

#: A learning rate that is too high shows only after some steps. By judgement: the same 20 as in a sweep.
_STEPS = 20
#: The largest power of two that is tried. By judgement: 65,536 times is beyond float16 for any value above 1.
_MOST = 16
#: What is scaled, under the name that reports show.
_SCALED: dict[str, Callable[[float], Circumstances]] = {
    "inputs": lambda factor: Circumstances(scale=factor),
    "learning rate": lambda factor: Circumstances(lr=factor),
    "loss": lambda factor: Circumstances(loss_scale=factor),
}


@dataclass(frozen=True)
class Margin:
    of: str
    #: A power of two; 1 if twice as much is too much already.
    factor: float
    #: The next power of two, which is too much; None if none was found.
    beyond: Circumstances | None

    def __str__(self) -> str:
        return f"{self.of} x {self.factor:g}" + ("" if self.beyond else " or more")


def margins(sweep: Sweep) -> list[Margin]:
    return [_margin(sweep, of, scaled) for of, scaled in _SCALED.items()]


def _margin(sweep: Sweep, of: str, scaled: Callable[[float], Circumstances]) -> Margin:
    """Bisects over powers of two: a training that stays finite at one factor stays finite below it."""

    def at(power: int) -> Circumstances:
        return scaled(2.0**power)

    if not sweep.fails(at(_MOST), _STEPS):
        return Margin(of, 2.0**_MOST, None)
    holds, fails = 0, _MOST
    while fails - holds > 1:
        middle = (holds + fails) // 2
        if sweep.fails(at(middle), _STEPS):
            fails = middle
        else:
            holds = middle
    return Margin(of, 2.0**holds, at(fails))
