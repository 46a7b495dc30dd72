"""What a trace says about the wiring: which parameters get gradients, are held by an optimizer, and move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from ..records.trace import Trace
from ..records.wiring import (
    VANISHED,
    ClipCalls,
    DetachedSample,
    DoubleUpdate,
    FrozenChange,
    FrozenRows,
    GradientPath,
    HelpedCritic,
    ModeRecord,
    NoisyTeacher,
    ParameterRecord,
    TiedPair,
    UnusedPasses,
    UsedUpClip,
    WronglyScaled,
    largest_gradient,
    vanished_first,
)
from .unmoved import idle_optimizers as idle_optimizers
from .unmoved import nothing_moves as nothing_moves
from .unmoved import orphaned as orphaned
from .unreached import did_not_run as did_not_run
from .unreached import without_gradient as without_gradient

#: An optimizer that stepped twice on the previous step's gradients always does. By judgement.
STALE_STEPS = 2
#: Optimizers that step at fewer of the updates than this take turns. By judgement: two in turns are at 0.5 each, one
#: that joins at every update at 1.
_IN_TURNS = 0.75
#: What was seen at two of the first four steps always happens; what begins later has to last. By judgement.
_STEPS = 2
#: That long. By judgement: an evaluation in between takes one step at most.
_STEPS_LATER = 3
#: A limit that nothing is meant to reach. By judgement: clipping is at norms of 0.1 to 100.
_MEASURES = 1000.0
#: Of the gradient that the optimizer used. By judgement: clipping that does something takes half of it or more;
#: rounding takes 1e-7.
_CUT_DOWN = 0.5
#: Of the gradient. By judgement: clipped with a factor of thousands in it, a thousandth is left or less; a tenth, as in
#: bad-gradient-clipping, is enough.
_NEXT_TO_NOTHING = 0.1
#: What clipping leaves where it is meant. By judgement, as in bad-gradient-clipping: nobody clips below it on purpose.
_USUAL_NORM = 0.1


def piling_up(trace: Trace) -> dict[str, list[int]]:
    """Optimizers that keep using the previous step's gradients, with the steps at which they did."""
    return {label: steps for label, steps in trace.wiring.stale_gradients.items() if len(steps) >= STALE_STEPS}


def leaking(trace: Trace) -> dict[str, dict[int, str]]:
    """Optimizers that keep stepping with what another's backward pass, through their parameters, left there."""
    return {label: steps for label, steps in trace.wiring.leaked_gradients.items() if len(steps) >= STALE_STEPS}


def cleared_early(trace: Trace) -> list[int]:
    """Steps with gradients after backward() and none left for the optimizer."""
    return [
        step
        for step, after in trace.wiring.after_backward.items()
        if after > 0 and trace.wiring.at_update.get(step, after) == 0
    ]


def thrown_away(trace: Trace) -> UnusedPasses | None:
    """Passes that are cleared before each update but the last of them, all from one line: accumulation in vain.

    Or all of them, so that an optimizer steps with nothing. The first update is not counted: whether the code itself
    reads gradients is watched from then on. Where several optimizers step, one may skip turns of its own on purpose.
    """
    stepping = [o for o in trace.wiring.optimizers.values() if o.steps]
    if trace.wiring.after_backward and not any(trace.wiring.after_backward.values()):
        return None  # nothing but zeros was cleared
    for record in trace.wiring.unused_passes.values():
        cleared, used, elsewhere = record.cleared[1:], record.used[1:], record.elsewhere[1:]
        # two losses, each with a backward pass of its own, and only the last one's gradients are left
        if len(stepping) == 1 and len(elsewhere) >= _STEPS and all(elsewhere) and len(set(elsewhere)) == 1:
            return record
        if len(cleared) < _STEPS or not all(cleared):
            continue
        if not any(used):
            return record
        if len(stepping) == 1 and set(used) == {1} and len(set(cleared)) == 1:
            return record
    return None


