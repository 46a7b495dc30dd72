"""Did an operation leave its domain by itself, or did it merely get values that had already grown out of bounds?

A logarithm of 0, the slope of a root at 0, 0 / 0 and acos(1) are not finite although nothing large goes in: clipping
and a smaller learning rate only change the step at which that happens.
"""

from __future__ import annotations

from ..records.numbers import FirstBadOperation, Range

#: Not finite, or without a finite slope, at one point of what goes in, or beyond it.
_SINGULAR = {
    "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "div", "reciprocal", "pow", "acos", "asin", "acosh", "atanh",
    "atan2", "logit", "erfinv", "xlogy", "std", "var", "norm", "linalgvectornorm", "cdist", "remainder",
}  # fmt: skip
#: Where the singularity is not at 0, in the forward pass.
_ENDS = {"acos": 1.0, "asin": 1.0, "atanh": 1.0, "erfinv": 1.0, "log1p": 1.0, "logit": 1.0, "acosh": 1.0}
#: Values beyond have grown, and are no fault of the operation. By judgement: shares, distances, angles and standardised
#: data lie far below; what a diverging training makes is beyond within a few steps.
_MODERATE = 1e6


def at_its_own_singularity(culprit: FirstBadOperation | None) -> bool:
    """It made a value that is not finite out of finite, moderate ones, at the end of its own domain."""
    if culprit is None or not culprit.from_finite or culprit.phase == "update" or not culprit.inputs:
        return False
    name = plain_name(culprit.operation)
    if name not in _SINGULAR or any(abs(end) > _MODERATE for r in culprit.inputs for end in (r.low, r.high)):
        return False
    return any(_reaches(name, culprit.phase, given) for given in culprit.inputs)


def plain_name(operation: str) -> str:
    """'log' for log, log_ and LogBackward0 alike."""
    return operation.partition("Backward")[0].lower().replace("_", "")


def _reaches(name: str, phase: str, given: Range) -> bool:
    """Zeros, or what a singularity has already made of them inside one backward pass; or an end other than 0."""
    if given.zeros or given.infinite or given.low <= 0:
        return True
    end = _ENDS.get(name)
    return phase == "forward" and end is not None and max(abs(given.low), abs(given.high)) >= end
