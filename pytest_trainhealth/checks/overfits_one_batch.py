"""overfits_one_batch: the training memorises one batch

What it does
    Takes up to 200 steps on one and the same batch, and twice as many when the loss is still falling. It stops as
    soon as the loss is below a tenth of its first value (`ratio=`).

When it fails
    The loss stays, creeps, oscillates, grows or becomes NaN. A training that cannot learn sixteen samples by heart
    will not learn sixteen million; what stands in its way is easier to find here.

How it judges losses that cannot reach a tenth
    Label smoothing, an ELBO or a contrastive loss has a floor, and a likelihood may be negative. Where the ratio
    cannot decide, the same run with zeroed inputs is the control: a training that does clearly better with its
    real inputs has memorised what can be memorised. Where the loss moves though nothing is learnt (a queue that fills,
    an annealed weight), a run without learning is the control.

Where the figures come from
    Of 233 healthy public architectures 14 % were below a tenth of their first loss after 50 steps, 91 % after 100,
    99.6 % after 200 and all after 400.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean, median
from typing import Any

from .. import curve, figures
from ..breakdown import broke_down
from ..facts import Cure, Symptom
from ..symptoms import INSTABILITY, NOT_LEARNING, PLATEAU
from ..trace import Trace
from . import NO_CONTROLS, CouldNotJudge, Judgement, NeedsControl, Passed

SIGNALS: tuple[str, ...] = ()
ONE_BATCH = True
ABOUT_HYPERPARAMETERS = True
STEPS = 200

#: A loop that accumulates gradients needs several calls for an update; more than eight are not waited for.
_CALLS_PER_UPDATE = 8
#: Without a single update by then there will be none.
_CALLS_WITHOUT_UPDATE = 64
#: A fall that is worth a control run: a learning rate 100 times too low moved the loss by 0.2 to 4 % in 200 to 400
#: steps, one too high ended 6 and 9 % below its start; distillation, the highest floor among the healthy programs,
#: falls by 17 %.
_WORTH_A_CONTROL = 0.12
_CLEARLY_FELL = 0.2
#: A loss that rose by this many times its start. Of the 192 healthy programs two do (a Wasserstein critic by 7.6, a
#: Gaussian likelihood that starts near 0 by 3.4; the next by 1.0), so a jump alone is never an alarm.
_JUMP = 3.0
#: The first loss of an oscillating curve may lie anywhere between its ends.
_ABOVE_NOISE = 1.5
_BETTER_THAN_CONTROL = 0.1


#: The model sees nothing but zeros; and: nothing is learnt.
ZEROED_INPUTS = Cure("zeroed_inputs", "zeroed inputs")
UNTRAINED = Cure("learning_rate", "no learning", {"factor": 0.0})


def longest(settings: Mapping[str, Any]) -> int:
    return _steps(settings) * 2 * _CALLS_PER_UPDATE


def _steps(settings: Mapping[str, Any]) -> int:
    return int(settings.get("steps") or STEPS)


def enough(trace: Trace, settings: Mapping[str, Any]) -> bool:
    losses, steps = trace.losses, _steps(settings)
    if _kept(losses, settings.get("ratio", 0.1)):
        return True
    updates = min(trace.update_count, len(losses))
    if not updates:
        return len(losses) >= max(_CALLS_WITHOUT_UPDATE, steps)
    if updates < steps:
        return False
    # still falling: it gets twice the time, and is asked again now and then
    return updates >= 2 * steps or ((updates - steps) % 25 == 0 and not curve.still_falling(losses))


def _kept(losses: list[float], ratio: float) -> bool:
    return len(losses) > 3 and losses[0] > 0 and fmean(losses[-3:]) < ratio * losses[0]


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    if not trace.losses:
        return CouldNotJudge("no step was taken")
    ratio = settings.get("ratio", 0.1)
    losses, first, last = trace.losses, trace.losses[0], curve.level(trace.losses)
    known = {"first_loss": first, "last_loss": last, "limit": ratio * first}
    if _kept(losses, ratio):
        return Passed(figures=known)
    if trace.cut_short:
        return CouldNotJudge(trace.cut_short, known)
    if max(map(abs, losses)) == 0:
        return CouldNotJudge("the loss is 0 from the first step on", known)
    jumped = max(losses) > first + _JUMP * abs(first)
    fall = (first - last) / max(abs(first), 1e-12)
    stands_out = first - last > _ABOVE_NOISE * curve.spread(losses)
    if stands_out and (fall >= _WORTH_A_CONTROL or first <= 0):
        verdict = _beside_zeroed_inputs(trace, controls.get(ZEROED_INPUTS.label), first, last, fall)
        if isinstance(verdict, Passed) and jumped:
            # it did learn something, but may do far better without the jump: said only with proof
            return replace(_symptom(trace, first, last, ratio), tentative=True)
        if verdict is not None:
            return verdict
    if warming_up(trace):
        return CouldNotJudge("the learning rate is still warming up at the last step: give more steps=", known)
    if adversarial(trace):
        return CouldNotJudge("several optimizers follow losses of their own, whose sum need not fall", known)
    untrained = controls.get(UNTRAINED.label)
    if untrained is None:
        return NeedsControl(UNTRAINED, once=True)
    if _moves_by_itself(untrained) and curve.level(untrained.losses) - last > _BETTER_THAN_CONTROL * abs(last):
        level = figures.loss(curve.level(untrained.losses))
        return Passed(
            (f"the loss moves by itself; judged against a run without learning, which ends at {level}",), known
        )
    return _symptom(trace, first, last, ratio)


def _moves_by_itself(untrained: Trace) -> bool:
    """A queue that fills, a teacher that follows, an annealed weight: the loss changes though nothing is learnt."""
    if untrained.crash or not untrained.finite or not untrained.losses:
        return False
    first = untrained.losses[0]
    return abs(curve.level(untrained.losses) - first) > _BETTER_THAN_CONTROL * abs(first)


def _beside_zeroed_inputs(
    trace: Trace, control: Trace | None, first: float, last: float, fall: float
) -> Judgement | None:
    """None: the control shows nothing that speaks for the training."""
    if fall < _CLEARLY_FELL and curve.is_straight(trace.losses):
        return None  # a creep, which a control that creeps more slowly must not excuse
    if control is None:
        return NeedsControl(ZEROED_INPUTS)
    known = {"first_loss": first, "last_loss": last}
    other = _control_level(control)
    if other is None or other < last - _BETTER_THAN_CONTROL * abs(first - last):
        # nobody does better without inputs, unless its targets are made from them (a masked autoencoder)
        return Passed(("judged by its fall: no control run was possible",), known) if fall >= _CLEARLY_FELL else None
    known["control_loss"] = other
    if other - last > _BETTER_THAN_CONTROL * abs(first - last):
        return Passed((f"judged against zeroed inputs, which end at {figures.loss(other)}",), known)
    if fall >= _CLEARLY_FELL:
        return CouldNotJudge(
            f"the loss falls ({figures.change(first, last)}), but no further than with zeroed inputs "
            f"({figures.loss(other)})",
            known,
        )
    return None


def _control_level(control: Trace) -> float | None:
    if control.without_effect or control.crash or not control.finite or not control.losses:
        return None
    return curve.level(control.losses)


def _symptom(trace: Trace, first: float, last: float, ratio: float) -> Symptom:
    losses, steps = trace.losses, len(trace.losses)
    samples = f" of {figures.plural(trace.batch_size, 'sample')}" if trace.batch_size else ""
    wanted = f"has to fall below {figures.loss(ratio * first)}" if first > 0 else "has to fall"
    summary = f"loss {figures.change(first, last)} in {steps} steps on one batch{samples} ({wanted})"
    if last - first > max(0.1 * abs(first), 2 * curve.spread(losses)):
        category, headline = INSTABILITY, f"loss grows from {figures.change(first, last)}"
    elif curve.oscillates(losses):
        category, headline = INSTABILITY, f"loss oscillates around {figures.loss(last)}"
    elif first - last > 0.3 * abs(first):
        category, headline = PLATEAU, f"loss stops at {figures.loss(last)}"
    else:
        category, headline = NOT_LEARNING, f"loss stuck at {figures.loss(last)}"
    return Symptom(summary, category, last, ratio * first, "high", headline)


def result(trace: Trace) -> str:
    if not trace.losses:
        return "no step was possible"
    if not trace.finite:
        return figures.change(trace.losses[0], trace.losses[-1])
    return figures.change(trace.losses[0], median(trace.losses[-3:]))


def warming_up(trace: Trace) -> bool:
    """The learning rate is still rising: half way it was at most three quarters of what it is at the end."""
    for optimizer in trace.optimizers.values():
        rates = list(optimizer.lr.values())
        if len(rates) >= 3 and rates[-1] > 0 and rates[-2] < 0.75 * rates[-1] and rates[-3] < rates[-2]:
            return True
    return False


def adversarial(trace: Trace) -> bool:
    """Several optimizers, and as many backward passes in a step: a GAN and its like."""
    active = [o for o in trace.optimizers.values() if o.steps]
    return len(active) > 1 and max(trace.backwards, default=0) > 1
