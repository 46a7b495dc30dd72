"""generalizes: what is learnt from data carries over to val_data

What it does
    A short fit: up to 120 steps through your batches, but no more than 20 passes over them, and fewer where it is plain
    that validation will not turn. In a battery it looks at the run of `learns_from_data`, if that is long enough.
    After 1, 5, 10, 20 steps and so on it computes the loss of up to 4 batches of `val_data`, and of 4 batches that were
    learnt from, both in eval mode, so that dropout and augmentation do not make two different quantities of them. Where
    the loss is one of classes it counts how many are told right. A training with its own `step` is evaluated by its own
    `evaluate(val_data)`. What a guess gives is computed from the targets of `val_data`.

When it fails
    Validation had been clearly better than a guess and ends clearly worse than one, while the training loss falls on;
    where an accuracy is known, that falls, too; three runs with other random numbers all show it; and weight decay,
    dropout or stopping in time keeps what was learnt (stopping: in all three runs, chosen by one half of the samples
    and measured by the other). Or samples of `val_data` are in `data`, more of them than chance puts there, or most of
    them nearly: then validation shows memory, and a run without them shows how much of it. Or `val_data` is prepared in
    another way than `data` (another scale, another order of columns or colours, targets that are moved by a position
    against their sequence), or your `evaluate` leaves the model in training mode, and validation is far better without
    that. Or a class that is often in `val_data` hardly comes in `data`, three times the steps tell no more of it, and
    with a loss that weighs classes so that they count as in `val_data` half of it is told besides, or validation is no
    longer far worse than a guess.

What is not an alarm
    A gap, however wide: it is told as a figure. A validation loss that rises and stays below a guess, or that rises
    while the accuracy does not fall: the model becomes more certain of its mistakes.

When it cannot judge
    There is no `val_data`, or it is `data` itself. The fit has not learnt its own samples yet, which is the matter of
    `learns_from_data`. Or what it learns does not carry over at all, as with random labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

from .. import wording
from ..analysis import class_shares, data_faults, generalization
from ..analysis.class_shares import ShortClass
from ..analysis.generalization import Fit, fit_of
from ..analysis.run_failures import broke_down
from ..records.held_out import HeldOutRecord, ShiftedTargets
from ..records.intervention import Cure
from ..records.judgement import (
    NO_CONTROLS,
    UNTREATED,
    CouldNotJudge,
    FailedRun,
    FailIfConfirmed,
    Judgement,
    NeedsControl,
    OtherNumbers,
    Passed,
)
from ..records.survey import SurveyRecord
from ..records.symptoms import FAULTY_DATA, OVERFITTING
from ..records.trace import Trace
from ..records.verdict import Symptom
from ..settings import LEARNS_FROM_DATA

SIGNALS = ("held_out", "survey")
#: In a battery that takes its run through the same batches, and evaluates it as this check does.
RIDES_ON = LEARNS_FROM_DATA
ONE_BATCH = False
BLAMES_RATES = False
#: By judgement: 120, half as many again as learns_from_data takes at least, so that what is learnt can be unlearnt.
STEPS = 120

#: Passes over the data, at most, unless `steps=` asks for more: what comes after hundreds of them says little about a
#: training. By judgement: 20, and 40 steps where the data are that few.
_PASSES, _LEAST = 20, 40
#: Steps after which validation that has not turned will not be worse than a guess by the end of STEPS. By judgement:
#: 80, as what was gained in these would have to be lost in half as many.
_LONG = 80
#: Steps after which all may be learnt. By judgement: 20, with five evaluations by then.
_SOON = 20
#: Of the loss of a guess: below that in its last three evaluations, all is learnt. As in learns_from_data, 0.1.
_LEARNT = 0.1
#: Of what had been gained: so much may a cured run lose. By judgement: half.
_LOSES = 0.5
#: Of the loss of a guess: as good as its best, where that is hardly better than a guess. By judgement: 0.1.
_NEAR_BEST = 0.1
#: Of the loss in eval mode: so much more is too much. By judgement, not measured: 0.2.
_WORSE_BY_MODE = 0.2
#: Of what validation has gained on a guess: so much is lost without the samples that were on both sides, or gained with
#: features in the right order. By judgement, not measured: a quarter.
_MUCH = 0.25

#: Of a class that hardly comes in data: so many more of its samples in `val_data` are told right where it weighs what
#: it should. By judgement: half.
_OF_THE_CLASS = 0.5
#: Times the steps: what is told then as it is takes time only. By judgement: 3.
_TIMES = 3
_IN_TIME = Cure("once_more", "as it is, three times as long")

#: By judgement: the 2,000th and the 3,000th prime, far from any seed in use.
_SEEDS = (OtherNumbers("a second seed", 17389), OtherNumbers("a third seed", 27449))
_WITHOUT = Cure("drop_shared_samples", "without these samples in data")


def stop_when(trace: Trace, settings: Mapping[str, Any]) -> bool:
    if not settings.get("steps") and trace.batches and trace.steps >= max(_LEAST, _PASSES * trace.batches):
        return True
    held = trace.state.held_out
    if held is None or held.why_not:
        return True
    fit = fit_of(trace) if trace.steps >= _SOON and held.points and held.points[-1].steps == trace.steps else None
    if fit is None or trace.cured or held.chance is None:
        return False
    if held.own_loss is None and not settings.get("steps"):
        settled = trace.steps >= _LEAST and generalization.settled(trace, fit)
        if settled or (trace.steps >= _LONG and generalization.no_turn(fit)):
            return True
    return all(point.val.loss < _LEARNT * held.chance for point in held.points[-3:])


def as_its_own(trace: Trace, settings: Mapping[str, Any]) -> Trace | None:
    """The run of another check, as far as one of this check would have come. None if it would have gone on."""
    held = trace.state.held_out
    if held is None or held.why_not:
        return None
    most = int(settings.get("steps") or STEPS)
    for number, point in enumerate(held.points, 1):
        state = replace(trace.state, held_out=replace(held, points=held.points[:number]))
        part = replace(trace, losses=trace.losses[: point.steps], state=state)
        if point.steps >= most or stop_when(part, settings):
            return part
    return None


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    held, survey = trace.state.held_out, trace.data.survey
    if held is None or held.why_not:
        return CouldNotJudge(trace.cut_short or ("no step was taken" if held is None else held.why_not))
    if survey is not None and survey.val_is_data:
        return CouldNotJudge("val_data is data itself, or some of its batches: nothing is held out")
    fit = fit_of(trace)
    if fit is None:
        return CouldNotJudge(
            trace.cut_short or f"{wording.plural(trace.steps, 'step')}: too few to see what carries over"
        )
    if controls.get(UNTREATED) is not None:
        return _with_a_cure(trace, fit, controls)
    known = _figures(fit)
    if survey is not None and data_faults.on_both_sides(survey) is not None:
        return _by_memory(fit, controls, survey)
    if _mode_matters(held):
        return FailIfConfirmed(_in_the_wrong_mode(held), _shown(trace, fit, known))
    if not fit.carries_over and not generalization.has_learnt(trace, fit):
        reason = "the fit has not learnt its own samples yet, which is a matter of learns_from_data"
        return CouldNotJudge(f"{reason}: {_course(fit)}", known)
    moved = generalization.at_other_positions(fit)
    if moved is not None:
        return _at_other_positions(moved)
    if generalization.in_another_order(fit):
        return FailIfConfirmed(_in_another_order(fit), _shown(trace, fit, known))
    if generalization.overfits(trace, fit):
        return _overfitted(trace, fit, controls, known)
    short = class_shares.short_class(survey)
    if short is not None and fit.end.val.accuracy is not None:
        return _short_of(short, trace, fit, controls, known)
    if generalization.prepared_otherwise(held.shift) and not fit.better_than_a_guess:
        return FailIfConfirmed(_carries_nothing(fit), _shown(trace, fit, known))
    return _shown(trace, fit, known)


def _shown(trace: Trace, fit: Fit, known: Mapping[str, float | None]) -> Passed | CouldNotJudge:
    """What the fit shows where nothing is wrong with it."""
    if fit.carries_over:
        return Passed(_notes(fit), known)
    if fit.had_carried_over and fit.lost_points == 0.0:
        end, best = wording.loss(fit.end.val.loss), wording.loss(fit.best_loss)
        note = f"validation loss rises from {best} (step {fit.best.steps}) to {end}, and the accuracy does not fall"
        return Passed((*_notes(fit), note), known)
    what = "nothing that is learnt carries over" if not fit.had_carried_over else "hardly anything of it is left"
    return CouldNotJudge(f"{what}: {_course(fit)}", known)


def _overfitted(
    trace: Trace, fit: Fit, controls: Mapping[str, Trace], known: Mapping[str, float | None]
) -> NeedsControl | FailIfConfirmed | Passed | CouldNotJudge:
    """Over three seeds: what one split of batches and one start do may be an accident."""
    fits = [fit]
    for seed in _SEEDS:
        if seed.label not in controls:
            return NeedsControl(seed, once=True)
        other = fit_of(controls[seed.label])
        if other is None or not generalization.overfits(controls[seed.label], other):
            doubt = f"{_course(fit)}; with other random numbers it does not get that far"
            return CouldNotJudge(doubt, known) if not fit.carries_over else Passed((doubt,), known)
        fits.append(other)
    ends, bests = [each.end.val.loss for each in fits], [each.best_loss for each in fits]
    spread = (max(ends) - min(ends)) / 2
    severity = "high" if generalization.is_severe(fit) else "medium"
    return FailIfConfirmed(
        Symptom(
            f"validation loss {wording.change(fmean(bests), fmean(ends))} (+- {wording.loss(spread)} over {len(fits)} "
            f"seeds) while training gets to {wording.loss(_training(trace, fit))}: the same guess for every sample "
            f"gives {wording.loss(fit.by_guessing)}",
            OVERFITTING,
            fmean(ends),
            fit.by_guessing,
            severity,  # type: ignore[arg-type]
            f"validation gets worse than a guess from step {fit.best.steps} on",
        ),
        CouldNotJudge(f"{_course(fit)}: it overfits, and nothing that was tried keeps it from that", known),
    )


def _by_memory(fit: Fit, controls: Mapping[str, Trace], survey: SurveyRecord) -> NeedsControl | Symptom | CouldNotJudge:
    """Samples are on both sides, which is certain, and a fault whatever it does to the figures of this fit.

    How much of the validation is memory shows a run without them, where they can be left out.
    """
    shown, leaked = data_faults.on_both_sides(survey), data_faults.leak(survey)
    if shown is None:
        return CouldNotJudge("nothing is on both sides")
    shown = replace(shown, headline="validation shows what is remembered, not what carries over")
    if leaked is None or not leaked.removable:
        return shown
    if _WITHOUT.label not in controls:
        return NeedsControl(_WITHOUT, once=True)
    honest = fit_of(controls[_WITHOUT.label])
    if honest is None or not fit.carries_over:
        return shown
    with_them, without = fit.end.val.loss, honest.end.val.loss
    if without - with_them <= max(_MUCH * (fit.by_guessing - with_them), generalization.uncertainty(honest.end.val)):
        return shown
    return Symptom(
        f"validation loss {wording.loss(with_them)}, and {wording.loss(without)} when the samples of val_data that are "
        f"in data are not learnt from (a guess gives {wording.loss(fit.by_guessing)})",
        FAULTY_DATA,
        without,
        with_them,
        "high",
        "validation is good by memory alone",
    )


def _mode_matters(held: HeldOutRecord) -> bool:
    own, in_eval_mode = held.own_loss, held.own_loss_in_eval_mode
    if own is None or in_eval_mode is None or not any(each.in_training_mode for each in held.active):
        return False
    return own - in_eval_mode > _WORSE_BY_MODE * abs(in_eval_mode)


def _in_the_wrong_mode(held: HeldOutRecord) -> Symptom:
    own, in_eval_mode = held.own_loss or 0.0, held.own_loss_in_eval_mode or 0.0
    return Symptom(
        f"evaluate(val_data) comes to a loss of {wording.loss(own)}, and to {wording.loss(in_eval_mode)} in eval mode",
        OVERFITTING,
        own,
        in_eval_mode,
        "high",
        "validation is worse than the model is",
    )


def _carries_nothing(fit: Fit) -> Symptom:
    headline = "validation is no better than a guess"
    return Symptom(_course(fit), OVERFITTING, fit.end.val.loss, fit.by_guessing, "high", headline)


def _in_another_order(fit: Fit) -> Symptom:
    headline = "validation is far worse than with the features in the order of data"
    return Symptom(_course(fit), OVERFITTING, fit.end.val.loss, fit.by_guessing, "high", headline)


def _at_other_positions(found: ShiftedTargets) -> Symptom:
    where = "before" if found.by > 0 else "after"
    return Symptom(
        f"{wording.share(found.right)} of {wording.count(found.positions)} targets of val_data are told as they are "
        f"paired, and {wording.share(found.right_shifted)} when each answer is compared with the target of the "
        f"position {where} it",
        FAULTY_DATA,
        found.right,
        found.right_shifted,
        "high",
        "the targets of val_data belong to other positions",
    )


def _short_of(
    found: ShortClass, trace: Trace, fit: Fit, controls: Mapping[str, Trace], known: Mapping[str, float | None]
) -> NeedsControl | FailIfConfirmed | Passed | CouldNotJudge:
    """Whoever tells it after some more steps has enough of it to learn from."""
    if _IN_TIME.label not in controls:
        return NeedsControl(_IN_TIME, steps=_TIMES * trace.steps)
    later, shown = fit_of(controls[_IN_TIME.label]), _shown(trace, fit, known)
    if later is None or generalization.more_told(fit, later, _OF_THE_CLASS * found.val_share):
        return shown
    return FailIfConfirmed(_hardly_there(found, fit), shown)


def _hardly_there(found: ShortClass, fit: Fit) -> Symptom:
    rare, often = wording.share(found.share), wording.share(found.val_share)
    return Symptom(
        f"class {found.label} is {rare} of data and {often} of val_data; {_course(fit)}",
        OVERFITTING,
        fit.end.val.loss,
        fit.by_guessing,
        "medium",
        f"class {found.label} is {rare} of data and {often} of val_data, and hardly learnt",
    )


def _with_a_cure(
    trace: Trace, fit: Fit, controls: Mapping[str, Trace]
) -> Passed | Symptom | CouldNotJudge | NeedsControl:
    untreated = controls[UNTREATED]
    before, known, held = fit_of(untreated), _figures(fit), trace.state.held_out
    survey, surveyed = trace.data.survey, untreated.data.survey
    if before is None or held is None:
        return CouldNotJudge("the run without the cure shows nothing to compare with", known)
    if _mode_matters(before.held):
        own, in_eval_mode = before.held.own_loss or 0.0, before.held.own_loss_in_eval_mode or 0.0
        better = held.own_loss is not None and own - held.own_loss > _LOSES * (own - in_eval_mode)
        return Passed(figures=known) if better else _in_the_wrong_mode(before.held)
    if surveyed is not None and data_faults.on_both_sides(surveyed) is not None:
        clean = survey is not None and data_faults.on_both_sides(survey) is None
        return Passed(figures=known) if clean else CouldNotJudge("the samples are still on both sides", known)
    if trace.applied.without_effect:
        return CouldNotJudge("there was nothing to change", known)
    short = class_shares.short_class(surveyed)
    if trace.applied.to_the_loss == "weighed_classes" and short is not None:
        more = generalization.more_told(before, fit, _OF_THE_CLASS * short.val_share)
        better = more or generalization.no_worse_any_more(before, fit)
        return Passed(figures=known) if better else _hardly_there(short, before)
    if trace.applied.validated == "in the order of data":
        return Passed(figures=known) if _far_better(before, fit) else _in_another_order(before)
    if before.held.other_order is not None and before.held.other_order.known_again:
        return _in_another_order(before)  # which is seen: what validation does in that order has no other cure
    if trace.applied.validated or not before.had_carried_over:
        return Passed(figures=known) if fit.better_than_a_guess else _carries_nothing(fit)
    if not _keeps(before, fit.end.val.loss) or not fit.carries_over:
        return _carries_nothing(fit)
    return Passed(figures=known) if trace.applied.stopped_after is None else _stopped(before, fit, controls, known)


def _far_better(before: Fit, fit: Fit) -> bool:
    """By its loss, beyond what the parts vary by: it gains a quarter or more of what there is to gain on a guess."""
    least = max(_MUCH * (fit.by_guessing - fit.end.val.loss), generalization.uncertainty(before.end.val))
    return fit.better_than_a_guess and before.end.val.loss - fit.end.val.loss > least


def _keeps(before: Fit, loss: float) -> bool:
    """Of what had been gained at best, at most half is lost."""
    lost = _LOSES * (before.by_guessing - before.best_loss)
    return loss < before.best_loss + max(lost, _NEAR_BEST * abs(before.by_guessing))


def _stopped(
    before: Fit, fit: Fit, controls: Mapping[str, Trace], known: Mapping[str, float | None]
) -> Passed | Symptom | NeedsControl:
    """Up to there it is the run that was judged, so that alone shows nothing new. Stopping helps where in every run,
    also in those with other random numbers, the step that one half of the samples chooses is a good one for the other
    half, with room."""
    fits: list[Fit | None] = [before]
    for seed in _SEEDS:
        if seed.label not in controls:
            return NeedsControl(seed, once=True)
        fits.append(fit_of(controls[seed.label]))
    helps = all(each is not None and each.halves and each.had_been_better for each in fits)
    return Passed(figures=known) if helps else _carries_nothing(fit)


def _training(trace: Trace, fit: Fit) -> float:
    return generalization.training_losses(trace, [fit.end])[0]


def _course(fit: Fit) -> str:
    end, best = wording.loss(fit.end.val.loss), wording.loss(fit.best_loss)
    first = wording.loss(fit.held.points[0].val.loss)
    words = f"validation loss {first} at first, {best} at best and {end} after {fit.end.steps} steps"
    and_training = "" if fit.end.train is None else f", training {wording.loss(fit.end.train.loss)}"
    return f"{words}{and_training} (a guess gives {wording.loss(fit.by_guessing)})"


def _notes(fit: Fit) -> tuple[str, ...]:
    """A wide gap, as advice."""
    points = fit.gap_in_accuracy
    if points is None or points <= generalization.SEVERE:
        return ()
    train, val = fit.end.train, fit.end.val
    assert train is not None
    return (f"it learns by heart: accuracy {wording.share(train.accuracy or 0.0)} of data and "
            f"{wording.share(val.accuracy or 0.0)} of val_data after {fit.end.steps} steps, a gap of "
            f"{100 * points:.0f} points (more than {100 * generalization.SEVERE:.0f} is severe)",)  # fmt: skip


def _figures(fit: Fit) -> dict[str, float | None]:
    train, val = fit.end.train, fit.end.val
    return {
        "train_loss": None if train is None else train.loss,
        "val_loss": val.loss,
        "val_loss_uncertainty": generalization.uncertainty(val),
        "best_val_loss": fit.best_loss,
        "best_at": float(fit.best.steps),
        "chance": fit.held.chance,
        "gap": fit.gap,
        "train_accuracy": None if train is None else train.accuracy,
        "val_accuracy": val.accuracy,
        "gap_in_accuracy": fit.gap_in_accuracy,
    }


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    fit = fit_of(trace)
    if fit is None:
        return "nothing to see"
    if failed_run is not None and fit.held.own_loss is not None and _mode_matters(_held(failed_run)):
        return wording.loss(fit.held.own_loss)
    return f"validation {wording.loss(fit.end.val.loss)}"


def _held(failed_run: FailedRun) -> HeldOutRecord:
    return failed_run.trace.state.held_out or HeldOutRecord()
