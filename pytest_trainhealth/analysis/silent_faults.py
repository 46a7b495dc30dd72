"""What is wrong with a training although its loss looks fine: symptoms that any check may find."""

from __future__ import annotations

from math import inf

from .. import wording
from ..records.symptoms import SILENT
from ..records.trace import Trace
from ..records.verdict import Symptom
from . import schedules, unmoved, wiring


def silently_wrong(trace: Trace) -> Symptom | None:
    return (
        wrong_mode(trace)
        or _noisy_teacher(trace)
        or _wrongly_scaled(trace)
        or _thrown_away(trace)
        or _coasts(trace)
        or _updated_twice(trace)
        or _frozen_moved(trace)
        or _rows_moved(trace)
        or _broken_tie(trace)
        or _samples_change(trace)
        or _batch_drifts(trace)
        or _norms_in_pieces(trace)
        or _drawn_without_gradient(trace)
        or _initialisation_lost(trace)
        or _clipped_too_late(trace)
        or _clipped_in_vain(trace)
        or _allied(trace)
        or _upside_down(trace)
        or _validated(trace)
    )


def begins_later(trace: Trace, before: float) -> Symptom | None:
    """What a look at the first steps alone would miss, if it begins before this step."""
    moved = wiring.frozen_moved(trace)
    frozen = _frozen_moved(trace) if moved and moved[0].steps[0] < before else None
    return wrong_mode(trace, before) or frozen or _upside_down(trace, before) or _validated(trace, before)


def wrong_mode(trace: Trace, before: float = inf) -> Symptom | None:
    """`before`: only if it begins earlier than at this step."""
    record = wiring.left_in_eval(trace)
    if record is None or record.evaluated[0] >= before:
        return None
    updates = wording.plural(len(record.evaluated), "update")
    since = f", from step {record.evaluated[0]} on" if record.trained else ""
    summary = f"{updates} followed a forward pass of {record.model} in eval mode{since} (expected 0)"
    return Symptom(
        summary, SILENT, float(len(record.evaluated)), 0.0, "high", f"{record.model} is trained in eval mode"
    )


def _validated(trace: Trace, before: float = inf) -> Symptom | None:
    """`before`: only if it is seen twice earlier than at this step."""
    record = wiring.validated_in_training_mode(trace)
    if record is None or record.validated[1] >= before:
        return None
    acts = "its dropout is on" if record.drops else "its BatchNorm statistics move"
    summary = f"{record.model} is evaluated in training mode: {acts}"
    steps = wording.plural(len(record.validated), "step")
    return Symptom(f"{summary}, at {steps} (expected 0)", SILENT, float(len(record.validated)), 0.0, "high", summary)


def _noisy_teacher(trace: Trace) -> Symptom | None:
    teacher = wiring.noisy_teacher(trace)
    if teacher is None:
        return None
    summary = f"{teacher.name} is frozen and makes targets in training mode: its dropout is on"
    steps = wording.plural(len(teacher.steps), "step")
    return Symptom(f"{summary}, at {steps} (expected 0)", SILENT, float(len(teacher.steps)), 0.0, "high", summary)


#: Looks at a function that is 0 for ever. By judgement: at steps 0, 1, 2 and 4, as in dead-activations.
_LOOKS = 4
#: Units. By judgement: fewer than 4 may be gates that are closed for now.
_UNITS = 4


def dead_function(trace: Trace) -> Symptom | None:
    """A rectifier of which nothing ever comes out, though the training goes well without it.

    Only layers (`nn.ReLU`): a call of `relu()` may be the part of a penalty that has nothing to object to.
    """
    layers = [a for a in trace.numbers.activations.values() if a.is_module and a.units >= _UNITS]
    dead = [a for a in layers if len(a.dead) >= _LOOKS and min(a.dead.values()) == 1]
    if not dead:
        return None
    units = wording.plural(dead[0].units, "unit")
    headline = f"{dead[0].function} in {dead[0].module} is always 0"
    sentence = f"all {units} of {dead[0].function} in {dead[0].module} are 0 for every sample at every look"
    return Symptom(f"{sentence} (expected some that are not)", SILENT, 1.0, 0.0, "medium", headline)


def _wrongly_scaled(trace: Trace) -> Symptom | None:
    wrong = wiring.wrongly_scaled(trace)
    if not wrong:
        return None
    first = wrong[0]
    how = "large" if first.factor > 1 else "small"
    times = wording.short(max(first.factor, 1 / first.factor))
    summary = f"{first.optimizer} steps with gradients that are {times} times too {how}, because of a loss scaler"
    updates = wording.plural(len(wrong), "update")
    return Symptom(f"{summary}, at {updates} (expected 0)", SILENT, first.factor, 1.0, "high", summary)


