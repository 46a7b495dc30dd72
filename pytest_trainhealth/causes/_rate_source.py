"""Where a learning rate is written, and how to write another: at the line that gives it a name, if it has one."""

from __future__ import annotations

from .. import wording
from ..records.verdict import Fix, Place
from ..records.wiring import OptimizerRecord


def rate_places(optimizer: OptimizerRecord) -> tuple[Place, ...]:
    return tuple(place for place in (optimizer.rate_place, optimizer.place) if place is not None)


def other_rate(how: str, optimizer: OptimizerRecord, rate: float) -> Fix:
    """`how`: what to do, in words, such as "raise it"."""
    new = wording.short(rate)
    if optimizer.rate_place is None:
        return Fix(f"{how}:", (f"{optimizer.kind}(model.parameters(), lr={new})",))
    where = f"at {optimizer.rate_place}"
    return Fix(f"{how}, {where}:", (f"{optimizer.rate_name} = {new}",))
