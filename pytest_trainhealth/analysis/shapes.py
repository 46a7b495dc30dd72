"""How a shape becomes another one: the line that moves dimensions instead of renaming them."""

from __future__ import annotations

from ..records.probes import ScrambleRecord
from ..records.verdict import Fix


def transposed(record: ScrambleRecord) -> Fix:
    """The transpose that was meant, where the same dimensions come in another order."""
    given, result = record.given, record.result
    if sorted(given) == sorted(result):
        left = list(range(len(given)))
        order = []
        for size in result:
            at = next(n for n in left if given[n] == size)
            left.remove(at)
            order.append(str(at))
        return Fix("move the dimensions:", (f"x.permute({', '.join(order)})",))
    if len(result) > len(given):
        return Fix("split the last dimension first, then move it:", ("x.unflatten(-1, (heads, -1)).transpose(1, 2)",))
    return Fix("move the dimensions first, then join them:", ("x.transpose(1, 2).flatten(2)",))
