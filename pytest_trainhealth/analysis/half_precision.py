"""A run in 16 bits beside the same in float32: gradients, curve, and the first layer that leaves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..records.state import LayerSketch, PrecisionRecord, Sketch
from ..records.trace import Trace

#: What the run that computes everything in float32 is called.
FLOAT32 = "in float32"
#: The error of a layer beside that of the layers before it. One call in 16 bits rounds its inputs and its result, which
#: makes up to 0.01 of new error in bfloat16; by judgement, what is larger than 0.05 and 8 times what came in is more.
_NEW_ERROR, _FACTOR = 0.05, 8.0
#: Of the largest gradient of a step, the least that is more than rounding in float32. Where a gradient cancels out,
#: rounding leaves up to 9e-8 (biases before BatchNorm, 40 starts), 1.4e-9 (biases of keys, 20): 100 times as much.
_MORE_THAN_ROUNDING = 1e-5
#: Of all calls, how many a trailing mean of losses takes in. By judgement: a quarter of them.
_TAIL = 4


def direction(one: Mapping[str, Sketch], other: Mapping[str, Sketch]) -> float | None:
    """The cosine between two gradients, by the values that were kept; None where there is nothing to compare."""
    product = left = right = 0.0
    for name in one.keys() & other.keys():
        product += sum(a * b for a, b in zip(one[name].values, other[name].values, strict=False))
        left += sum(a * a for a in one[name].values)
        right += sum(b * b for b in other[name].values)
    if not left:
        return None
    return product / math.sqrt(left * right) if right and math.isfinite(product) else 0.0


def progress(whole: Trace, low: Trace) -> float | None:
    """How much of the way that the loss goes in float32 it goes in 16 bits; None where it goes nowhere."""
    tail = max(1, whole.steps // _TAIL)
    begin, end, reached = (
        sum(each) / len(each) for each in (whole.losses[:1], whole.losses[-tail:], low.losses[-tail:])
    )
    spread = max(whole.losses[-tail:]) - min(whole.losses[-tail:])
    if begin - end <= spread:
        return None
    return (begin - reached) / (begin - end)


def first_to_leave(whole: Sequence[LayerSketch], low: Sequence[LayerSketch]) -> tuple[LayerSketch, float] | None:
    """The first call whose result is off by far more than those before it, and by how much of its size."""
    before = 0.0
    for right, found in zip(whole, low, strict=False):
        if right.name != found.name:
            return None
        size = math.sqrt(sum(a * a for a in right.values))
        apart = math.sqrt(sum((a - b) ** 2 for a, b in zip(right.values, found.values, strict=False)))
        error = apart / size if size else 0.0
        if not math.isfinite(error):
            return found, math.inf
        if error > _NEW_ERROR and error > _FACTOR * before:
            return found, error
        before = max(before, error)
    return None


def vanished(whole: PrecisionRecord, low: PrecisionRecord) -> list[str]:
    """Parameters whose gradient is 0 in 16 bits, every value of it, and a real one in float32.

    At the first step and at a later one: what a step leaves out by chance comes back. Whatever the loss does, these
    parameters are not trained.
    """
    if not whole.later or not low.later:
        return []
    names = _zeroed(whole.gradients, low.gradients)
    return [name for name in _zeroed(whole.later, low.later) if name in names]


def _zeroed(whole: Mapping[str, Sketch], low: Mapping[str, Sketch]) -> list[str]:
    largest = max((each.norm for each in whole.values()), default=0.0)
    if not math.isfinite(largest) or not any(each.norm for each in low.values()):
        return []  # without any gradient at all, the step has none to lose: a scaler skips it
    least = _MORE_THAN_ROUNDING * largest
    return [name for name, each in whole.items() if name in low and not low[name].norm and each.norm > least]


def pair(trace: Trace) -> tuple[Trace | None, Trace | None]:
    """The run in float32, and the one in 16 bits: one of them is beside the other."""
    if FLOAT32 in trace.compared_with:
        return trace.compared_with[FLOAT32], trace
    others = [other for label, other in trace.compared_with.items() if label.startswith("in ")]
    return (trace, others[-1]) if others else (None, None)


def own_precision(trace: Trace) -> str:
    """The type of 16 bits that the training itself computes in, be it in a line or two inside of a layer."""
    record = trace.state.precision
    return (record.own if record is not None else "") or next(iter(trace.numbers.halves), "")


def swallows_all(trace: Trace) -> bool:
    """An operation of 16 bits made Inf of each of its values, out of finite ones: what comes after it is the same for
    whatever goes in, and in float32 need not be."""
    return any(each.overflows_whole for each in trace.numbers.halves.values())


def lost_moves(trace: Trace) -> tuple[list[str], float]:
    """Parameters of 16 bits most of whose updates are lost, and the share of all that is."""
    record = trace.state.precision
    moves = {} if record is None else record.moves
    held, moved = (sum(each[n] for each in moves.values()) for n in (0, 1))
    names = [name for name, (still, gone) in moves.items() if still > gone]
    return names, held / (held + moved) if held + moved else 0.0
