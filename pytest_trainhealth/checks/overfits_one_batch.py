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
    small for its batch on purpose, or equal inputs have different targets (the letter that follows an `a`). All targets
    of the batch are equal. The learning rate is still warming up. There are fewer than 20 steps, as in a watched test
    that trains for less, or the loss still falls where they end.

How it judges adversaries
    Their losses need not fall in the course of their game. So each player gets a run in which the others hold still,
    and its own loss has to fall there; where one's does not, this check could not judge.

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
from statistics import fmean, median
from typing import Any

from .. import wording
from ..analysis import (
    adapters,
    chance,
    learning_rates,
    loss_calls,
    loss_curve,
    loss_symptoms,
    memorising,
    outweighed,
    players,
    reference_points,
    short_runs,
    wiring,
    without_a_floor,
)
from ..analysis.own_making import unless_own_making
from ..analysis.reference_points import Points, Reach, points
from ..analysis.run_failures import NO_DATA, UNSEEN_LOSS, broke_down
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
from ..records.symptoms import NOT_LEARNING, SILENT
from ..records.trace import Trace
from ..records.verdict import Symptom

SIGNALS: tuple[str, ...] = ("loss_calls", "penalties")
ONE_BATCH = True
BLAMES_RATES = True
#: One batch before several. By judgement: 2.
TURN = 2
#: Of 233 healthy architectures 99.6 % are below a tenth by then (see above).
STEPS = 200

#: What there is to see, in a sentence.
_PROMISE = "memorise"
#: The default of the setting. Of 299 healthy programs 263 get below it, and the others end at 0.10 to 1.4 and are
#: judged by their controls; of 39 faulty ones that fail 3 get below.
_RATIO = 0.1
#: Steps. By judgement: an eighth of the 200.
_ASKED_AGAIN = 25
#: A loop that accumulates gradients needs several calls for an update; more than eight are not waited for. By
#: judgement: 1,600 calls for 200 updates are long enough.
_CALLS_PER_UPDATE = 8
#: Without a single update by then there will be none. By judgement: twice the longest accumulation that is usual, 32.
_CALLS_WITHOUT_UPDATE = 64
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


def max_steps(settings: Mapping[str, Any]) -> int:
    return _steps(settings) * 2 * _CALLS_PER_UPDATE


def _steps(settings: Mapping[str, Any]) -> int:
    return int(settings.get("steps") or STEPS)


def stop_when(trace: Trace, settings: Mapping[str, Any]) -> bool:
    losses, steps = trace.losses, _steps(settings)
    if _kept(trace, settings.get("ratio", _RATIO)) or players.wins_alone(trace):
        return True
    updates = wiring.updates_made(trace)
    if not updates:
        return len(losses) >= max(_CALLS_WITHOUT_UPDATE, steps)
    if updates < steps:
        return False
    # still falling: it gets twice the time, and is judged again now and then
    if updates >= 2 * steps:
        return True
    return (updates - steps) % _ASKED_AGAIN == 0 and not loss_curve.still_falling(losses, points(trace).floor)


def _kept(trace: Trace, ratio: float) -> bool:
    if len(trace.losses) <= memorising.LAST_STEPS:
        return False
    last = fmean(trace.losses[-memorising.LAST_STEPS :])
    return last < memorising.limit_of(trace, ratio, points(trace)) and not chance.no_better(trace, last)


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    return unless_own_making(_judged(trace, settings, controls), trace, controls)


def _judged(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace]) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    if not trace.losses:
        return CouldNotJudge("no step was taken")
    if not trace.loss_seen:
        return CouldNotJudge(UNSEEN_LOSS)
    if trace.without_data:
        return CouldNotJudge(NO_DATA)
    ratio, marks = settings.get("ratio", _RATIO), points(trace)
    losses, first, last = trace.losses, trace.losses[0], loss_curve.level(trace.losses)
    known: dict[str, float | None] = {
        "first_loss": first,
        "last_loss": last,
        "limit": memorising.limit_of(trace, ratio, marks),
    }
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
    if short_runs.too_few(trace):
        return CouldNotJudge(short_runs.describe(trace, _PROMISE), known)
    if marks.nothing_to_learn and not wiring.adversarial(trace):
        return _equal_targets(trace, controls, ratio, known)
    if learning_rates.warming_up(trace):
        early = CouldNotJudge("the learning rate is still warming up at the last step: give more steps=", known)
        # what the loss is given keeps it up whatever the rate: without that, it may get there in the same time
        stuck = memorising.stuck(trace, first, last, ratio)
        return FailIfConfirmed(stuck, early) if loss_calls.bounded(trace) else early
    if wiring.adversarial(trace):
        return players.judged_alone(trace, controls, known)
    few = wiring.too_few_updates(trace, _steps(settings), max_steps(settings))
    return _beside_the_plain_recipe(trace, controls, ratio, known) if few is None else CouldNotJudge(few, known)


