"""learns_from_data: over several batches it learns what only the inputs show, and neither oscillates nor gets stuck

What it does
    Takes up to 80 steps through your batches, one after the other, and stops as soon as the loss is below a tenth of
    its first value. Along with the loss it looks at the learning rate of every update, at the settings of the
    optimizer, and at the targets: can they be predicted from the inputs as they are used, or only in another order?
    With only one batch there is nothing to carry over, and it stops at once.

When it fails
    The targets fit the inputs when they are shifted by a sample or two, and not as they are; or the step uses inputs
    and targets in different orders; or an input has a different target in every epoch. Or the model is trained in eval
    mode from some step on, because nothing undoes an `eval()`. Or the loss gets stuck, creeps or oscillates, something
    in the trace can be the reason, and a re-run without it does far better. Some reasons are considered however far the
    loss has fallen: betas the wrong way round, BatchNorm over two values, sigmoid or tanh units at their limits from
    the start, steps that stay large while the loss stays where it is.

What is not an alarm
    A loss that stays where it is. Random labels cannot be learnt from one batch to the next, and many tests use them;
    so a flat curve alone means nothing, and the check passes with a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from .. import wording
from ..analysis import chance, learning_rates, loss_curve, loss_symptoms, silent_faults, wiring
from ..analysis.run_failures import broke_down
from ..records.data import Alignment
from ..records.judgement import NO_CONTROLS, UNTREATED, CouldNotJudge, FailedRun, FailIfConfirmed, Judgement, Passed
from ..records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
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
#: Calls without an update after which there will be none. By judgement: the longest accumulation that is usual is 32.
_WITHOUT_UPDATE = 32
#: Of the first loss, as in overfits_one_batch. 142 of 278 healthy programs get there, 14 of 83 faulty ones.
_LEARNT = 0.1
#: Fewer steps show no course. By judgement: the shortest healthy run that is judged has 32.
_FEWEST = 20
#: A fall by half of the first loss is clear whatever the noise. Of 136 healthy programs that did not reach a tenth 101
#: fell further, of 64 faulty ones 20.
_CLEARLY_FELL = 0.5
#: A run with a cure has to end clearly below the level without (at half of it: of 20 faulty programs 17 ended below
#: that with whatever was tried, 0.09 by median; of 13 healthy programs for which cures were tried one got to 0.47), and
#: lower by a tenth of the first loss. Faulty: 17 of 18 programs at or above that tenth (median 0.94, the other 0.04);
#: the one healthy program: 0.04.
_BY_AT_LEAST = 0.1
#: A low level is far better only when it is a fifth; so is one that smaller steps lead to. Faulty: 0.11 to 0.16 (three
#: programs; a fourth, 1.0, had another cause). Healthy: from 0.91 on with smaller steps (12 programs), otherwise 0.47
#: (one).
_FAR_BELOW = 0.2
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
#: Losses, however short the curve. By judgement: of 5 two may be odd.
_FEWEST_AT_THE_END = 5
#: Of the first loss: a smaller fall is noted, and is no alarm. Healthy: 10 of 299 programs fell by less.
_HARDLY_FELL = 0.05
#: Of the third quarter, with steps that are large. Asked of few: of 5 healthy programs 2 are above (-0.09 to 0.10), of
#: 12 faulty ones 7 (-0.5 to 0.36). By judgement.
_FALLS_ON = 0.05
#: Of the first loss. Healthy: one of 55 programs grew by 0.3, the others fell by 0.09 and more; faulty: 7 of 63 grew by
#: up to 7.3.
_GREW = 0.2
#: Instead of a first loss of 0, below any that matters: 1e-12.
_NO_ZERO = 1e-12


def max_steps(settings: Mapping[str, Any]) -> int:
    return 2 * _steps(settings)


def _steps(settings: Mapping[str, Any]) -> int:
    return int(settings.get("steps") or STEPS)


def stop_when(trace: Trace, settings: Mapping[str, Any]) -> bool:
    losses, updates = trace.losses, min(trace.update_count, len(trace.losses))
    if trace.batches == 1:
        return len(losses) >= 2
    if updates >= _steps(settings) or (not updates and len(losses) >= _WITHOUT_UPDATE):
        return True
    looked_at = len(losses) >= _LEAST and len(losses) % _ASKED_EVERY == 0 and losses[0] > 0
    learnt = looked_at and max(losses[-_ASKED_EVERY:]) < _LEARNT * losses[0]
    return learnt and trace.data.alignment is None and not trace.cured and not _plainly_wrong(trace)


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    losses = trace.losses
    if not losses:
        return CouldNotJudge(trace.cut_short or "no step was taken")
    first, last = _start(losses), _end(losses)
    known = {"first_loss": first, "last_loss": last}
    uncured, wrong = controls.get(UNTREATED), silent_faults.begins_later(trace, _SEEN_CLOSELY)
    apart = _not_aligned(trace) or loss_symptoms.any_number_of_labels(trace)
    if apart is not None:
        return apart  # whatever else is wrong, no cure puts this right
    if wrong is not None:
        return wrong
    if uncured is not None:
        if silent_faults.begins_later(uncured, _SEEN_CLOSELY) is not None:
            return Passed(figures=known)
        return Passed(figures=known) if _far_better(trace, uncured) else _symptom(trace, first, last)
    if trace.batches == 1:
        return Passed(("only one batch: overfits_one_batch covers it",), known)
    if len(losses) < _FEWEST:
        return CouldNotJudge(trace.cut_short, known) if trace.cut_short else Passed(figures=known)
    if wiring.adversarial(trace) or (learning_rates.warming_up(trace) and not learning_rates.runs_away(trace)):
        return Passed(figures=known)
    fell = (first - last) / max(abs(first), _NO_ZERO)
    notes = () if fell > _HARDLY_FELL else (
        f"loss {wording.change(first, last)} over {len(losses)} steps: nothing was learnt "
        "that carries over, as expected with random labels",
    )  # fmt: skip
    if chance.worse_than_chance(trace, last):
        return FailIfConfirmed(_worse_than_a_guess(trace, first, last), Passed(notes, known))
    odd = _odd(trace, first, last, fell)
    return Passed(notes, known) if odd is None else FailIfConfirmed(odd, Passed(notes, known), rates=True)


def _odd(trace: Trace, first: float, last: float, fell: float) -> Symptom | None:
    """Something that can keep a training from learning is there, and the curve looks like it."""
    if _plainly_wrong(trace):
        return _symptom(trace, first, last)
    if fell > 1 - _LEARNT:
        return None
    if learning_rates.odd_course(trace) is not None or learning_rates.odd_setting(trace) is not None:
        return _symptom(trace, first, last)
    if fell > _CLEARLY_FELL and not loss_curve.bounces(trace.losses):
        return None
    ratios = wiring.update_ratios(trace)
    size = median(ratios) if ratios else 0.0
    large = size >= _LARGE_UPDATE and not _falls_on(trace.losses)
    if large or 0 < size <= _SMALL_UPDATE or loss_curve.bounces(trace.losses) or _grows(trace.losses):
        return _symptom(trace, first, last)
    return None


def _plainly_wrong(trace: Trace) -> bool:
    """What harms a training however far its loss has fallen; how much, a re-run without it shows."""
    if (
        learning_rates.wrong_way_round(trace)
        or learning_rates.cannot_settle(trace)
        or wiring.batch_norms_starved(trace)
    ):
        return True
    return _learns_on_top(trace) and any(
        a.saturated.get(0, 0.0) >= _AT_THE_ENDS for a in trace.numbers.activations.values()
    )


def _learns_on_top(trace: Trace) -> bool:
    """Layers after the saturated ones do learn; a loss that does not move may yet leave its plateau."""
    first, last = _start(trace.losses), _end(trace.losses)
    return first - last > _FELL_SOMEWHAT * abs(first)


def _falls_on(losses: list[float]) -> bool:
    """The last quarter is lower than the third by a twentieth: steps this large still go the right way."""
    quarter = len(losses) // 4
    third, last = median(losses[-2 * quarter : -quarter]), median(losses[-quarter:])
    return third - last > _FALLS_ON * abs(third)


def _start(losses: list[float]) -> float:
    return losses[0]


def _end(losses: list[float]) -> float:
    """Over the last third, because batches differ."""
    return median(losses[-max(_FEWEST_AT_THE_END, len(losses) // 3) :])


def _grows(losses: list[float]) -> bool:
    return _end(losses) > losses[0] + _GREW * abs(losses[0])


def _far_better(cured: Trace, uncured: Trace) -> bool:
    if uncured.crash is not None or not uncured.finite or not uncured.losses:
        return True  # it does run
    if cured.applied.without_effect:
        return False
    if cured.applied.smaller_steps_from is not None:
        return _settles(cured, uncured)
    first, before, after = abs(uncured.losses[0]), _end(uncured.losses), _end(cured.losses)
    if chance.worse_than_chance(uncured, before) and after < (chance.chance_loss(uncured) or 0.0):
        return True  # a huge first loss is no measure
    if uncured.losses[0] > 0 and before > 0 and not loss_curve.clearly_below(after, before):
        return False
    if learning_rates.wrong_way_round(uncured):
        return True  # never intended: half is enough
    return before - after > _BY_AT_LEAST * first or (
        after > 0 and loss_curve.clearly_below(after, before, share=_FAR_BELOW)
    )


def _settles(cured: Trace, uncured: Trace) -> bool:
    """With smaller steps from some step on, at the end, where those without have long got as far as they get.

    Smaller steps take some noise out of every training; where it was noise that kept the loss up, it falls with them.
    """
    steps = min(len(cured.losses), len(uncured.losses))
    last = max(_FEWEST_AT_THE_END, (steps - (cured.applied.smaller_steps_from or 0)) // 4)
    before, after = median(uncured.losses[steps - last : steps]), median(cured.losses[steps - last : steps])
    return after >= 0 and loss_curve.clearly_below(after, before, share=_FAR_BELOW)


def _not_aligned(trace: Trace) -> Symptom | None:
    found, repaired = trace.data.alignment, trace.data.repaired
    if found is not None and found.order:
        return _in_another_order(found)
    if repaired is None:
        return None
    return Symptom(
        f"{wording.count(repaired.changed)} of {wording.count(repaired.samples)} inputs have a different target "
        "in the second epoch than in the first",
        SILENT,
        repaired.changed,
        0.0,
        "high",
        "inputs get different targets in every epoch",
    )


def _in_another_order(found: Alignment) -> Symptom:
    if found.crossed:
        return Symptom(
            f"{wording.count(found.crossed)} of {wording.count(found.samples)} inputs get the target of another sample",
            SILENT,
            found.crossed,
            0.0,
            "high",
            "inputs get the targets of other samples",
        )
    what = f"{wording.count(found.samples)} targets" if found.kind == "classes" else "the targets' variance"
    return Symptom(
        f"{wording.share(max(found.used, 0.0))} of {what} can be predicted from the inputs as they are used, and "
        f"{wording.share(found.best)} when each input gets the target of {found.order}",
        SILENT,
        found.used,
        found.best,
        "high",
        "inputs fit the targets of other samples",
    )


def _worse_than_a_guess(trace: Trace, first: float, last: float) -> Symptom:
    chance_loss = chance.chance_loss(trace) or 0.0
    summary = (
        f"loss {wording.change(first, last)} in {len(trace.losses)} steps through the data: the same guess for every "
        f"sample would give {wording.loss(chance_loss)}"
    )
    return Symptom(
        summary, PLATEAU, last, chance_loss, "medium", f"loss stops at {wording.loss(last)}, worse than a guess"
    )


def _symptom(trace: Trace, first: float, last: float) -> Symptom:
    losses, steps = trace.losses, len(trace.losses)
    summary = f"loss {wording.change(first, last)} in {steps} steps through the data"
    wanted = first - (1 - _LEARNT) * abs(first)
    if _grows(losses):
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
    return wording.change(trace.losses[0], _end(trace.losses) if trace.finite else trace.losses[-1])