def zero_products(trace: Trace) -> list[ParameterRecord]:
    """Weights that start at 0, and whose gradient is exactly 0 at every step: each waits for another one to move.

    One alone may be out of use in this run; of two that are multiplied, each has a gradient times the other.
    """
    found = [p for p in weights(trace) if p.norm == 0 and p.gradients and not p.has_gradient and not p.never_reached]
    return found if len(found) > 1 else []


def updated_twice(trace: Trace) -> list[DoubleUpdate]:
    return [record for record in trace.wiring.double_updates.values() if len(record.steps) >= _STEPS]


def left_in_eval(trace: Trace) -> ModeRecord | None:
    """A model that is trained in eval mode: from the start on, or from some step on for good.

    One that has only BatchNorms with their own statistics may be meant to keep them.
    """
    for record in trace.wiring.modes.values():
        late = record.evaluated and record.trained
        if len(record.evaluated) < (_STEPS_LATER if late else _STEPS):
            continue
        if late and min(record.evaluated) < max(record.trained):
            continue
        if late or set(record.layers) - record.pretrained:
            return record
    return None


def validated_in_training_mode(trace: Trace) -> ModeRecord | None:
    return next((record for record in trace.wiring.modes.values() if len(record.validated) >= _STEPS), None)


def noisy_teacher(trace: Trace) -> NoisyTeacher | None:
    return next((each for each in trace.wiring.noisy_teachers.values() if len(each.steps) >= _STEPS), None)


def wrongly_scaled(trace: Trace) -> list[WronglyScaled]:
    found = trace.wiring.wrongly_scaled
    return found if len(found) >= _STEPS else []


def frozen_moved(trace: Trace) -> list[FrozenChange]:
    return [record for record in trace.wiring.frozen_changes.values() if len(record.steps) >= _STEPS]


def zeroed_moved(trace: Trace) -> list[FrozenChange]:
    """Those that got nothing but gradients set to 0 by hand, and moved by weight decay."""
    found = [record for record in trace.wiring.zeroed_changes.values() if len(record.steps) >= _STEPS]
    known = trace.wiring.parameters
    return [r for r in found if r.name in known and known[r.name].trainable and not known[r.name].has_gradient]


def zeroed_rows_moved(trace: Trace) -> FrozenRows | None:
    return next((record for record in trace.wiring.zeroed_rows.values() if len(record.steps) >= _STEPS), None)


def drawn_without_gradient(trace: Trace) -> DetachedSample | None:
    return next((draw for draw in trace.wiring.detached_samples.values() if len(draw.steps) > _STEPS), None)


def alliance(trace: Trace) -> HelpedCritic | None:
    """A critic whose opponent helps it, at every step that was looked at closely enough."""
    return next((each for each in trace.wiring.helped_critics.values() if len(each.steps) > _STEPS), None)


def broken_ties(trace: Trace) -> list[TiedPair]:
    """The user's own, since a package may offer models whose weights start alike; and what a model itself declares."""
    found = []
    for pair in trace.wiring.tied_pairs:
        both = [trace.wiring.parameters.get(name) for name in (pair.first, pair.second)]
        theirs = pair.how == "declared"  # whoever made the weights: the model says that they are one
        if all(p is not None and (theirs or p.made_by == "user") and p.has_gradient for p in both):
            found.append(pair)
    return found


def clipped_too_late(trace: Trace) -> list[GradientPath]:
    """Steps whose gradients were cut down after the optimizer had used them."""
    return [p for p in trace.wiring.gradient_paths if p.left is not None and 0 < p.left <= _CUT_DOWN * p.at_update]


def updates_made(trace: Trace) -> int:
    """At most one for each call. Without an optimizer of torch's nobody tells of updates, and each call counts: a loop
    that moves its parameters by hand gets the time that any other gets."""
    if not trace.wiring.optimizers and not trace.update_count:
        return len(trace.losses)
    return min(trace.update_count, len(trace.losses))