def _equal_targets(
    trace: Trace, controls: Mapping[str, Trace], ratio: float, known: Mapping[str, float | None]
) -> Judgement:
    """The same answer for every sample is right, unless what the answer is about comes from the inputs (in a queue of
    negatives the right one always stands at the same place): then zeroed inputs do worse."""
    control = controls.get(without_a_floor.ZEROED_INPUTS.label)
    if not memorising.below(trace.losses, ratio):
        return without_a_floor.by_its_fall(trace, controls, ratio, known)
    if control is None:
        return NeedsControl(without_a_floor.ZEROED_INPUTS)
    if without_a_floor.control_level(control) is not None and not memorising.below(control.losses, ratio):
        return Passed(("judged against zeroed inputs, because all targets are equal",), known)
    return CouldNotJudge("all targets of the batch are equal: the same answer for every sample is right", known)


def _beside_the_plain_recipe(
    trace: Trace, controls: Mapping[str, Trace], ratio: float, known: Mapping[str, float | None]
) -> Judgement:
    """The promise is not clearly kept. What does the same model reach with nothing special about its recipe?"""
    marks, first, last = points(trace), trace.losses[0], loss_curve.level(trace.losses)
    plain = reference_points.missing_reference(controls, memorising.limit_of(trace, ratio, marks))
    if plain is not None:
        return NeedsControl(plain, once=True, may_stop=True)
    reached, start = reference_points.reach(controls), marks.start(first)
    if reached is None or loss_calls.climbs(trace):
        return without_a_floor.by_its_fall(trace, controls, ratio, known)
    if marks.floor is not None and reached.level < marks.floor:
        marks = Points()  # it was not the least, after all: the targets change from step to step
    known = {**known, "reach": reached.level, "above_reach": reference_points.above_reach(reached, last, start)}
    above = reference_points.above_reach(reached, last, start)
    if _far_above(reached, last, start, marks):
        if without_a_floor.healed(trace, controls.get(UNTREATED), last):
            return Passed(("judged against the run without the cure",), known)
        symptom = replace(memorising.stuck(trace, first, last, ratio, reached), suspects="recipe")
        plainly = above > _NOT_HALF_WAY and (above >= 1 or not short_runs.still_fell(trace, STEPS))
        # adapters are small on purpose, and given a small rate: only a cause that was shown counts
        if marks.known and plainly and not adapters.has_adapters(trace):
            return symptom
        if marks.known:  # slow, short or noisy, perhaps: a lower rate is no fault
            way = f"the loss came {wording.share(1 - above)} of the way to what a plain recipe reaches"
            return FailIfConfirmed(symptom, CouldNotJudge(f"{way} ({wording.loss(reached.level)})", known))
        if first - last < without_a_floor.CLEARLY_FELL * abs(first):
            return without_a_floor.without_a_fall(trace, controls, symptom, known)
        return FailIfConfirmed(symptom, CouldNotJudge(_WORSE_THAN_PLAIN, known), rates=True)
    if not marks.known or not marks.steady:  # targets drawn anew at each step (noise) have a floor of their own
        if marks.known and _brought_back(trace, controls, reached, start):
            return Passed(("only without the cure it stays far above what a plain recipe reaches",), known)
        return without_a_floor.by_its_fall(trace, controls, ratio, known)
    return _as_far_as_it_gets(trace, controls, ratio, known)


_WORSE_THAN_PLAIN = "a plain recipe gets further, but the least value of this loss is not known"


def _far_above(reached: Reach, last: float, start: float, marks: Points) -> bool:
    """A loss without a known floor may mean anything (a reward, a queue): there the plain run has to be far better.

    Below 0 it always is, if it is better by that share.
    """
    share = reference_points.above_reach(reached, last, start)
    if marks.known:
        return share > _ABOVE_REACH
    return share > _FAR_ABOVE_REACH and loss_curve.clearly_below(reached.level, last)


