"""Parameters that get gradients and do not move: in no optimizer, or in one whose steps leave them where they are."""

from __future__ import annotations

from ..records.trace import Trace
from ..records.wiring import CoastingRecord, OptimizerRecord, OutsideWrites, ParameterRecord
from .unreached import without_gradient

#: Updates with a gradient that leave a parameter where it is. By judgement: one or two may be skipped by a warm-up from
#: 0 or a loss scaler, and five in a row are a habit.
_FEWEST_UPDATES = 5
#: Of the optimizer steps, without a gradient. By judgement: more than half; loops that step once too often at the end
#: of an accumulation have fewer, and healthy ones have none.
_MOST_EMPTY = 0.5
#: Of the steps of one that has turns, between its turns. By judgement: one that has every other turn is at a half, less
#: the one or two that it began with; one that is stepped once too often now and then is far below.
_OUT_OF_TURN = 0.4
#: Of the largest gradient per value of what moves. By judgement: biases before a BatchNorm have 1e-6 of it and less.
_AS_LARGE = 1e-3
#: Writes between updates that lead back to the start. By judgement: the first one may, when an average is new, and one
#: more where the first was renewed by nothing; three are a habit.
_FEWEST_WRITES = 3
#: Updates by hand, the passes that came after them without one, and how many times those before they have to be. By
#: judgement: an accumulation as long as that would not have begun with a short one.
_LONE_UPDATES, _PASSES_WITHOUT, _TIMES_LONGER = 2, 16, 8
#: Of a movement: that much is all of it, but for rounding, and this is most of it. By judgement: what keeps a fifth of
#: every update (a Lookahead that steps back each time) is slow, and meant so.
_ALL, _MOST = 0.999, 0.8


def nothing_moves(trace: Trace) -> bool:
    return bool(trace.trainable) and not any(p.moved for p in trace.trainable)


def orphaned(trace: Trace) -> list[ParameterRecord]:
    """Trainable, reached by gradients, in no optimizer, not moved by hand, and not left out on purpose.

    Where all updates are made by hand, what they leave out while they move others.
    """
    if not trace.wiring.optimizers and trace.wiring.hand_updates < _FEWEST_UPDATES:
        return []
    return [p for p in _unheld(trace) if not _spared(p, trace)]


def spared(trace: Trace) -> list[ParameterRecord]:
    """Not handed to an optimizer, and before all that is: fine-tuning of the head, for which nothing has to be frozen.

    Their gradients are computed for nothing, which is worth a note.
    """
    by_hand = trace.wiring.hand_updates >= _FEWEST_UPDATES
    return [p for p in _unheld(trace) if _spared(p, trace)] if trace.wiring.optimizers or by_hand else []


def _unheld(trace: Trace) -> list[ParameterRecord]:
    found = [p for p in trace.trainable if p.has_gradient and not p.held_by and not p.moved]
    if not trace.wiring.optimizers:
        found = [p for p in found if _could_move(p, trace)]
    # a tensor that derivatives are taken of is an input, wherever it is kept
    return [p for p in found if not (p.plain_tensor and trace.wiring.through_derivatives)]


def _could_move(parameter: ParameterRecord, trace: Trace) -> bool:
    """Its gradient is as large as those of what is moved by hand. (No rate is known, and a tiny update may be lost.)"""
    moving = [_largest(p) for p in trace.trainable if p.moved and p.has_gradient]
    return bool(moving) and _largest(parameter) > _AS_LARGE * max(moving)


def _largest(parameter: ParameterRecord) -> float:
    return max(parameter.rms_gradients().values(), default=0.0)


def _spared(parameter: ParameterRecord, trace: Trace) -> bool:
    """Within one model, of which something is trained.

    An optimizer that holds tensors which no model has was made for another head or layer, and two optimizers that hold
    the same parameters were made for something else: then nothing is spared on purpose.
    """
    hidden = parameter.kept_in or parameter.outside_model or parameter.appeared is not None
    if parameter.behind_trained is not False or parameter.beside_trained or hidden:
        return False
    if any(o.foreign_tensors for o in trace.wiring.optimizers.values()) or _put_in_late(parameter, trace):
        return False
    if any(len(set(p.held_by)) > 1 for p in trace.trainable):
        return False
    trained = [p for p in trace.trainable if (p.held_by if trace.wiring.optimizers else p.moved) and p.has_gradient]
    return any(p.model == parameter.model for p in trained)


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
    back = {p.name for p in put_back(trace)}
    found = [p for p in trace.trainable if p.held_by and p.has_gradient and (not p.moved or p.name in back)]
    return [p for p in found if p.lost is not None and p.lost.count >= _FEWEST_UPDATES]