def _thrown_away(trace: Trace) -> Symptom | None:
    record = wiring.thrown_away(trace)
    if record is None:
        return None
    cleared, used = record.cleared[-1], record.used[-1]
    if used:
        summary = f"{cleared} of {cleared + used} backward passes before each update of {record.optimizer} are cleared"
    else:
        summary = f"{record.optimizer} steps without a gradient: zero_grad() has cleared them"
    return Symptom(f"{summary} (expected 0)", SILENT, float(cleared), 0.0, "high", summary)


def _coasts(trace: Trace) -> Symptom | None:
    found = unmoved.coasts(trace)
    if found is None:
        return None
    steps = wording.plural(found.coasted + found.full, "step")
    summary = f"{found.coasted} of {steps} of {found.optimizer} had a gradient of 0, and moved its parameters"
    headline = f"{found.optimizer} steps between its turns"
    return Symptom(f"{summary} (expected 0)", SILENT, float(found.coasted), 0.0, "high", headline)


def _updated_twice(trace: Trace) -> Symptom | None:
    twice = wiring.updated_twice(trace)
    if not twice:
        return None
    names = wording.names([record.parameter for record in twice])
    steps = wording.plural(len(twice[0].steps), "step")
    summary = f"{names} {wording.was_or_were(len(twice))} updated twice with one gradient at {steps} (expected once)"
    return Symptom(summary, SILENT, 2.0, 1.0, "high", f"{names} {wording.is_or_are(len(twice))} updated twice per step")


def _frozen_moved(trace: Trace) -> Symptom | None:
    moved = wiring.frozen_moved(trace)
    if not moved:
        return None
    names, many = wording.names([record.name for record in moved]), len(moved)
    what = ("its statistics" if many == 1 else "their statistics") if moved[0].by == "statistics" else ""
    steps = wording.plural(len(moved[0].steps), "step")
    summary = f"{names} {wording.is_or_are(many)} frozen, but {what}{' ' * bool(what)}moved"
    return Symptom(f"{summary} at {steps} (expected 0)", SILENT, float(many), 0.0, "high", summary)


def zeroed_moved(trace: Trace) -> Symptom | None:
    moved = wiring.zeroed_moved(trace)
    if not moved:
        return None
    names, many = wording.names([record.name for record in moved]), len(moved)
    summary = f"{names} {'gets a gradient' if many == 1 else 'get gradients'} of 0, set by hand, but moved"
    steps = wording.plural(len(moved[0].steps), "step")
    return Symptom(f"{summary} at {steps} (expected 0)", SILENT, float(many), 0.0, "high", summary)


def _rows_moved(trace: Trace) -> Symptom | None:
    record = wiring.zeroed_rows_moved(trace)
    if record is None:
        return None
    rows = f"{record.rows} of {wording.plural(record.of, 'row')} of {record.name}"
    summary = f"{rows} get gradients of 0, set by hand, but moved"
    steps = wording.plural(len(record.steps), "step")
    return Symptom(f"{summary} at {steps} (expected 0)", SILENT, float(record.rows), 0.0, "high", summary)


def _broken_tie(trace: Trace) -> Symptom | None:
    pairs = wiring.broken_ties(trace)
    if not pairs:
        return None
    pair = pairs[0]
    if pair.how == "memory":
        summary = f"{pair.first} and {pair.second} share their memory, but are two parameters (expected 1)"
    elif pair.how == "declared":
        summary = f"{pair.first} and {pair.second} are tied by the configuration, but are two parameters (expected 1)"
    else:
        how = "transposed values" if pair.how == "transposed" else "values"
        both = f"{pair.first} and {pair.second}"
        summary = f"{both} started with the same {how} and drifted apart (expected 1 shared parameter)"
    return Symptom(summary, SILENT, 2.0, 1.0, "high", f"{pair.first} and {pair.second} are not tied")


def _norms_in_pieces(trace: Trace) -> Symptom | None:
    if not wiring.batch_norms_in_pieces(trace):
        return None
    most, size = max(trace.numbers.most_values_per_channel.values()), trace.batch_size
    summary = f"BatchNorm never gets more than {wording.plural(most, 'value')} per channel of a batch of {size} samples"
    headline = "BatchNorm gets a batch in pieces of " + wording.plural(most, "value")
    return Symptom(f"{summary} (expected {wiring.FEW_VALUES + 1} or more)", SILENT, float(most), 3.0, "high", headline)