def _brought_back(trace: Trace, controls: Mapping[str, Trace], reached: Reach, start: float) -> bool:
    """With a cure the run comes as far as the plain recipe, and without it stayed far above: that was the symptom.

    Where targets are drawn anew at each step, neither gets near the floor, and no absolute limit could tell a cured run
    from a sick one.
    """
    uncured = controls.get(UNTREATED)
    if uncured is None or not uncured.losses or not uncured.finite:
        return False
    level = loss_curve.level(uncured.losses)
    return (
        reference_points.above_reach(reached, level, start) > _FAR_ABOVE_REACH
        and reference_points.above_reach(reached, loss_curve.level(trace.losses), start) <= _ABOVE_REACH
    )


def _as_far_as_it_gets(
    trace: Trace, controls: Mapping[str, Trace], ratio: float, known: Mapping[str, float | None]
) -> Judgement:
    """As good as the plain recipe, and not good: what the two share is in the way, or the model is small on purpose."""
    marks, first, last = points(trace), trace.losses[0], loss_curve.level(trace.losses)
    symptom = replace(memorising.stuck(trace, first, last, ratio, reference_points.reach(controls)), suspects="model")
    if without_a_floor.healed(trace, controls.get(UNTREATED), last):
        return Passed(("judged against the run without the cure",), known)
    start, floor = marks.start(first), marks.floor or 0.0
    reached = known["reach"] or 0.0
    if last - floor > _NO_BETTER_THAN_A_GUESS * (start - floor) and marks.steady:
        if short_runs.still_fell(trace, STEPS):  # and so did the plain recipe
            return FailIfConfirmed(symptom, CouldNotJudge(short_runs.describe(trace, _PROMISE), known))
        # adapters are small on purpose, beside a model that is frozen on purpose
        small = "these adapters may be too small" if adapters.has_adapters(trace) else ""
        excuse = small or ("too few steps to tell" if short_runs.saw_its_data_once(trace, STEPS) else "")
        if not excuse:
            return symptom
        reason = f"the loss ends at {wording.loss(last)}, and a plain recipe gets no further ({wording.loss(reached)})"
        return FailIfConfirmed(symptom, CouldNotJudge(f"{reason}: {excuse}", known))
    if reached - floor <= _NEARLY_THERE * ratio * (start - floor):
        return Passed((f"came nearly as far as a plain recipe, which gets to {wording.loss(reached)}",), known)
    if loss_calls.compares_samples(trace):  # its floor is not the 0 of its function
        return without_a_floor.by_its_fall(trace, controls, ratio, known)
    plain = wording.loss(reached)
    reason = (
        f"the loss ends at {wording.loss(last)}, and a plain recipe gets no further ({plain}): the model may be too "
        "small for its batch, or equal inputs in it have different targets. Hand in fewer samples a batch, or say "
        "which share of the first loss may be left with ratio="
    )
    return FailIfConfirmed(memorising.jumpy(symptom, trace), CouldNotJudge(reason, known))


def _by_what_the_losses_are_given(
    trace: Trace, controls: Mapping[str, Trace], ratio: float, known: Mapping[str, float | None]
) -> Judgement | None:
    """None where the calls of the loss functions leave it to the curve."""
    first, last = trace.losses[0], loss_curve.level(trace.losses)
    impossible, odd = loss_calls.impossible(trace), loss_calls.oddities(trace)
    if impossible is not None:
        return loss_symptoms.below_zero(impossible)
    if trace.applied.to_the_loss and loss_calls.tells_both_apart(trace, last):
        return Passed(figures=known)
    several = loss_symptoms.any_number_of_labels(trace) or loss_symptoms.one_class_left(trace)
    several = several or loss_symptoms.smoothed_away(trace)
    if several is not None:
        return several
    silenced = outweighed.silenced(trace)
    if silenced is not None:
        return FailIfConfirmed(silenced, CouldNotJudge(outweighed.NOTHING_SHOWN, known))
    if trace.applied.to_the_loss and loss_calls.unbounded(trace):
        return memorising.stuck(
            trace, first, last, ratio
        )  # without bound in either direction: no sign is the right one
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


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    if not trace.losses:
        return "no step was possible"
    if not trace.finite:
        return wording.change(trace.losses[0], trace.losses[-1])
    return wording.change(trace.losses[0], median(trace.losses[-memorising.LAST_STEPS :]))
