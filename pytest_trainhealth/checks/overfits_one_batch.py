"""overfits_one_batch: the training memorises one batch

What it does
    Takes up to 200 steps on the same batch, and twice as many while the loss is still falling. It stops as soon as the
    promise is kept: what is left above the loss's floor is a tenth (`ratio=`) of the first loss, or of the loss of a
    guess where the first one is even higher.

How it judges
    By points of reference instead of the first loss alone. The *floor* is the least value that the targets allow: 0 as
    a rule, more with smoothed labels or soft targets. *Chance* is the loss of the best constant answer. Where the
    promise is not clearly kept, the same model takes the same steps with a plain recipe (Adam at 0.01 and 0.001,
    default initialisation, standardised inputs, no regularisation): what that reaches is the model's *reach*.

When it fails
    The loss becomes NaN, grows or oscillates; or it ends far above what the plain recipe reaches: then the fault is in
    the recipe. Or it is no better than a guess, whatever the recipe; or a change to the model, its output or its loss
    is shown to make the difference. A training that cannot learn sixteen samples by heart will not learn sixteen
    million; what is in its way is easier to find here.

When it cannot judge
    The loss stays well above its floor, a plain recipe does no better, and nothing shows why: the model may be too
    small for its batch on purpose. All targets of the batch are equal. The learning rate is still warming up.
    Adversaries, whose losses need not fall.

How it judges losses whose floor is not known
    An ELBO or a contrastive loss has one, and a likelihood may be negative. There the same run with zeroed inputs is
    another control: a training that does clearly better with its real inputs, and as well as the plain recipe, has
    memorised what can be memorised. Where the loss moves though nothing is learnt (a queue that fills, an annealed
    weight), a run without learning is the control.

Where the figures come from
    Of 233 healthy public architectures 14 % were below a tenth of their first loss after 50 steps, 91 % after 100,
    99.6 % after 200 and all after 400.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from statistics import fmean, median
from typing import Any

from .. import wording
from ..analysis import chance, learning_rates, loss_calls, loss_curve, loss_symptoms, reference_points, wiring
from ..analysis.reference_points import Points, Reach, points
from ..analysis.run_failures import broke_down
from ..records.intervention import Cure
from ..records.judgement import (
    NO_CONTROLS,
    UNTREATED,
    CouldNotJudge,
    FailedRun,
    FailIfConfirmed,
    Judgement,
    NeedsControl,
    Passed,
)
from ..records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Symptom

SIGNALS: tuple[str, ...] = ("loss_calls", "penalties")
ONE_BATCH = True
BLAMES_RATES = True
#: One batch before several. By judgement: 2.
TURN = 2
#: Of 233 healthy architectures 99.6 % are below a tenth by then (see above).
STEPS = 200

#: The default of the setting. Of 299 healthy programs 263 get below it, and the others end at 0.10 to 1.4 and are
#: judged by their controls; of 39 faulty ones that fail 3 get below.
_RATIO = 0.1
#: Losses whose mean has to be below. By judgement: one of them alone may be luck.
_LAST_STEPS = 3
#: Steps. By judgement: an eighth of the 200.
_ASKED_AGAIN = 25
#: A loop that accumulates gradients needs several calls for an update; more than eight are not waited for. By
#: judgement: 1,600 calls for 200 updates are long enough.
_CALLS_PER_UPDATE = 8
#: Without a single update by then there will be none. By judgement: twice the longest accumulation that is usual, 32.
_CALLS_WITHOUT_UPDATE = 64
#: A fall that is worth a control run. A learning rate 100 times too low moves the loss by 0.2 to 4 % in 200 to 400
#: steps; distillation, the highest floor among the healthy programs, falls by 7.6 to 17 %.
_WORTH_A_CONTROL = 0.05
#: A fall that needs no control. Of 28 healthy programs that came so far 27 fell by 0.20 and more (one by 0.17), of 35
#: faulty ones 28; a control says more, where there is one.
_CLEARLY_FELL = 0.2
#: Beside a control that it beats, a loss below three tenths has memorised nearly all: no cure can do "clearly better".
#: (A healthy wav2vec2 ends at 17 %, and clipping, of all things, brings it to just below a tenth.)
_NEARLY = 0.3
#: A loss that rose by this many times its start. Of the 192 healthy programs two do (a Wasserstein critic by 7.6, a
#: Gaussian likelihood that starts near 0 by 3.4; the next by 1.0), so a jump alone is never an alarm.
_JUMP = 3.0
#: The first loss of an oscillating curve may lie anywhere between its ends. Of programs that reach no tenth 30 of 36
#: healthy and 40 of 54 faulty ones are above; by judgement.
_ABOVE_NOISE = 1.5
#: Of the fall: how much lower than with zeroed inputs. Healthy: 23 of 24 programs at 0.20 and more (the other, 0.06, is
#: not judged). Faulty: 13 of 34 below 0.1; the others learn, and their fault is looked for elsewhere. A loss that moves
#: by itself: 0.92 and 0.33 in one healthy program, at most 0.09 in 22 faulty ones.
_BETTER_THAN_CONTROL = 0.1
#: How far below the uncured run's level a cured one ends: half, as a rule (six faulty programs with the right cure: at
#: most 0.29). A diffusion model whose differences broadcast stays at 1.03 and ends at 0.33 without. Two thirds along
#: with an obvious fault: a VAE with a sigmoid too many, or with a KL term summed over the batch, ends at 24.1 and 18.0,
#: and at 8.9 without, which is 0.37 and 0.49 of them.
_BELOW_A_FAULT = 0.67
#: Of the way from the start down to what a plain recipe reaches: how far above it a run may end. After 400
#: steps 75 of 76 healthy twins whose points are known end within 0.04 (the other's schedule had ended); of 24 faulty
#: programs that a plain recipe heals 23 end above 0.21.
_ABOVE_REACH = 0.15
#: The same: beyond, the fault is plain whatever its cause. Of the 76 twins the one named above is, of the 24 faulty
#: programs 21 are.
_NOT_HALF_WAY = 0.5
#: The same where the floor of the loss is not known. By judgement: twice as much, because such a loss may be a reward.
_FAR_ABOVE_REACH = 0.3
#: Times the limit: a plain recipe that ends here has kept the promise, but for the last of it. By judgement.
_NEARLY_THERE = 1.2
#: Of the way from the floor up to a guess: beyond, a run is no better than the same answer for every sample. Of the
#: 76 healthy twins one is above 0.1 (and above 0.9, too), of 61 faulty programs 40 are above 0.1, and 26 above 0.9.
_NO_BETTER_THAN_A_GUESS = 0.9
#: Of the first loss. It words a symptom: of 15 healthy programs that get here none grew, of 48 faulty ones two, by up
#: to 0.22.
_GREW = 0.1
#: Times the noise. By judgement: what grows within its own jumps does not grow.
_GREW_ABOVE_NOISE = 2
#: Of the first loss: it stops, otherwise it is stuck. By judgement, because it is wording and the order of causes: 20
#: of 48 faulty programs are above.
_FELL_SOMEWHAT = 0.3
#: Instead of a first loss of 0, below any that matters: 1e-12.
_NO_ZERO = 1e-12


#: The model sees nothing but zeros; and: nothing is learnt.
ZEROED_INPUTS = Cure("zeroed_inputs", "zeroed inputs")
UNTRAINED = Cure("learning_rate", "no learning", {"factor": 0.0})


def max_steps(settings: Mapping[str, Any]) -> int:
    return _steps(settings) * 2 * _CALLS_PER_UPDATE


def _steps(settings: Mapping[str, Any]) -> int:
    return int(settings.get("steps") or STEPS)


def stop_when(trace: Trace, settings: Mapping[str, Any]) -> bool:
    losses, steps = trace.losses, _steps(settings)
    if _kept(trace, settings.get("ratio", _RATIO)):
        return True
    updates = min(trace.update_count, len(losses))
    if not updates:
        return len(losses) >= max(_CALLS_WITHOUT_UPDATE, steps)
    if updates < steps:
        return False
    # still falling: it gets twice the time, and is judged again now and then
    if updates >= 2 * steps:
        return True
    return (updates - steps) % _ASKED_AGAIN == 0 and not loss_curve.still_falling(losses, points(trace).floor)


def _kept(trace: Trace, ratio: float) -> bool:
    if len(trace.losses) <= _LAST_STEPS:
        return False
    last = fmean(trace.losses[-_LAST_STEPS:])
    return last < _limit(trace, ratio, points(trace)) and not chance.no_better(trace, last)


def _limit(trace: Trace, ratio: float, known: Points) -> float:
    """What the loss has to fall below. Nothing is below where there is nothing to learn."""
    start, floor = known.start(trace.losses[0]), known.floor or 0.0
    return floor + ratio * (start - floor) if start > floor else -inf


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    if not trace.losses:
        return CouldNotJudge("no step was taken")
    ratio, marks = settings.get("ratio", _RATIO), points(trace)
    losses, first, last = trace.losses, trace.losses[0], loss_curve.level(trace.losses)
    known: dict[str, float | None] = {"first_loss": first, "last_loss": last, "limit": _limit(trace, ratio, marks)}
    known |= {"floor": marks.floor, "chance": marks.chance}
    by_calls = _by_what_the_losses_are_given(trace, controls, ratio, known)
    if by_calls is not None:
        return by_calls
    if _kept(trace, ratio):
        return Passed(figures=known)
    if trace.cut_short:
        return CouldNotJudge(trace.cut_short, known)
    if max(map(abs, losses)) == 0:
        reason = "the loss is 0 from the first step on"
        if loss_calls.one_column(trace) is not None:
            return Symptom(f"{reason}, whatever the model outputs", NOT_LEARNING, 0.0, 0.0, "high", reason)
        return CouldNotJudge(reason, known)
    if marks.nothing_to_learn and not wiring.adversarial(trace):
        return _equal_targets(trace, controls, ratio, known)
    if learning_rates.warming_up(trace):
        return CouldNotJudge("the learning rate is still warming up at the last step: give more steps=", known)
    if wiring.adversarial(trace):
        return CouldNotJudge("several optimizers follow losses of their own, whose sum need not fall", known)
    few = wiring.too_few_updates(trace, _steps(settings), max_steps(settings))
    return _beside_the_plain_recipe(trace, controls, ratio, known) if few is None else CouldNotJudge(few, known)


def _equal_targets(
    trace: Trace, controls: Mapping[str, Trace], ratio: float, known: Mapping[str, float | None]
) -> Judgement:
    """The same answer for every sample is right, unless what the answer is about comes from the inputs (in a queue of
    negatives the right one always stands at the same place): then zeroed inputs do worse."""
    control = controls.get(ZEROED_INPUTS.label)
    if not _below(trace.losses, ratio):
        return _by_its_fall(trace, controls, ratio, known)
    if control is None:
        return NeedsControl(ZEROED_INPUTS)
    if control is not None and _control_level(control) is not None and not _below(control.losses, ratio):
        return Passed(("judged against zeroed inputs, because all targets are equal",), known)
    return CouldNotJudge("all targets of the batch are equal: the same answer for every sample is right", known)


def _beside_the_plain_recipe(
    trace: Trace, controls: Mapping[str, Trace], ratio: float, known: Mapping[str, float | None]
) -> Judgement:
    """The promise is not clearly kept. What does the same model reach with nothing special about its recipe?"""
    marks, first, last = points(trace), trace.losses[0], loss_curve.level(trace.losses)
    plain = reference_points.missing_reference(controls, _limit(trace, ratio, marks))
    if plain is not None:
        return NeedsControl(plain, once=True, may_stop=True)
    reached, start = reference_points.reach(controls), marks.start(first)
    if reached is None or loss_calls.climbs(trace):
        return _by_its_fall(trace, controls, ratio, known)
    if marks.floor is not None and reached.level < marks.floor:
        marks = Points()  # it was not the least, after all: the targets change from step to step
    known = {**known, "reach": reached.level, "above_reach": reference_points.above_reach(reached, last, start)}
    above = reference_points.above_reach(reached, last, start)
    if _far_above(reached, last, start, marks):
        symptom = replace(_symptom(trace, first, last, ratio, reached), suspects="recipe")
        if marks.known and above > _NOT_HALF_WAY and (above >= 1 or not _ended_early(trace)):
            return symptom
        if marks.known:  # slow, short or noisy, perhaps: a lower rate is no fault
            way = f"the loss came {wording.share(1 - above)} of the way to what a plain recipe reaches"
            return FailIfConfirmed(symptom, CouldNotJudge(f"{way} ({wording.loss(reached.level)})", known))
        if first - last < _CLEARLY_FELL * abs(first):
            return _without_a_fall(trace, controls, symptom, known)
        return FailIfConfirmed(symptom, CouldNotJudge(_WORSE_THAN_PLAIN, known), rates=True)
    if not marks.known or not marks.steady:  # targets drawn anew at each step (noise) have a floor of their own
        return _by_its_fall(trace, controls, ratio, known)
    return _as_far_as_it_gets(trace, controls, ratio, known)


_WORSE_THAN_PLAIN = "a plain recipe gets further, but the least value of this loss is not known"


def _ended_early(trace: Trace) -> bool:
    """A watched test takes as many steps as it takes, and still fell when it ended."""
    return trace.update_count < STEPS and loss_curve.still_falling(trace.losses, points(trace).floor)


def _far_above(reached: Reach, last: float, start: float, marks: Points) -> bool:
    """A loss without a known floor may mean anything (a reward, a queue): there the plain run has to be far better."""
    share = reference_points.above_reach(reached, last, start)
    if marks.known:
        return share > _ABOVE_REACH
    return share > _FAR_ABOVE_REACH and (last < 0 or loss_curve.clearly_below(reached.level, last))


def _as_far_as_it_gets(
    trace: Trace, controls: Mapping[str, Trace], ratio: float, known: Mapping[str, float | None]
) -> Judgement:
    """As good as the plain recipe, and not good: what the two share is in the way, or the model is small on purpose."""
    marks, first, last = points(trace), trace.losses[0], loss_curve.level(trace.losses)
    symptom = replace(_symptom(trace, first, last, ratio, reference_points.reach(controls)), suspects="model")
    untreated = controls.get(UNTREATED)
    if untreated is not None and _healed(trace, untreated, last):
        return Passed(("judged against the run without the cure",), known)
    start, floor = marks.start(first), marks.floor or 0.0
    if last - floor > _NO_BETTER_THAN_A_GUESS * (start - floor) and marks.steady:
        return symptom
    reached = known["reach"] or 0.0
    if reached - floor <= _NEARLY_THERE * ratio * (start - floor):
        return Passed((f"came nearly as far as a plain recipe, which gets to {wording.loss(reached)}",), known)
    plain = wording.loss(reached)
    reason = (
        f"the loss ends at {wording.loss(last)}, and a plain recipe gets no further ({plain}): this model may be too "
        "small for its batch"
    )
    return FailIfConfirmed(_jumpy(symptom, trace), CouldNotJudge(reason, known))


def _by_its_fall(
    trace: Trace, controls: Mapping[str, Trace], ratio: float, known: Mapping[str, float | None]
) -> Judgement:
    """Where the floor of the loss is not known: by how far it falls, and by controls."""
    first, last = trace.losses[0], loss_curve.level(trace.losses)
    fall = (first - last) / max(abs(first), _NO_ZERO)
    if _below(trace.losses, ratio):
        return FailIfConfirmed(_only_guesses(trace, first, last), CouldNotJudge(_ONLY_A_PENALTY, known))
    hotspot = first - last > _ABOVE_NOISE * loss_curve.spread(trace.losses)
    if hotspot and (fall >= _WORTH_A_CONTROL or first <= 0):
        verdict = _beside_zeroed_inputs(trace, controls.get(ZEROED_INPUTS.label), first, last, fall)
        if isinstance(verdict, Passed | CouldNotJudge):
            verdict = replace(verdict, figures={**known, **verdict.figures})
            return _learnt_something(trace, verdict, controls.get(UNTREATED), ratio)
        if verdict is not None:
            return verdict
        creeps = fall < _CLEARLY_FELL and loss_curve.is_straight(trace.losses)
        if known.get("reach") is not None and not creeps:
            reason = "the loss falls as far as with a plain recipe, and what its least value is is not known"
            return FailIfConfirmed(_symptom(trace, first, last, ratio), CouldNotJudge(reason, known))
    return _without_a_fall(trace, controls, _symptom(trace, first, last, ratio), known)


_ONLY_A_PENALTY = "most of the loss is a penalty on the parameters, and only that fell"


def _below(losses: list[float], ratio: float) -> bool:
    return len(losses) > _LAST_STEPS and losses[0] > 0 and fmean(losses[-_LAST_STEPS:]) < ratio * losses[0]


def _by_what_the_losses_are_given(
    trace: Trace, controls: Mapping[str, Trace], ratio: float, known: Mapping[str, float | None]
) -> Judgement | None:
    """None where the calls of the loss functions leave it to the curve."""
    first, last = trace.losses[0], loss_curve.level(trace.losses)
    impossible, odd = loss_calls.impossible(trace), loss_calls.oddities(trace)
    if impossible is not None:
        return loss_symptoms.below_zero(impossible)
    several = loss_symptoms.any_number_of_labels(trace) or loss_symptoms.smoothed_away(trace)
    if several is not None:
        return several
    if trace.applied.to_the_loss and loss_calls.unbounded(trace):
        return _symptom(trace, first, last, ratio)  # without bound in either direction: no sign is the right one
    if wiring.adversarial(trace):
        given = loss_symptoms.given_to_adversaries(trace)
        if given is not None:
            return given
        if trace.applied.to_the_loss and UNTREATED in controls:
            return Passed(("judged by the inputs of the losses: those of adversaries need not fall",), known)
    if odd and (_kept(trace, ratio) or last < first <= 0):
        summary = f"loss {wording.change(first, last)} in {trace.steps} steps, but {odd}"
        return FailIfConfirmed(Symptom(summary, SILENT, last, ratio * first, "high", odd), Passed(figures=known))
    return None


def _learnt_something(
    trace: Trace, verdict: Passed | CouldNotJudge, uncured: Trace | None, ratio: float
) -> Passed | CouldNotJudge | FailIfConfirmed:
    """It does better than its control, but a fault may keep it from doing far better: reported only with proof."""
    first, last = trace.losses[0], loss_curve.level(trace.losses)
    if isinstance(verdict, Passed):
        nearly = 0 < last < _NEARLY * first and not loss_calls.bounded(trace)
        if uncured is None and wiring.one_unit_bottleneck(trace) is not None:
            nearly = False
        without = uncured.losses if uncured is not None else ()
        if nearly and (not without or loss_curve.clearly_below(last, loss_curve.level(without))):
            return verdict
        if _healed(trace, uncured, last) and "control_loss" in verdict.figures:
            return verdict
    return FailIfConfirmed(_jumpy(_symptom(trace, first, last, ratio), trace), verdict, rates=True)


def _without_a_fall(
    trace: Trace, controls: Mapping[str, Trace], symptom: Symptom, known: Mapping[str, float | None]
) -> Judgement:
    first, last = trace.losses[0], loss_curve.level(trace.losses)
    if loss_calls.climbs(trace) and last > first:
        reason = "the optimizers climb (maximize=True), and what rises may be meant to"
        return FailIfConfirmed(symptom, CouldNotJudge(reason, known))
    untrained = controls.get(UNTRAINED.label)
    if untrained is None:
        return NeedsControl(UNTRAINED, once=True)
    if _moves_by_itself(untrained) and loss_curve.level(untrained.losses) - last > _BETTER_THAN_CONTROL * abs(last):
        level = wording.loss(loss_curve.level(untrained.losses))
        return Passed(
            (f"the loss moves by itself; judged against a run without learning, which ends at {level}",), known
        )
    return symptom


def _jumpy(symptom: Symptom, trace: Trace) -> Symptom:
    return replace(symptom, category=INSTABILITY) if _jumped(trace) else symptom


def _jumped(trace: Trace) -> bool:
    first = trace.losses[0]
    return max(trace.losses) > first + _JUMP * abs(first)


def _healed(trace: Trace, uncured: Trace | None, last: float) -> bool:
    """The input of the loss was cured. Some losses never reach a tenth (fresh noise, an ELBO): then what counts is how
    far below the level without the cure this run ends, which means something only along with an obvious fault."""
    if uncured is None or not uncured.losses or not uncured.finite or not trace.applied.to_the_loss:
        return False
    if loss_calls.rewarded_divergence(uncured) is not None:
        return True  # a loss that falls without bound has no level to compare with
    first, level = uncured.losses[0], loss_curve.level(uncured.losses)
    if first <= 0 or loss_calls.climbs(uncured):
        return False
    if loss_calls.summed_divergence(uncured) is not None or any(map(loss_calls.squashed_twice, uncured.loss.calls)):
        return loss_curve.clearly_below(last, level, share=_BELOW_A_FAULT)
    return level > (1 - _WORTH_A_CONTROL) * first and loss_curve.clearly_below(last, level)


def _only_guesses(trace: Trace, first: float, last: float) -> Symptom:
    drowned = chance.under_a_penalty(trace)
    if drowned is not None:
        summary = (
            f"loss {wording.change(first, last)} in {len(trace.losses)} steps on one batch, but most of it is a "
            f"penalty on the parameters: the part to be learnt started at {wording.loss(drowned)}"
        )
        headline = f"loss stops at {wording.loss(last)}, and only a penalty fell"
        return Symptom(summary, PLATEAU, last, drowned, "high", headline)
    chance_loss = chance.chance_loss(trace) or 0.0
    summary = (
        f"loss {wording.change(first, last)} in {len(trace.losses)} steps on one batch: it fell to that of a "
        f"guess, {wording.loss(chance_loss)}, and stays there"
    )
    category = INSTABILITY if _jumped(trace) else PLATEAU
    return Symptom(summary, category, last, chance_loss, "high", f"loss stops at {wording.loss(last)}, that of a guess")


def _moves_by_itself(untrained: Trace) -> bool:
    """A queue that fills, a teacher that follows, an annealed weight: the loss changes though nothing is learnt."""
    if untrained.crash or not untrained.finite or not untrained.losses:
        return False
    first = untrained.losses[0]
    return abs(loss_curve.level(untrained.losses) - first) > _BETTER_THAN_CONTROL * abs(first)


def _beside_zeroed_inputs(
    trace: Trace, control: Trace | None, first: float, last: float, fall: float
) -> Judgement | None:
    """None: the control shows nothing that speaks for the training."""
    if fall < _CLEARLY_FELL and loss_curve.is_straight(trace.losses):
        return None  # a creep, which a control that creeps more slowly must not excuse
    if control is None:
        return NeedsControl(ZEROED_INPUTS)
    known = {"first_loss": first, "last_loss": last}
    other = _control_level(control)
    if other is None or other < last - _BETTER_THAN_CONTROL * abs(first - last):
        # nothing does better without inputs, unless its targets are made from them (a masked autoencoder)
        return Passed(("judged by its fall: no control run was possible",), known) if fall >= _CLEARLY_FELL else None
    known["control_loss"] = other
    if other - last > _BETTER_THAN_CONTROL * abs(first - last):
        return Passed((f"judged against zeroed inputs, which end at {wording.loss(other)}",), known)
    if fall >= _CLEARLY_FELL:
        return CouldNotJudge(
            f"the loss falls ({wording.change(first, last)}), but no further than with zeroed inputs "
            f"({wording.loss(other)})",
            known,
        )
    return None


def _control_level(control: Trace) -> float | None:
    if control.applied.without_effect or control.crash or not control.finite or not control.losses:
        return None
    return loss_curve.level(control.losses)


def _symptom(trace: Trace, first: float, last: float, ratio: float, reached: Reach | None = None) -> Symptom:
    losses, steps, limit = trace.losses, len(trace.losses), _limit(trace, ratio, points(trace))
    samples = f" of {wording.plural(trace.batch_size, 'sample')}" if trace.batch_size else ""
    wanted = f"has to fall below {wording.loss(limit)}" if first > 0 and limit > -inf else "has to fall"
    plain = f"; a plain recipe gets to {wording.loss(reached.level)}" if reached is not None else ""
    summary = f"loss {wording.change(first, last)} in {steps} steps on one batch{samples} ({wanted}{plain})"
    if last - first > max(_GREW * abs(first), _GREW_ABOVE_NOISE * loss_curve.spread(losses)):
        category, headline = INSTABILITY, f"loss grows from {wording.change(first, last)}"
    elif loss_curve.oscillates(losses):
        category, headline = INSTABILITY, f"loss oscillates around {wording.loss(last)}"
    elif first - last > _FELL_SOMEWHAT * abs(first):
        category, headline = PLATEAU, f"loss stops at {wording.loss(last)}"
    else:
        category, headline = NOT_LEARNING, f"loss stuck at {wording.loss(last)}"
    return Symptom(summary, category, last, limit if limit > -inf else ratio * first, "high", headline)


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    if not trace.losses:
        return "no step was possible"
    if not trace.finite:
        return wording.change(trace.losses[0], trace.losses[-1])
    return wording.change(trace.losses[0], median(trace.losses[-_LAST_STEPS:]))