def _drawn_without_gradient(trace: Trace) -> Symptom | None:
    draw = wiring.drawn_without_gradient(trace)
    if draw is None:
        return None
    summary = f"only a pull towards 0 reaches the mean that {draw.function} draws from"
    if draw.choice:
        summary = f"only a pull towards the row that {draw.function} chooses reaches what it is chosen for"
    steps = wording.plural(len(draw.steps), "step")
    return Symptom(f"{summary}, at {steps} (expected the gradient of the loss)", SILENT, 0.0, 1.0, "high", summary)


def _initialisation_lost(trace: Trace) -> Symptom | None:
    lost = [each.weight for each in trace.wiring.lost_initialisations]
    if not lost:
        return None
    summary = f"the initial values of {wording.names(lost)} are lost"
    sentence = f"{summary}: the first forward pass computes {'it' if len(lost) == 1 else 'them'} anew (expected 0)"
    return Symptom(sentence, SILENT, float(len(lost)), 0.0, "medium", summary)


def _allied(trace: Trace) -> Symptom | None:
    alliance = wiring.alliance(trace)
    if alliance is None:
        return None
    summary = f"{alliance.maker} helps {alliance.critic}: both pull its scores for generated samples the same way"
    steps = wording.plural(len(alliance.steps), "step")
    return Symptom(f"{summary}, at {steps} (expected opposite ways)", SILENT, 1.0, -1.0, "high", summary)


def _upside_down(trace: Trace, before: float = inf) -> Symptom | None:
    """`before`: only if enough of it is seen earlier than at this step."""
    scheduler = schedules.waits_the_wrong_way(trace, before)
    if scheduler is None:
        return None
    fed = wording.change(scheduler.fed[0], scheduler.fed[-1])
    return Symptom(
        f'ReduceLROnPlateau(mode="max") is given a loss that falls, {fed} (expected mode="min")',
        SILENT,
        scheduler.fed[-1],
        scheduler.fed[0],
        "high",
        'ReduceLROnPlateau(mode="max") is given a loss',
    )


def _clipped_too_late(trace: Trace) -> Symptom | None:
    """Only by a line that says so: gradients that are decayed by hand after a step may be kept on purpose."""
    late = [p for p in wiring.clipped_too_late(trace) if p.changed_later_at and "clip" in p.changed_later_at.code]
    after_use = wiring.clipped_after_use(trace)
    if late:
        summary = f"gradients are clipped after {late[0].optimizer} has stepped with them"
    elif after_use is not None:
        summary = "gradients are clipped after they have been used"
    else:
        return None
    count = len(late) if late else after_use.late if after_use is not None else 0
    steps = wording.plural(count, "step")
    return Symptom(f"{summary}, at {steps} (expected 0)", SILENT, float(count), 0.0, "high", summary)


def _clipped_in_vain(trace: Trace) -> Symptom | None:
    scaled, vain = wiring.clipped_while_scaled(trace), wiring.clipped_in_vain(trace)
    nothing, aside = wiring.clipped_with_nothing(trace), wiring.clipped_aside(trace)
    if nothing is not None:
        summary, count = "clipping is given an iterator that has nothing left", len(nothing.steps)
    elif scaled:
        summary = f"gradients of {scaled[0].optimizer} are clipped before they are unscaled"
        count = len(scaled)
    elif aside is not None:
        summary = "clipping gets parameters of another optimizer, and nothing clips those of the one that steps"
        count = aside.aside
    elif vain is not None:
        what = "gets parameters that nothing trains" if wiring.of_unheld(vain) else "finds no gradient"
        summary, count = f"clipping {what}, and no line clips the gradients that the optimizer gets", vain.looks
    else:
        return None
    steps = wording.plural(count, "step")
    return Symptom(f"{summary}, at {steps} (expected 0)", SILENT, float(count), 0.0, "high", summary)


def _samples_change(trace: Trace) -> Symptom | None:
    change = trace.data.sample_change
    if change is None:
        return None
    if change.by_step:
        summary = f"batch {change.index} of {change.dataset} changes at each visit, because the step writes into it"
    else:
        summary = f"sample {change.index} of {change.dataset} changes each time it is read"
    means = " -> ".join(map(wording.short, change.means))
    sentence = f"{summary}: its mean goes {means} (expected no change)"
    return Symptom(sentence, SILENT, change.means[-1], change.means[0], "high", summary)


def _batch_drifts(trace: Trace) -> Symptom | None:
    batch = trace.data.drifting_batch
    if batch is None:
        return None
    summary = f"batch{batch.name} changes at each visit, because the step writes into it"
    means = " -> ".join(map(wording.short, batch.means))
    sentence = f"{summary}: its mean goes {means} (expected no change)"
    return Symptom(sentence, SILENT, batch.means[-1], batch.means[0], "high", summary)
