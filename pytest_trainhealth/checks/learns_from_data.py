"""learns_from_data: over several batches it learns what only the inputs show, and neither oscillates nor gets stuck

What it does
    Takes up to 80 steps through your batches, one after the other, and twice as many while the loss has not come half
    of its way from a guess down to its floor. It stops as soon as all of ten losses are below a tenth of the way. Along
    with the loss it looks at the learning rate of every update, at the settings of the optimizer, and at the targets:
    can they be predicted from the inputs as they are used, or only in another order?

When it fails
    The loss stays where a guess would be, and a plain recipe (Adam at 0.01 and 0.001, default initialisation,
    standardised inputs, no regularisation) learns from the same data with the same model. Or inputs with structure have
    targets that nothing can predict: neither a simple probe, nor a plain recipe on batches that it has not seen. Or the
    targets fit the inputs when they are shifted by a sample or two, and not as they are; or the step uses inputs and
    targets in different orders; or an input has a different target in every epoch. Or the model is trained in eval mode
    from some step on, because nothing undoes an `eval()`. Or the loss gets stuck, creeps or oscillates, something can
    be the reason, and a re-run without it does far better. Some reasons are considered however far the loss has fallen:
    momentum or betas beyond sense, BatchNorm over two values, sigmoid or tanh units at their limits from the start,
    steps that stay large while the loss stays where it is.

When it cannot judge
    Nothing is learnt, and a plain recipe learns nothing either: random labels on random inputs, as in a smoke test,
    cannot be learnt from one batch to the next. The learning rate is still warming up. Of adversaries, whose losses
    need not fall in the course of their game, one does not lower its own loss even while the others hold still.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import Any

from .. import wording
from ..analysis import (
    chance,
    course,
    learning_rates,
    loss_calls,
    loss_curve,
    loss_symptoms,
    misalignment,
    players,
    reference_points,
    silent_faults,
    wiring,
)
from ..analysis.far_better import far_better
from ..analysis.own_making import unless_own_making
from ..analysis.reference_points import Reach, points
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
from ..records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Symptom
from . import trains_without_nan

SIGNALS: tuple[str, ...] = (
    "loss_calls",
    "schedulers",
    "batch_norms",
    "activations",
    "alignment",
    "target_pairing",
    "parameters",
    "modes",
    "validations",
    "frozen",
)
ONE_BATCH = False
BLAMES_RATES = True
#: Its run is one that `trains_without_nan` can judge, which comes after. By judgement: 3.
TURN = 3
#: By judgement: 142 of 278 healthy programs are below a tenth by then, and all but 10 of 299 have fallen by 5 %.
STEPS = 80

#: What `trains_without_nan` needs, so that in a battery one run serves both.
_LEAST = trains_without_nan.STEPS
#: A loop that accumulates gradients needs several calls for an update. By judgement: 640 calls are long enough.
_CALLS_PER_UPDATE = 4
#: Calls without an update after which there will be none. By judgement: twice the longest accumulation that is usual,
#: 32.
_WITHOUT_UPDATE = 64
#: Of the first loss, as in overfits_one_batch. 142 of 278 healthy programs get there, 14 of 83 faulty ones.
_LEARNT = 0.1
#: Fewer steps show no course. By judgement: the shortest healthy run that is judged has 32.
_FEWEST = 20
#: Of a weight in one update, by median. Rates too high: 0.51 to 2.6, needing a decay: 0.62 and 1.1; healthy programs:
#: 95 % below 0.08, 38 of 291 above, so a cure decides.
_LARGE_UPDATE = 0.05
#: The same: healthy at least 6.4e-4 (291 programs), rates too low at most 3.5e-5 (three).
_SMALL_UPDATE = 1e-4
#: Of the values of a sigmoid or tanh, at the first step. Healthy: at most 0.05 (183 programs), the faulty one: 0.96.
_AT_THE_ENDS = 0.5
#: Of the first loss. Of 281 healthy programs 269 fell further, of 91 faulty ones 52. By judgement: what has not moved
#: may be on its first plateau.
_FELL_SOMEWHAT = 0.3
#: What begins later is not seen again by the closer look. That look has 64 steps, and what begins has to be seen at
#: several.
_SEEN_CLOSELY = 56
#: Steps, and that many losses must all be low. By judgement: the worst of ten batches speaks for the data.
_ASKED_EVERY = 10
#: Of the first loss: a smaller fall is noted, and is no alarm. Healthy: 10 of 299 programs fell by less.
_HARDLY_FELL = 0.05
#: Instead of a first loss of 0, below any that matters: 1e-12.
_NO_ZERO = 1e-12
#: The same: no better than a guess. One of the 86 twins is above (its schedule ends too early here), 35 of 72 faulty.
_A_GUESS = 0.9
#: Of the way from a guess down to what a plain recipe reaches. After 160 steps 74 of 76 healthy twins whose
#: points are known end within 0.24 of it (the others, 0.66 and 1.05: slow, and a schedule that had ended); of 28 faulty
#: programs that a plain recipe heals 24 end above 0.3.
_ABOVE_REACH = 0.3


def max_steps(settings: Mapping[str, Any]) -> int:
    return 2 * _CALLS_PER_UPDATE * _steps(settings)


def _steps(settings: Mapping[str, Any]) -> int:
    return int(settings.get("steps") or STEPS)


def stop_when(trace: Trace, settings: Mapping[str, Any]) -> bool:
    losses, updates, steps = trace.losses, min(trace.update_count, len(trace.losses)), _steps(settings)
    if (not updates and len(losses) >= _WITHOUT_UPDATE) or players.wins_alone(trace):
        return True
    if updates >= 2 * steps:
        return True
    if updates == steps or (updates > steps and updates % _ASKED_EVERY == 0):
        longer = trace.cured or learning_rates.decays_fast(trace) or _at_the_limits(trace)
        return course.way_left(trace) <= course.HALF_WAY and not longer
    looked_at = len(losses) >= _LEAST and len(losses) % _ASKED_EVERY == 0 and losses[0] > 0
    learnt = looked_at and max(losses[-_ASKED_EVERY:]) < _LEARNT * points(trace).start(losses[0])
    return learnt and trace.data.alignment is None and not trace.cured and not _plainly_wrong(trace)


def _nothing_to_judge(trace: Trace) -> str:
    if not trace.losses or not trace.loss_seen:
        return trace.cut_short or ("no step was taken" if trace.loss_seen else UNSEEN_LOSS)
    return NO_DATA if trace.without_data else ""


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    return unless_own_making(_judged(trace, settings, controls), trace, controls)


def _judged(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace]) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    losses, missing = trace.losses, _nothing_to_judge(trace)
    if missing:
        return CouldNotJudge(missing)
    first, last, marks = losses[0], course.end(trace), points(trace)
    known = {"first_loss": first, "last_loss": last, "floor": marks.floor, "chance": marks.chance}
    apart = misalignment.not_aligned(trace) or loss_symptoms.any_number_of_labels(trace)
    apart = apart or loss_symptoms.one_class_left(trace)
    if apart is not None:
        return apart  # whatever else is wrong, no other cure puts this right
    wrong = silent_faults.begins_later(trace, _SEEN_CLOSELY)
    if wrong is not None:
        return wrong
    if controls.get(UNTREATED) is not None:
        return _with_a_cure(trace, controls, known)
    if len(losses) < _FEWEST:
        return CouldNotJudge(
            trace.cut_short or f"{wording.plural(len(losses), 'step')}: too few to see it learn", known
        )
    if not trace.update_count and _stands_still(trace):
        return _no_update(trace, first, last)
    early = _no_plain_course(trace, controls, known)
    if early is not None:
        return early
    if chance.worse_than_chance(trace, last):
        odd = replace(_worse_than_a_guess(trace, first, last), suspects="recipe")
        return FailIfConfirmed(odd, CouldNotJudge("the loss is still above that of a guess", known), rates=True)
    few = wiring.too_few_updates(trace, _steps(settings), max_steps(settings))
    if few is not None and course.way_left(trace) > course.HALF_WAY:
        return CouldNotJudge(few, known)
    nothing = misalignment.carries_nothing_over(trace, controls)
    if nothing is not None:
        return nothing
    fell = (first - last) / max(abs(first), _NO_ZERO)
    # with a few updates, and as many equal weights as calls between them, no curve looks as it should
    accumulating = 0 < trace.update_count < min(trace.steps, _steps(settings))
    odd_one = None if accumulating else _odd(trace, first, last, fell)
    shown = _shown(trace, controls, known, fell)
    idle = silent_faults.dead_function(trace) if isinstance(shown, Passed) else None
    if idle is not None:
        return idle
    if isinstance(shown, Passed) and odd_one is None and chance.too_sure_at_first(trace):
        return FailIfConfirmed(_too_sure(trace), shown)
    if isinstance(shown, Passed | CouldNotJudge) and odd_one is not None:
        return FailIfConfirmed(odd_one, shown, rates=True)
    return replace(shown, rates=True) if isinstance(shown, FailIfConfirmed) and odd_one is not None else shown


def _no_plain_course(
    trace: Trace, controls: Mapping[str, Trace], known: Mapping[str, float | None]
) -> Passed | CouldNotJudge | NeedsControl | None:
    """Adversaries and warm-ups: their losses need not fall here, but one that has fallen half of its way has learnt."""
    half_way = course.way_left(trace) <= course.HALF_WAY
    if wiring.adversarial(trace):
        if half_way and points(trace).known:
            return Passed(figures=known)
        return players.judged_alone(trace, controls, known)
    if learning_rates.warming_up(trace) and not learning_rates.runs_away(trace) and not half_way:
        return CouldNotJudge("the learning rate is still warming up at the last step: give more steps=", known)
    return None


def _shown(
    trace: Trace, controls: Mapping[str, Trace], known: Mapping[str, float | None], fell: float
) -> Passed | CouldNotJudge | NeedsControl | Symptom | FailIfConfirmed:
    """Is it shown that it learns? Where it is not clear, a plain recipe tells what there is to learn."""
    left, marks, first, last = course.way_left(trace), points(trace), trace.losses[0], course.end(trace)
    if marks.nothing_to_learn:
        return CouldNotJudge("all targets are equal: the same answer for every sample is right", known)
    if left <= course.HALF_WAY or (not marks.known and fell > _HARDLY_FELL and not _creeps(trace)):
        return Passed(figures=known)
    if trace.cut_short:
        return CouldNotJudge(trace.cut_short, known)
    start = marks.start(first)
    plain = reference_points.missing_reference(controls, start - (1 - _ABOVE_REACH) * (start - (marks.floor or 0.0)))
    if plain is not None:
        return NeedsControl(plain, once=True)
    reached = reference_points.reach(controls)
    if reached is None:
        return CouldNotJudge(f"loss {wording.change(first, last)}, and no plain recipe could be tried", known)
    above, floor = reference_points.above_reach(reached, last, start), marks.floor or 0.0
    known = {**known, "reach": reached.level, "above_reach": above}
    plainly_better = above > _ABOVE_REACH and loss_curve.clearly_below(reached.level - floor, last - floor)
    if plainly_better:
        return _worse_than_plain(trace, reached, known, left)
    by_heart = misalignment.may_be_learnt_by_heart(trace, controls)
    if left <= _A_GUESS and by_heart:
        return by_heart if isinstance(by_heart, NeedsControl) else CouldNotJudge(by_heart, known)
    if left <= _A_GUESS:
        return Passed((f"a plain recipe gets to {wording.loss(reached.level)}",), known)
    change, level = f"loss {wording.change(first, last)} over {len(trace.losses)} steps", wording.loss(reached.level)
    reason = f"{change}: nothing was learnt, and a plain recipe learns nothing either ({level}), as with random labels"
    if above > _ABOVE_REACH:
        reason = f"{change}: hardly anything was learnt yet, and a plain recipe gets to {level}"
    return FailIfConfirmed(replace(_symptom(trace, first, last), suspects="model"), CouldNotJudge(reason, known))


def _worse_than_plain(
    trace: Trace, reached: Reach, known: Mapping[str, float | None], left: float
) -> Symptom | FailIfConfirmed:
    """No better than a guess where a plain recipe learns is a fault. What only lags behind may be slow on purpose."""
    marks, symptom = points(trace), _symptom(trace, trace.losses[0], course.end(trace))
    summary = f"{symptom.summary}; a plain recipe gets to {wording.loss(reached.level)}"
    symptom = replace(symptom, summary=summary, suspects="recipe")
    if left > _A_GUESS and marks.known and marks.steady and not course.falls_on(trace.losses):
        return symptom
    if marks.known and left <= _A_GUESS:
        return FailIfConfirmed(symptom, Passed(figures=known))
    return FailIfConfirmed(symptom, CouldNotJudge(f"the loss hardly fell: {summary}", known), rates=left > _A_GUESS)


def _creeps(trace: Trace) -> bool:
    ratios = wiring.update_ratios(trace)
    return bool(ratios) and 0 < median(ratios) <= _SMALL_UPDATE


def _with_a_cure(trace: Trace, controls: Mapping[str, Trace], known: Mapping[str, float | None]) -> Judgement:
    """A cure heals if the run does far better with it, and about as well as a plain recipe does."""
    uncured, first, last = controls[UNTREATED], trace.losses[0], course.end(trace)
    if loss_calls.tells_both_apart(trace, last) and trace.applied.to_the_loss:
        return Passed(figures=known)
    if silent_faults.begins_later(uncured, _SEEN_CLOSELY) is not None:
        return Passed(figures=known)
    if silent_faults.dead_function(uncured) is not None and course.way_left(uncured) <= course.HALF_WAY:
        return silent_faults.dead_function(trace) or Passed(figures=known)
    if chance.too_sure_at_first(uncured) and course.way_left(uncured) <= course.HALF_WAY:
        return Passed(figures=known) if chance.calmer_at_first(trace, uncured) else _too_sure(uncured)
    if not far_better(trace, uncured):
        return _symptom(trace, first, last)
    if (
        trace.applied.smaller_steps_from is not None
        or course.way_left(trace) <= course.HALF_WAY
        or not points(trace).known
    ):
        return Passed(figures=known)
    plain = reference_points.missing_reference(controls, last)
    if plain is not None:
        return NeedsControl(plain, once=True)
    reached = reference_points.reach(controls)
    start = points(trace).start(first)
    if reached is not None and reference_points.above_reach(reached, last, start) > _ABOVE_REACH:
        return _symptom(trace, first, last)
    return Passed(figures=known)


def _stands_still(trace: Trace) -> bool:
    """No parameter moved, as far as it is known what the parameters are."""
    return bool(trace.trainable) and not trace.wiring.trains_unknown and not any(p.moved for p in trace.trainable)


def _no_update(trace: Trace, first: float, last: float) -> Symptom:
    summary = f"no optimizer step in {wording.plural(trace.steps, 'step')}: loss {wording.change(first, last)}"
    return Symptom(summary, NOT_LEARNING, 0.0, 1.0, "high", "no optimizer step is taken")


def _odd(trace: Trace, first: float, last: float, fell: float) -> Symptom | None:
    """Something that can keep a training from learning is there, and the curve looks like it."""
    if _plainly_wrong(trace):
        return _symptom(trace, first, last)
    if fell > 1 - _LEARNT:
        return None
    if learning_rates.odd_course(trace) is not None or learning_rates.odd_setting(trace) is not None:
        return _symptom(trace, first, last)
    if fell > course.CLEARLY_FELL and not loss_curve.bounces(trace.losses):
        return None
    ratios = wiring.update_ratios(trace)
    size = median(ratios) if ratios else 0.0
    large = size >= _LARGE_UPDATE and not course.falls_on(trace.losses)
    if large or 0 < size <= _SMALL_UPDATE or loss_curve.bounces(trace.losses) or course.grows(trace):
        return _symptom(trace, first, last)
    return None


def _plainly_wrong(trace: Trace) -> bool:
    """What harms a training however far its loss has fallen; how much, a re-run without it shows."""
    if learning_rates.never_settles(trace) or learning_rates.cannot_settle(trace) or wiring.batch_norms_starved(trace):
        return True
    return _learns_on_top(trace) and _lags(trace) and _at_the_limits(trace)


def _at_the_limits(trace: Trace) -> bool:
    """Whether that keeps the loss up shows late: layers after such units learn at first."""
    return any(a.saturated.get(0, 0.0) >= _AT_THE_ENDS for a in trace.numbers.activations.values())


def _learns_on_top(trace: Trace) -> bool:
    """Layers after the saturated ones do learn; a loss that does not move may yet leave its plateau."""
    first, last = trace.losses[0], course.end(trace)
    return first - last > _FELL_SOMEWHAT * abs(first)


def _lags(trace: Trace) -> bool:
    """Not half of the way down to the floor, where that is known."""
    return not points(trace).known or course.way_left(trace) > course.HALF_WAY


def _worse_than_a_guess(trace: Trace, first: float, last: float) -> Symptom:
    chance_loss = chance.chance_loss(trace) or 0.0
    summary = (
        f"loss {wording.change(first, last)} in {len(trace.losses)} steps through the data: the same guess for every "
        f"sample would give {wording.loss(chance_loss)}"
    )
    return Symptom(
        summary, PLATEAU, last, chance_loss, "medium", f"loss stops at {wording.loss(last)}, worse than a guess"
    )


def _too_sure(trace: Trace) -> Symptom:
    by_chance, first = chance.chance_loss(trace) or 0.0, trace.losses[0]
    steps = chance.steps_to_a_guess(trace, by_chance)
    return Symptom(
        f"the first loss is {wording.loss(first)}, {first / by_chance:.0f} times that of a guess "
        f"({wording.loss(by_chance)}), and it takes {wording.plural(steps, 'step')} to get down to a guess",
        PLATEAU,
        first,
        by_chance,
        "medium",
        f"the loss starts at {first / by_chance:.0f} times that of a guess",
    )


def _symptom(trace: Trace, first: float, last: float) -> Symptom:
    losses, steps = trace.losses, len(trace.losses)
    summary = f"loss {wording.change(first, last)} in {steps} steps through the data"
    wanted = first - (1 - _LEARNT) * abs(first)
    if course.grows(trace):
        category, headline = INSTABILITY, f"loss grows from {wording.change(first, last)}"
    elif loss_curve.bounces(losses):
        category, headline = INSTABILITY, f"loss oscillates around {wording.loss(last)}"
    elif first - last > _FELL_SOMEWHAT * abs(first):
        category, headline = PLATEAU, f"loss stops at {wording.loss(last)}"
    else:
        category, headline = NOT_LEARNING, f"loss stuck at {wording.loss(last)}"
    return Symptom(summary, category, last, wanted, "medium", headline)


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    if not trace.losses:
        return "no step was possible"
    return wording.change(trace.losses[0], course.end(trace) if trace.finite else trace.losses[-1])
