"""Parameters that get gradients and do not move: in no optimizer, or in one whose steps leave them where they are."""

from __future__ import annotations

from ..records.trace import Trace
from ..records.wiring import OptimizerRecord, ParameterRecord

#: Updates with a gradient that leave a parameter where it is. By judgement: one or two may be skipped by a warm-up from
#: 0 or a loss scaler, and five in a row are a habit.
_FEWEST_UPDATES = 5
#: Steps of a loop that updates by hand. By judgement: as many as a check waits for what may take part later.
_PATIENCE_BY_HAND = 32
#: Of the optimizer steps, without a gradient. By judgement: more than half; loops that step once too often at the end
#: of an accumulation have fewer, and healthy ones have none.
_MOST_EMPTY = 0.5


def nothing_moves(trace: Trace) -> bool:
    return bool(trace.trainable) and not any(p.moved for p in trace.trainable)


def orphaned(trace: Trace) -> list[ParameterRecord]:
    """Trainable, reached by gradients, in no optimizer, not moved by hand, and not left out on purpose."""
    if not trace.wiring.optimizers:
        return _left_behind(trace)
    return [p for p in _unheld(trace) if not _spared(p, trace)]


def _left_behind(trace: Trace) -> list[ParameterRecord]:
    """The same of a loop that updates by hand, where no parameter group says what is meant to be trained.

    What never moves is left out by mistake if it stands behind what does: a head, or a layer in the middle. Nobody
    tunes what comes before a part and leaves that part, unfrozen, as it was made. It is given as many updates as
    anything that may wait for its turn.
    """
    if trace.steps < _PATIENCE_BY_HAND or not any(p.moved for p in trace.trainable):
        return []
    return [p for p in _unheld(trace) if p.behind_trained and p.model is not None and not p.outside_model]


def spared(trace: Trace) -> list[ParameterRecord]:
    """Not handed to an optimizer, and before all that is: fine-tuning of the head, for which nothing has to be frozen.

    Their gradients are computed for nothing, which is worth a note.
    """
    return [p for p in _unheld(trace) if _spared(p, trace)] if trace.wiring.optimizers else []


def _unheld(trace: Trace) -> list[ParameterRecord]:
    found = [p for p in trace.trainable if p.has_gradient and not p.held_by and not p.moved]
    # a tensor that derivatives are taken of is an input, wherever it is kept
    return [p for p in found if not (p.plain_tensor and trace.wiring.through_derivatives)]


def _spared(parameter: ParameterRecord, trace: Trace) -> bool:
    """Within one model, of which something is trained.

    An optimizer that holds tensors which no model has was made for another head or layer, and two optimizers that hold
    the same parameters were made for something else: then nothing is spared on purpose.
    """
    hidden = parameter.kept_in or parameter.outside_model or parameter.appeared is not None
    if parameter.behind_trained is not False or hidden:
        return False
    if any(o.foreign_tensors for o in trace.wiring.optimizers.values()) or _put_in_late(parameter, trace):
        return False
    if any(len(set(p.held_by)) > 1 for p in trace.trainable):
        return False
    return any(p.held_by and p.has_gradient and p.model == parameter.model for p in trace.trainable)


def _put_in_late(parameter: ParameterRecord, trace: Trace) -> bool:
    path = parameter.module
    while path:
        if path in trace.wiring.modules and trace.wiring.modules[path].after_optimizer:
            return True
        path = path.rpartition(".")[0]
    return False


def held_still(trace: Trace) -> list[ParameterRecord]:
    """Held, with gradients, stepped, and never moved: the optimizer leaves them out, or something puts them back.

    Not where an update is too small for the type of number; nor a constant that is put back, which a bound may hold.
    """
    return [p for p in _unmoved(trace) if p.lost and p.lost.rate and not p.lost.too_small and not _bounded(p)]


def at_rate_zero(trace: Trace) -> list[ParameterRecord]:
    """Held, with gradients, stepped, and with a learning rate of 0 all the time."""
    return [p for p in _unmoved(trace) if p.lost and not p.lost.rate]


def left_at_rate_zero(trace: Trace) -> list[ParameterRecord]:
    """Not by a schedule, and not before all that is trained: a body may be unfrozen later by giving it a rate."""
    zero = [p for p in at_rate_zero(trace) if p.lost is not None and not p.lost.initial_rate]
    return [p for p in zero if p.behind_trained is not False]


def too_small_to_move(trace: Trace) -> list[ParameterRecord]:
    return [p for p in _unmoved(trace) if p.lost and p.lost.rate and p.lost.too_small]


def _unmoved(trace: Trace) -> list[ParameterRecord]:
    found = [p for p in trace.trainable if p.held_by and p.has_gradient and not p.moved]
    return [p for p in found if p.lost is not None and p.lost.count >= _FEWEST_UPDATES]


def _bounded(parameter: ParameterRecord) -> bool:
    return parameter.lost is not None and parameter.lost.constant and (parameter.lost.changed or parameter.lost.written)


def mostly_empty(trace: Trace) -> bool:
    """Most of the optimizers' steps had no gradient to step with."""
    seen = trace.wiring.empty_updates
    return seen.empty >= _FEWEST_UPDATES and seen.empty > _MOST_EMPTY * (seen.empty + seen.full)


def idle_optimizers(trace: Trace) -> list[OptimizerRecord]:
    """Those that never step while others do, although gradients reach what only they hold."""
    if not trace.update_count:
        return []
    waiting = {p.held_by for p in trace.trainable if p.has_gradient and not p.moved}
    return [o for o in trace.wiring.optimizers.values() if not o.steps and (o.label,) in waiting]
