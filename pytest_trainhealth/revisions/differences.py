"""What else differs between the two revisions. Reported as notes: none of it is wrong by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from .. import wording
from ..records.comparison import NO_OPERATORS, OperatorTime

#: A sum in another order changes the seventh digit, and 20 steps hardly amplify that; another learning rate or
#: initialisation changes the first digits. By judgement: between the two.
_SAME_LOSS = 1e-3
#: A smaller difference in steps, relative to all, is a matter of luck. By judgement: it makes a note, not a verdict.
_SAME_STEPS = 0.2
#: The same in steps, for trainings that need few. By judgement: it makes a note, not a verdict.
_FEW_STEPS = 5
#: An operator is worth naming if it takes this much longer, as a share of the whole step. By judgement: less than that
#: does not explain a step that became slower by 5 % or more.
_GREW = 0.02
#: It must also have grown by this share of itself: an operator nobody had touched took 0.815 ms at the other revision
#: and 0.931 ms at the current one, 14 % more.
_GREW_ITSELF = 0.2
#: How many to show. By judgement: what comes after the first 5 is small.
_MOST_OPERATORS = 5
#: By judgement: losses this small are 0, apart from rounding.
_NO_LOSS = 1e-9

#: Milliseconds by the name of the operator.
Operators = Mapping[str, float]


def of_losses(current: Sequence[float], again: Sequence[float], other: Sequence[float], revision: str) -> list[str]:
    """`again`: a second run of the current revision. If it differs from `current`, the training starts differently each
    time, and there is nothing to note."""
    if _first_difference(current, again) is not None:
        return []
    step = _first_difference(current, other)
    if step is None:
        return []
    both = f"{wording.loss(current[step])} vs {wording.loss(other[step])}"
    return [f"losses differ from step {step} on: {both} at {revision}"]


def of_memorising(current: int | None, other: int | None, revision: str) -> list[str]:
    if current is None or other is None:
        return []
    if abs(current - other) <= max(_FEW_STEPS, _SAME_STEPS * max(current, other)):
        return []
    return [f"memorises one batch in {current} steps, in {other} at {revision}"]


def of_files(uncommitted: int, dependencies: Sequence[str], revision: str) -> list[str]:
    notes = []
    if uncommitted:
        notes.append(f"compared with uncommitted changes in {wording.plural(uncommitted, 'file')}")
    if dependencies:
        named = wording.names(dependencies, 3)
        notes.append(f"{named} differ from {revision}: both sides ran with what is installed now")
    return notes


def grown_operators(current: Sequence[Operators], other: Sequence[Operators]) -> tuple[OperatorTime, ...]:
    """The operators that take longer in the current revision. The least of several profiles counts: other work on the
    machine can only add to it."""
    names = {name for look in current for name in look if not name.startswith(NO_OPERATORS)}
    rows = [OperatorTime(name, _least(current, name), _least(other, name)) for name in sorted(names)]
    worth = _GREW * median(sum(look.values()) for look in other)
    grown = [row for row in rows if row.growth > max(worth, _GREW_ITSELF * row.other)]
    return tuple(sorted(grown, key=lambda row: -row.growth)[:_MOST_OPERATORS])


def _least(looks: Sequence[Operators], name: str) -> float:
    return min(look.get(name, 0.0) for look in looks)


def _first_difference(one: Sequence[float], other: Sequence[float]) -> int | None:
    pairs = zip(one, other, strict=False)
    return next((step for step, (a, b) in enumerate(pairs) if not _same(a, b)), None)


def _same(a: float, b: float) -> bool:
    if math.isfinite(a) and math.isfinite(b):
        return math.isclose(a, b, rel_tol=_SAME_LOSS, abs_tol=_NO_LOSS)
    return str(a) == str(b)
