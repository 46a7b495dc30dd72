"""What a trace says about the wiring: who gets gradients, who is held, who moves. Read by checks and causes alike."""

from __future__ import annotations

import math
from itertools import takewhile

from .trace import ParameterRecord, Trace

#: Gradient per value, first weight against the largest, best of 64 steps: at least 1e-2 in all 192 healthy programs
#: (any weight: 1.6e-3); the first of twelve sigmoid layers is at 1e-11.
VANISHED = 1e-8
#: An optimizer that stepped twice on gradients of the step before does so always.
STALE_STEPS = 2


def orphaned(trace: Trace) -> list[ParameterRecord]:
    """Trainable, reached by gradients, in no optimizer, and nobody moves them by hand."""
    if not trace.optimizers:
        return []
    return [p for p in trace.trainable if p.has_gradient and not p.held_by and not p.moved]


def piling_up(trace: Trace) -> dict[str, list[int]]:
    """Optimizers that keep using gradients of the step before, with the steps at which they did."""
    return {label: steps for label, steps in trace.stale_gradients.items() if len(steps) >= STALE_STEPS}


def cleared_early(trace: Trace) -> list[int]:
    """Steps with gradients after backward() and none left for the optimizer."""
    return [step for step, after in trace.after_backward.items() if after > 0 and trace.at_update.get(step, after) == 0]


def nothing_moves(trace: Trace) -> bool:
    return bool(trace.trainable) and not any(p.moved for p in trace.trainable)


def without_gradient(trace: Trace) -> list[ParameterRecord]:
    """Those of the user's own making that no gradient other than 0 ever reached, and that are meant to learn."""
    silent = [p for p in trace.trainable if _is_silent(p) and p.made_by == "user"]
    if len(silent) == len(trace.trainable):
        return [p for p in silent if p.never_reached]  # all exactly 0: the loss may simply be at its minimum
    return [p for p in silent if not _beside_others(p, trace) and (p.held_by or not _kept_out(p, trace))]


def _is_silent(parameter: ParameterRecord) -> bool:
    """Moved without a gradient: by hand. Moved with one of exactly 0: by weight decay, which is no learning.

    A gradient of exactly 0 counts for weights only: the last bias of a Wasserstein critic cancels out by design.
    """
    if not parameter.gradients or parameter.has_gradient:
        return False
    return not parameter.moved if parameter.never_reached else is_weight(parameter)


def did_not_run(parameter: ParameterRecord, trace: Trace) -> bool:
    record = trace.modules.get(parameter.module)
    return record is not None and record.calls == 0


def _kept_out(parameter: ParameterRecord, trace: Trace) -> bool:
    """A target network or teacher: run under no_grad on purpose, or not at all, and given to no optimizer."""
    record = trace.modules.get(parameter.module)
    return record is None or record.calls == 0 or not record.grad_enabled


def _beside_others(parameter: ParameterRecord, trace: Trace) -> bool:
    """An expert or a dropped layer: it did not run, but others alike (`experts.3`, `experts.5`) did."""
    if not did_not_run(parameter, trace):
        return False
    parts = parameter.name.split(".")
    for index, part in enumerate(parts):
        if part.isdigit() and any(
            _differs_only_at(index, parts, other) for other in trace.trainable if other.has_gradient
        ):
            return True
    return False


def _differs_only_at(index: int, parts: list[str], other: ParameterRecord) -> bool:
    theirs = other.name.split(".")
    return (
        len(theirs) == len(parts)
        and theirs[index].isdigit()
        and theirs[:index] == parts[:index]
        and theirs[index + 1 :] == parts[index + 1 :]
    )


def weights(trace: Trace) -> list[ParameterRecord]:
    """Matrices and kernels: a bias before a BatchNorm or in front of a softmax rightly gets no gradient to speak of."""
    return [p for p in trace.trainable if is_weight(p)]


def is_weight(parameter: ParameterRecord) -> bool:
    return len(parameter.shape) >= 2 and parameter.size > 1


def strength(trace: Trace) -> float:
    """The largest gradient per value among the weights."""
    return max((g for p in weights(trace) for g in p.rms_gradients().values()), default=0.0)


def vanished(trace: Trace, share: float = VANISHED) -> list[ParameterRecord]:
    """The first weights of the model, as far as their gradient is next to nothing beside the largest, at every look.

    A gradient that vanishes on its way back is missing from the first layers. Single weights further on may have
    next to none by nature: query and key weights at the start get 1e-9 of the largest in a healthy MobileBERT.
    """
    limit = share * strength(trace)
    return list(takewhile(lambda p: p.has_gradient and max(p.rms_gradients().values()) < limit, weights(trace)))


def gradient_norm(trace: Trace, step: int) -> float:
    """Of all parameters together; 0 where that step was not looked at."""
    return math.sqrt(sum((p.gradients.get(step) or 0.0) ** 2 for p in trace.trainable))


def update_ratios(trace: Trace) -> list[float]:
    """Sizes of updates relative to the weights they changed, over all looks."""
    return [ratio for p in weights(trace) for ratio in p.updates.values()]