def too_few_updates(trace: Trace, wanted: int, most_calls: int) -> str | None:
    """Why a loop that accumulates gradients over many calls cannot be judged: its calls ran out before its updates."""
    updates = min(trace.update_count, trace.steps)
    if not 0 < updates < wanted or trace.steps < most_calls:
        return None
    return f"gradients are accumulated: {updates} updates in {trace.steps} calls are too few, give more steps="


def clipped_after_use(trace: Trace) -> ClipCalls | None:
    """A line that clips only gradients that have been used and are about to be cleared, whatever their size.

    Where another line clips in time, or the loop of a framework, this one may be a way to read the norm; so may one
    with a huge limit.
    """
    if _clipped_by_loop(trace):
        return None
    calls = [each for each in trace.wiring.clip_calls.values() if each.limit < _MEASURES]
    # what the last step has left is not cleared any more, and where an evaluation has cleared it none is found
    after = [each for each in calls if each.late >= _STEPS and each.late >= each.found - 1]
    return after[0] if after and len(after) == len(calls) else None


def clipped_in_vain(trace: Trace) -> ClipCalls | None:
    """A line that clips and never finds a gradient, while no other line finds one either.

    It comes before backward(), or is given parameters that are not those that are trained. What it finds on these
    counts for nothing: no optimizer holds them, and nothing else moves them. Where gradients are cleared before the
    step, that is why it finds none.
    """
    if _clipped_by_loop(trace) or cleared_early(trace) or trace.applied.restored_gradients:
        return None
    calls = list(trace.wiring.clip_calls.values())
    in_vain = next((each for each in calls if each.looks >= _STEPS), None)
    return None if in_vain is None or any(each.found and not of_unheld(each) for each in calls) else in_vain


def _clipped_by_loop(trace: Trace) -> bool:
    limit = trace.wiring.clipped_by_loop
    return limit is not None and limit < _MEASURES


def of_unheld(call: ClipCalls) -> bool:
    """At the first look there is nothing yet to compare with."""
    return call.unheld >= _STEPS and call.unheld >= call.found - 1


def clipped_aside(trace: Trace) -> ClipCalls | None:
    """A line that clips what another optimizer holds than the one that steps next, which nobody clips. A huge limit is
    a way to measure the norm."""
    calls = [each for each in trace.wiring.clip_calls.values() if each.limit < _MEASURES and not each.used]
    return next((each for each in calls if each.aside >= _STEPS), None)


def clipped_with_nothing(trace: Trace) -> UsedUpClip | None:
    """A line that clips what an iterator yields, which has nothing left. A huge limit is a way to measure the norm.

    What another line clips are other parameters, unless a re-run has put it there.
    """
    if trace.cured and any(each.found for each in trace.wiring.clip_calls.values()):
        return None
    calls = [each for each in trace.wiring.used_up_clips.values() if each.limit < _MEASURES]
    return next((each for each in calls if len(each.steps) >= _STEPS), None)


def clipped_while_scaled(trace: Trace) -> list[GradientPath]:
    """Steps at which gradients were clipped while a loss scaler's factor was in them: next to nothing is left.

    Only by a line that says so, and at most of the steps. A loop knows the factor that it multiplies its own loss by,
    and may clip at a limit that has it in it: then what is left has a usual norm.
    """
    paths = [p for p in trace.wiring.gradient_paths if p.after_backward > 0]
    cut = [
        p for p in paths
        if p.unscaled_later and p.changed_at and "clip" in p.changed_at.code
        and p.at_update <= _NEXT_TO_NOTHING * p.after_backward and not (p.by_hand and p.at_update > _USUAL_NORM)
    ]  # fmt: skip
    return cut if len(cut) >= _STEPS and 2 * len(cut) > len(paths) else []


def whole_modules(parameters: Sequence[ParameterRecord], trace: Trace) -> list[str]:
    """The largest modules whose parameters are all among these; the name of a parameter if its module's are not."""
    names, found = {p.name for p in parameters}, []
    for parameter in parameters:
        parts = parameter.name.split(".")
        for depth in range(1, len(parts) + 1):
            path = ".".join(parts[:depth])
            if {p.name for p in trace.trainable if p.name == path or p.name.startswith(f"{path}.")} <= names:
                found.append(path)
                break
    return list(dict.fromkeys(found))


