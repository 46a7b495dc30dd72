"""learns_from_data: over several batches it learns what only the inputs show, and neither oscillates nor gets stuck

What it does
    Takes up to 80 steps through your batches, one after the other, and twice as many while the loss has not come half
    of its way from a guess down to its floor (up to 640 where BatchNorms get one sample at a time, while a learning
    rate that was near 0 grows again, and where one falls faster than any schedule). It stops as soon as all
    of ten losses are below a tenth of the way. Along with the loss it looks at the learning rate of every update, at
    the settings of the optimizer, and at the targets: can they be predicted from the inputs as they are used, or only
    in another order?

When it fails
    The loss stays where a guess would be, and a plain recipe (Adam at 0.01 and 0.001, default initialisation,
    standardised inputs, no regularisation) learns from the same data with the same model. Or inputs with structure have
    targets that nothing can predict: neither a simple probe, nor a plain recipe on batches that it has not seen. Or the
    targets fit the inputs when they are shifted by a sample or two, and not as they are; or the step uses inputs and
    targets in different orders; or an input has a different target in every epoch. Or the model is trained in eval mode
    from some step on, because nothing undoes an `eval()`. Or the loss gets stuck, creeps or oscillates, something can
    be the reason, a re-run without it does far better, and a run with other random numbers, which begins in the middle
    of a list of batches, shows it again. Some reasons are considered however far the loss has fallen:
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
from typing import Any

from .. import wording
from ..analysis import (
    chance,
    course,
    learning_rates,
    loss_calls,
    loss_symptoms,
    misalignment,
    odd_learning,
    players,
    reference_points,
    short_runs,
    shown_learning,
    silent_faults,
    wiring,
)
from ..analysis.far_better import far_better
from ..analysis.learning_symptoms import LEARNT, no_update, symptom_of, too_sure, worse_than_a_guess
from ..analysis.own_making import unless_own_making
from ..analysis.reference_points import points
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
#: What begins later is not seen again by the closer look. That look has 64 steps, and what begins has to be seen at
#: several.
_SEEN_CLOSELY = 56
#: Steps, and that many losses must all be low. By judgement: the worst of ten batches speaks for the data.
_ASKED_EVERY = 10
#: Instead of a first loss of 0, below any that matters: 1e-12.
_NO_ZERO = 1e-12


def max_steps(settings: Mapping[str, Any]) -> int:
    return 2 * _CALLS_PER_UPDATE * _steps(settings)


def _steps(settings: Mapping[str, Any]) -> int:
    return int(settings.get("steps") or STEPS)


def stop_when(trace: Trace, settings: Mapping[str, Any]) -> bool:
    losses, updates, steps = trace.losses, wiring.updates_made(trace), _steps(settings)
    if (not updates and len(losses) >= _WITHOUT_UPDATE) or players.wins_alone(trace):
        return True
    if updates >= 2 * steps and not _of_single_samples(trace, settings):
        return not _shows_later(trace)
    if updates == steps or (updates > steps and updates % _ASKED_EVERY == 0):
        longer = trace.cured or learning_rates.decays_fast(trace) or odd_learning.at_the_limits(trace)
        longer = longer or learning_rates.returns_from_0(trace)
        return course.way_left(trace) <= course.HALF_WAY and not longer
    looked_at = len(losses) >= _LEAST and len(losses) % _ASKED_EVERY == 0 and losses[0] > 0
    learnt = looked_at and max(losses[-_ASKED_EVERY:]) < LEARNT * points(trace).start(losses[0])
    odd = odd_learning.plainly_wrong(trace) or (learnt and learning_rates.returns_from_0(trace))
    return learnt and trace.data.alignment is None and not trace.cured and not odd


def _shows_later(trace: Trace) -> bool:
    """What a rate has to do with it is not over: it comes back from 0, until that does harm; it falls as no schedule
    does, until it is gone for a third of the run; or a cure that keeps it up gets the steps of the run without it."""
    if trace.applied.lasts is not None:
        return trace.update_count < trace.applied.lasts
    if learning_rates.returns_from_0(trace):
        return course.way_left(trace) <= course.HALF_WAY
    return learning_rates.compounds(trace)


def _of_single_samples(trace: Trace, settings: Mapping[str, Any]) -> bool:
    """Each step sees one sample, and BatchNorms, too: after 160 of them the best of all fits has not come far."""
    if settings.get("steps") or not wiring.batch_norms_of_one_sample(trace) or trace.steps >= max_steps(settings):
        return False
    return trace.cured or course.way_left(trace) > course.HALF_WAY


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
    impossible = loss_calls.impossible(trace)
    if impossible is not None:
        return loss_symptoms.below_zero(impossible)  # how far it falls says nothing
    wrong = silent_faults.begins_later(trace, _SEEN_CLOSELY)
    if wrong is not None:
        return wrong
    if controls.get(UNTREATED) is not None:
        return _with_a_cure(trace, controls, known)
    if short_runs.too_few(trace):
        return CouldNotJudge(trace.cut_short or short_runs.describe(trace, "learn"), known)
    if not trace.update_count and odd_learning.stands_still(trace):
        return no_update(trace, first, last)
    early = _no_plain_course(trace, controls, known)
    if early is not None:
        return early
    if chance.worse_than_chance(trace, last):
        odd = replace(worse_than_a_guess(trace, first, last), suspects="recipe")
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
    odd_one = None if accumulating else odd_learning.odd_one(trace, first, last, fell)
    shown = shown_learning.shown(trace, controls, known, fell)
    idle = silent_faults.dead_function(trace) if isinstance(shown, Passed) else None
    if idle is not None:
        return idle
    if isinstance(shown, Passed) and odd_one is None and chance.too_sure_at_first(trace):
        return FailIfConfirmed(too_sure(trace), shown)
    # twice: a training that is handed in would get as many, as long as its loss falls
    return _beside_what_is_odd(shown, odd_one, short_runs.still_learnt(trace, 2 * _steps(settings)))


def _beside_what_is_odd(shown: Judgement, odd_one: Symptom | None, early: bool) -> Judgement:
    """Rates count where the course is odd; of a loop that merely ended early they say how to be faster."""
    if isinstance(shown, FailIfConfirmed):
        return replace(shown, rates=(shown.rates or odd_one is not None) and not early)
    if isinstance(shown, Passed | CouldNotJudge) and odd_one is not None:
        return FailIfConfirmed(odd_one, shown, rates=not early)
    if isinstance(shown, Symptom) and shown.suspects == "recipe" and early:
        return FailIfConfirmed(shown, CouldNotJudge(f"it ended while its loss still fell: {shown.summary}"))
    return shown


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


def _with_a_cure(trace: Trace, controls: Mapping[str, Trace], known: Mapping[str, float | None]) -> Judgement:
    """A cure heals if the run does far better with it, and about as well as a plain recipe does."""
    uncured, first, last = controls[UNTREATED], trace.losses[0], course.end(trace)
    if loss_calls.tells_both_apart(trace, last) and trace.applied.to_the_loss:
        return Passed(figures=known)
    if silent_faults.begins_later(uncured, _SEEN_CLOSELY) is not None:
        return Passed(figures=known)
    if loss_calls.impossible(uncured) is not None and course.way_left(trace) <= course.HALF_WAY:
        return Passed(figures=known)
    if silent_faults.dead_function(uncured) is not None and course.way_left(uncured) <= course.HALF_WAY:
        return silent_faults.dead_function(trace) or Passed(figures=known)
    if chance.too_sure_at_first(uncured) and course.way_left(uncured) <= course.HALF_WAY:
        return Passed(figures=known) if chance.calmer_at_first(trace, uncured) else too_sure(uncured)
    if not far_better(trace, uncured) or _only_less_noise(trace, uncured):
        return symptom_of(trace, first, last)
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
    if reached is not None and reference_points.above_reach(reached, last, start) > shown_learning.ABOVE_REACH:
        return symptom_of(trace, first, last)
    return Passed(figures=known)


def _only_less_noise(cured: Trace, uncured: Trace) -> bool:
    """Dropout keeps the loss of a training up, and lets it swing, for as long as it trains; evaluated, the model is
    whole. So where it has learnt, being lower without it, and calmer, is what every model with dropout would be."""
    return cured.applied.without_dropout and course.way_left(uncured) <= course.HALF_WAY


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    if not trace.losses:
        return "no step was possible"
    return wording.change(trace.losses[0], course.end(trace) if trace.finite else trace.losses[-1])