def put_back(trace: Trace) -> list[ParameterRecord]:
    """Moved by each update, and as before when the next one came, while others stay where updates take them.

    Where all are put back, a model may be adapted to each sample anew. Where others get no gradient, these may be what
    writes the values: the weights of a network that another one makes.
    """
    if without_gradient(trace):
        return []
    held = [p for p in trace.trainable if p.held_by and p.has_gradient]
    found = [p for p in held if p.lost is not None and p.lost.put_back >= _FEWEST_UPDATES]
    return found if len(found) < len([p for p in held if p.moved]) else []


def led_back(trace: Trace) -> tuple[str, OutsideWrites] | None:
    """The optimizer between whose updates something draws its parameters to where they were at the start, each time.

    Or takes back most of every single update. Where all is taken back, a model may be adapted to each sample anew.
    """
    for label, record in trace.wiring.outside_writes.items():
        each_time = record.writes == record.updates
        anew = each_time and all(share > _ALL for share in record.taken)
        if record.writes < _FEWEST_WRITES or not record.taken or anew:
            continue
        if record.to_the_start == record.writes or (each_time and min(record.taken) > _MOST):
            return label, record
    return None


def updates_ended(trace: Trace) -> int | None:
    """After how many backward passes the last update by hand came, where many more have passed without any.

    An accumulation has its first update after as many passes as its second.
    """
    wiring = trace.wiring
    if wiring.optimizers or not wiring.hand_update_passes or wiring.hand_updates > _LONE_UPDATES:
        return None
    last = wiring.hand_update_passes[-1]
    return last if wiring.hand_passes - last >= max(_PASSES_WITHOUT, _TIMES_LONGER * last) else None


def _bounded(parameter: ParameterRecord) -> bool:
    return parameter.lost is not None and parameter.lost.constant and (parameter.lost.changed or parameter.lost.written)


def mostly_empty(trace: Trace) -> bool:
    """Most of the optimizers' steps had no gradient to step with."""
    seen = trace.wiring.empty_updates
    return seen.empty >= _FEWEST_UPDATES and seen.empty > _MOST_EMPTY * (seen.empty + seen.full)


def passed_by(trace: Trace) -> list[ParameterRecord]:
    """What an optimizer holds that never found a gradient: each of its steps came right after a backward pass that had
    reached none of them, though another optimizer's passes do. Those of a watched loop are in other steps."""
    seen = trace.wiring.empty_updates
    labels = {label for label, times in seen.missed.items() if times >= _FEWEST_UPDATES and not seen.met.get(label)}
    held = [p for p in trace.trainable if p.held_by and set(p.held_by) <= labels]
    return [p for p in held if p.has_gradient] if not any(p.moved for p in held) else []


def coasts(trace: Trace) -> CoastingRecord | None:
    """One of several optimizers that has turns, and keeps moving its parameters between them, without a gradient."""
    found = [each for each in trace.wiring.coasting.values() if each.full and each.coasted >= _FEWEST_UPDATES]
    return next((each for each in found if each.coasted >= _OUT_OF_TURN * (each.coasted + each.full)), None)


def steps_frozen_ones(trace: Trace) -> OptimizerRecord | None:
    """An optimizer that steps, and all of whose parameters are frozen, while another one learns.

    They may be thawed later; until then its steps do nothing. What is trainable when a run begins and frozen in turns,
    as a critic is, counts as trainable.
    """
    held: dict[str, list[ParameterRecord]] = {}
    for parameter in trace.wiring.parameters.values():
        for label in parameter.held_by:
            held.setdefault(label, []).append(parameter)
    if not any(p.moved for each in held.values() for p in each):
        return None
    return next(
        (
            o for o in trace.wiring.optimizers.values()
            if o.steps and held.get(o.label) and not o.foreign_tensors
            and not any(p.trainable or p.moved or p.has_gradient for p in held[o.label])
        ),
        None,
    )  # fmt: skip


def idle_optimizers(trace: Trace) -> list[OptimizerRecord]:
    """Those that never step while others do, although gradients reach what only they hold."""
    if not trace.update_count:
        return []
    waiting = {p.held_by for p in trace.trainable if p.has_gradient and not p.moved}
    return [o for o in trace.wiring.optimizers.values() if not o.steps and (o.label,) in waiting]