def weights(trace: Trace) -> list[ParameterRecord]:
    return [p for p in trace.trainable if p.is_weight]


def one_unit_bottleneck(trace: Trace) -> ParameterRecord | None:
    """The weights of a single unit that stands between a model and its outputs, three or more.

    Not where there are as many outputs as inputs: an autoencoder squeezes on purpose. Two units are what people plot.
    """
    layers = weights(trace)
    if len(layers) < 3 or any(p.module_class != "Linear" for p in layers):
        return None
    first, narrow, last = layers[0], layers[-2], layers[-1]
    squeezed = narrow.shape[0] == last.shape[1] == 1 and last.shape[0] >= 3
    return narrow if squeezed and first.shape[1] != last.shape[0] else None


def strength(trace: Trace) -> float:
    """The largest gradient per value among the weights."""
    return largest_gradient(weights(trace))


def vanished(trace: Trace, share: float = VANISHED) -> list[ParameterRecord]:
    """The first weights, as long as their gradient is almost nothing compared with the largest, at every look."""
    return vanished_first(weights(trace), share)


def gradient_norm(trace: Trace, step: int) -> float:
    """Of all parameters together; 0 where that step was not looked at."""
    return math.sqrt(sum((p.gradients.get(step) or 0.0) ** 2 for p in trace.trainable))


def update_ratios(trace: Trace) -> list[float]:
    """Sizes of updates relative to the weights they changed, over all looks."""
    return [ratio for p in weights(trace) for ratio in p.updates.values()]


#: The mean and spread of so few values leave nothing but the sign. Two values become -1 and 1, whatever they were.
FEW_VALUES = 2


def batch_norms_starved(trace: Trace) -> bool:
    """Most BatchNorm layers get two values per channel or fewer, and not in the last batch of an epoch alone.

    A single one after a global pooling, among many that see all positions, does little harm.
    """
    counts = trace.numbers.values_per_channel.values()
    return bool(counts) and median(counts) <= FEW_VALUES and (trace.batch_size or 0) <= FEW_VALUES


def batch_norms_of_one_sample(trace: Trace) -> bool:
    """Every batch is one sample, however many positions that has."""
    return bool(trace.numbers.values_per_channel) and trace.batch_size == 1


#: Samples of a batch whose pieces are that small. By judgement: 8, four times a piece. A batch of two may be all that a
#: smoke test hands in; one of eight was cut.
_A_BATCH = 8


def batch_norms_in_pieces(trace: Trace) -> bool:
    """No BatchNorm ever gets more than two values per channel, although batches have many samples: the step cuts them.

    Of two values -1 and 1 are left, whatever they were, and in eval mode the layer computes something else.
    """
    counts = trace.numbers.most_values_per_channel.values()
    return bool(counts) and max(counts) <= FEW_VALUES and (trace.batch_size or 0) >= _A_BATCH


def why_it_need_not_fall(trace: Trace) -> str:
    """Of a training in which parts work against each other."""
    if trace.wiring.reversed_gradients:
        return "a gradient is turned round on its way back: two parts work against each other, and no loss has to fall"
    return "several optimizers follow losses of their own, whose sum need not fall"


def adversarial(trace: Trace) -> bool:
    """Several optimizers, and as many backward passes in a step: a GAN and the like.

    Or none of them at most steps: in a watched loop each one's turn is a step of its own. Or one loss whose gradient is
    turned round on its way back, so that one part of the model works against another.
    """
    if trace.wiring.reversed_gradients:
        return True
    active = [o for o in trace.wiring.optimizers.values() if o.steps]
    with_updates = sum(1 for count in trace.updates if count)
    in_turns = len(active) > 1 and max(o.steps for o in active) < _IN_TURNS * with_updates
    return len(active) > 1 and (max(trace.backwards, default=0) > 1 or in_turns)
