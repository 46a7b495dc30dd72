"""A run on one batch whose loss has no known floor, judged by how far it falls beside runs that cannot learn.

With zeroed inputs nothing of the samples can be memorised; without learning only what moves by itself moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .. import wording
from ..records.intervention import Cure
from ..records.judgement import UNTREATED, CouldNotJudge, FailIfConfirmed, Judgement, NeedsControl, Passed
from ..records.trace import Trace
from ..records.verdict import Symptom
from . import loss_calls, loss_curve, memorising, outweighed, wiring
from .reference_points import points

#: A fall that is worth a control run. A learning rate 100 times too low moves the loss by 0.2 to 4 % in 200 to 400
#: steps; distillation, the highest floor among the healthy programs, falls by 7.6 to 17 %.
_WORTH_A_CONTROL = 0.05
#: A fall that needs no control. Of 28 healthy programs that came so far 27 fell by 0.20 and more (one by 0.17), of 35
#: faulty ones 28; a control says more, where there is one.
CLEARLY_FELL = 0.2
#: Beside a control that it beats, a loss below three tenths has memorised nearly all: no cure can do "clearly better".
#: (A healthy wav2vec2 ends at 17 %, and clipping, of all things, brings it to just below a tenth.)
_NEARLY = 0.3
#: The first loss of an oscillating curve may lie anywhere between its ends. Of programs that reach no tenth 30 of 36
#: healthy and 40 of 54 faulty ones are above; by judgement.
_ABOVE_NOISE = 1.5
#: Of the fall: how much lower than with zeroed inputs. Healthy: 23 of 24 programs at 0.20 and more (the other, 0.06, is
#: not judged). Faulty: 13 of 34 below 0.1; the others learn, and their fault is looked for elsewhere. A loss that moves
#: by itself: 0.92 and 0.33 in one healthy program, at most 0.09 in 22 faulty ones.
BETTER_THAN_CONTROL = 0.1
#: How far below the uncured run's level a cured one ends: half, as a rule (six faulty programs with the right cure: at
#: most 0.29). A diffusion model whose differences broadcast stays at 1.03 and ends at 0.33 without. Two thirds along
#: with an obvious fault: a VAE with a sigmoid too many, or with a KL term summed over the batch, ends at 24.1 and 18.0,
#: and at 8.9 without, which is 0.37 and 0.49 of them.
_BELOW_A_FAULT = 0.67
#: Instead of a first loss of 0, below any that matters: 1e-12.
_NO_ZERO = 1e-12

#: The model sees nothing but zeros; and: nothing is learnt.
ZEROED_INPUTS = Cure("zeroed_inputs", "zeroed inputs")
UNTRAINED = Cure("learning_rate", "no learning", {"factor": 0.0})
_ONLY_A_PENALTY = "most of the loss is a penalty on the parameters, and only that fell"


def by_its_fall(
    trace: Trace, controls: Mapping[str, Trace], ratio: float, known: Mapping[str, float | None]
) -> Judgement:
    """Where the floor of the loss is not known: by how far it falls, and by controls."""
    first, last = trace.losses[0], loss_curve.level(trace.losses)
    fall = (first - last) / max(abs(first), _NO_ZERO)
    if memorising.below(trace.losses, ratio):
        return FailIfConfirmed(memorising.only_guesses(trace, first, last), CouldNotJudge(_ONLY_A_PENALTY, known))
    if _fell(trace):
        verdict = _beside_zeroed_inputs(trace, controls.get(ZEROED_INPUTS.label), first, last, fall)
        if isinstance(verdict, Passed | CouldNotJudge):
            verdict = replace(verdict, figures={**known, **verdict.figures})
            return _learnt_something(trace, verdict, controls.get(UNTREATED), ratio)
        if verdict is not None:
            return verdict
        creeps = fall < CLEARLY_FELL and loss_curve.is_straight(trace.losses)
        if known.get("reach") is not None and not creeps:
            reason = "the loss falls as far as with a plain recipe, and what its least value is is not known"
            return FailIfConfirmed(memorising.stuck(trace, first, last, ratio), CouldNotJudge(reason, known))
    return without_a_fall(trace, controls, memorising.stuck(trace, first, last, ratio), known)


def _fell(trace: Trace) -> bool:
    first, last = trace.losses[0], loss_curve.level(trace.losses)
    above_noise = first - last > _ABOVE_NOISE * loss_curve.spread(trace.losses)
    return above_noise and (first <= 0 or first - last >= _WORTH_A_CONTROL * first)


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
        if healed(trace, uncured, last) and "control_loss" in verdict.figures:
            return verdict
        if _set_going(trace, uncured, last, verdict.figures.get("control_loss")):
            return verdict
    return FailIfConfirmed(memorising.jumpy(memorising.stuck(trace, first, last, ratio), trace), verdict, rates=True)


def _set_going(trace: Trace, uncured: Trace | None, last: float, control: float | None) -> bool:
    """Without the cure the loss did not fall at all, and with it far below that and below zeroed inputs.

    A plain recipe is no yardstick for a fault of the loop that it shares, as weights that are put back. Only where the
    targets are drawn anew at each step: any other loss can be memorised, and a cure has to show that.
    """
    if not (points(trace).known and not points(trace).steady):
        return False
    if uncured is None or not uncured.losses or not uncured.finite or control is None or _fell(uncured):
        return False
    return 0 < last < (1 - CLEARLY_FELL) * min(loss_curve.level(uncured.losses), control)


def without_a_fall(
    trace: Trace, controls: Mapping[str, Trace], symptom: Symptom, known: Mapping[str, float | None]
) -> Judgement:
    first, last = trace.losses[0], loss_curve.level(trace.losses)
    if loss_calls.climbs(trace) and last > first:
        reason = "the optimizers climb (maximize=True), and what rises may be meant to"
        return FailIfConfirmed(symptom, CouldNotJudge(reason, known))
    untrained = controls.get(UNTRAINED.label)
    if untrained is None:
        return NeedsControl(UNTRAINED, once=True)
    if _moves_by_itself(untrained) and _learns(untrained, last) and not _worse_than(controls.get(UNTREATED), last):
        level = wording.loss(loss_curve.level(untrained.losses))
        return Passed(
            (f"the loss moves by itself; judged against a run without learning, which ends at {level}",), known
        )
    return symptom


def _learns(untrained: Trace, last: float) -> bool:
    return loss_curve.level(untrained.losses) - last > BETTER_THAN_CONTROL * abs(last)


def _worse_than(uncured: Trace | None, last: float) -> bool:
    """A cured run that learns less than the one without the cure is better than no learning at all, and no proof."""
    return uncured is not None and bool(uncured.losses) and uncured.finite and last >= loss_curve.level(uncured.losses)


def healed(trace: Trace, uncured: Trace | None, last: float) -> bool:
    """The input of the loss was cured. Some losses never reach a tenth (fresh noise, an ELBO): then what counts is how
    far below the level without the cure this run ends, which means something only along with an obvious fault."""
    if uncured is None or not uncured.losses or not uncured.finite or not trace.applied.to_the_loss:
        return False
    if loss_calls.rewarded_divergence(uncured) is not None or loss_calls.made_unlike(uncured) is not None:
        return True  # a loss that falls without bound, or the wrong way, has no level to compare with
    first, level = uncured.losses[0], loss_curve.level(uncured.losses)
    if first <= 0 or loss_calls.climbs(uncured):
        return False
    if outweighed.outweighed(uncured, level) is not None or any(map(loss_calls.squashed_twice, uncured.loss.calls)):
        return loss_curve.clearly_below(last, level, share=_BELOW_A_FAULT)
    return level > (1 - _WORTH_A_CONTROL) * first and loss_curve.clearly_below(last, level)


def _moves_by_itself(untrained: Trace) -> bool:
    """A queue that fills, a teacher that follows, an annealed weight: the loss changes though nothing is learnt."""
    if untrained.crash or not untrained.finite or not untrained.losses:
        return False
    first = untrained.losses[0]
    return abs(loss_curve.level(untrained.losses) - first) > BETTER_THAN_CONTROL * abs(first)


def _beside_zeroed_inputs(
    trace: Trace, control: Trace | None, first: float, last: float, fall: float
) -> Judgement | None:
    """None: the control shows nothing that speaks for the training."""
    if fall < CLEARLY_FELL and loss_curve.is_straight(trace.losses):
        return None  # a creep, which a control that creeps more slowly must not excuse
    if control is None:
        return NeedsControl(ZEROED_INPUTS)
    known = {"first_loss": first, "last_loss": last}
    other = control_level(control)
    if other is None or other < last - BETTER_THAN_CONTROL * abs(first - last):
        # nothing does better without inputs, unless its targets are made from them (a masked autoencoder)
        return Passed(("judged by its fall: no control run was possible",), known) if fall >= CLEARLY_FELL else None
    known["control_loss"] = other
    if other - last > BETTER_THAN_CONTROL * abs(first - last):
        return Passed((f"judged against zeroed inputs, which end at {wording.loss(other)}",), known)
    if fall >= CLEARLY_FELL:
        return CouldNotJudge(
            f"the loss falls ({wording.change(first, last)}), but no further than with zeroed inputs "
            f"({wording.loss(other)})",
            known,
        )
    return None


def control_level(control: Trace) -> float | None:
    if control.applied.without_effect or control.crash or not control.finite or not control.losses:
        return None
    return loss_curve.level(control.losses)
