"""Where a loss can lie: its floor, the loss of the best constant answer, and what a plain recipe reaches.

A ratio to the first loss says little: a first loss may itself be sick (54 where guessing gives 2.3), and smoothed
labels or soft targets keep a loss far from 0. So a loss is judged by where it stands between these points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from statistics import fmean

from ..records.intervention import Cure
from ..records.losses import LossCall
from ..records.trace import Trace
from . import loss_curve
from .chance import chance_loss
from .loss_calls import scale

#: The rates of the plain recipe, tried in this order: after 400 steps on one batch 75 of 76 healthy twins are at most
#: 4 % of the way above what the better of the two reaches.
_RATES = (1e-2, 1e-3)
#: The plain recipe, whose result is what the model can reach on these data.
REFERENCES = tuple(Cure("reference_recipe", f"a plain recipe, Adam at {rate:g}", {"rate": rate}) for rate in _RATES)
#: What is left of a part of the loss that is exactly known: float32 gives six digits. By judgement 1e-6.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Points:
    """Of the whole loss. None where the loss functions that were seen do not add up to it, or are not known."""

    floor: float | None = None
    chance: float | None = None
    #: The targets stand in the batch. Those that a step computes may be others at the next step (a target network's).
    steady: bool = False

    def start(self, first: float) -> float:
        """From where learning counts: the first loss, but not above that of a guess."""
        return first if self.chance is None else min(first, self.chance)

    @property
    def known(self) -> bool:
        return self.floor is not None and self.chance is not None

    @property
    def nothing_to_learn(self) -> bool:
        """The best constant answer is as good as any: all targets are equal."""
        if self.floor is None or self.chance is None:
            return False
        return self.chance - self.floor <= _ROUNDING * max(1.0, abs(self.chance))


def points(trace: Trace) -> Points:
    """Over the steps whose calls were recorded: the batches differ.

    The best constant answer to a single sample is its target: there the guess is one among all classes, if any.
    """
    steps = sorted({call.step for call in trace.loss.calls})
    penalised = bool(trace.numbers.penalties)
    found = [_of_step(trace, step, penalised) for step in steps[:2]]
    if not found or not all(each.floor is not None for each in found):
        return Points()
    chances = [each.chance for each in found if each.chance is not None]
    floor = fmean(each.floor for each in found if each.floor is not None)
    if trace.batch_size == 1:
        chances = [among_classes] * len(found) if (among_classes := chance_loss(trace)) is not None else []
    comparable = len(chances) == len(found)
    steady = all(call.given_target for call in trace.loss.calls if call.weight is not None)
    return Points(floor, fmean(chances) if comparable else None, steady)


def _of_step(trace: Trace, step: int, penalised: bool) -> Points:
    """`penalised`: what the calls do not add up to is a penalty on the size of weights, which may become 0."""
    calls = [call for call in trace.loss.calls if call.step == step]
    times = 1.0 if penalised else _returned_share(trace, step, calls)
    weighed = [(call, times * (scale(call) or 0.0)) for call in calls if call.weight is not None]
    if not weighed or not (penalised or all(call.sole or call.complete for call, _ in weighed)):
        return Points()
    if any(factor <= 0 or call.floor is None for call, factor in weighed):
        return Points()
    floor = sum(factor * call.floor for call, factor in weighed if call.floor is not None)
    if any(call.chance is None for call, _ in weighed):
        return Points(floor)
    return Points(floor, sum(factor * call.chance for call, factor in weighed if call.chance is not None))


def _returned_share(trace: Trace, step: int, calls: list[LossCall]) -> float:
    """What a step returns may be a multiple of what backward() was called on: undivided, or a mean over several calls
    of backward() in one step."""
    parts = [call.part for call in calls if call.weight is not None]
    whole = sum(part for part in parts if part is not None)
    returned = trace.losses[step] if step < len(trace.losses) else 0.0
    known = all(part is not None for part in parts) and whole > 0 and returned > 0 and isfinite(returned / whole)
    return returned / whole if known else 1.0


@dataclass(frozen=True)
class Reach:
    """What the better of the plain runs came to."""

    level: float
    steps: int


def reach(controls: Mapping[str, Trace]) -> Reach | None:
    """None where no plain run was possible."""
    found = [_level(controls[cure.label]) for cure in REFERENCES if cure.label in controls]
    return min((each for each in found if each is not None), key=lambda each: each.level, default=None)


def missing_reference(controls: Mapping[str, Trace], good_enough: float) -> Cure | None:
    """The next plain run to make. None if all were made, or one of them got as low as there is reason to ask for."""
    known = reach(controls)
    if known is not None and known.level <= good_enough:
        return None
    return next((cure for cure in REFERENCES if cure.label not in controls), None)


def _level(trace: Trace) -> Reach | None:
    usable = trace.losses and trace.finite and trace.crash is None and "plain_adam" not in trace.applied.without_effect
    if not usable:
        return None
    level = min(loss_curve.level(trace.losses), fmean(trace.losses[-3:]))
    if trace.batch_size == 1:  # of single samples the confident ones say nothing
        level = fmean(trace.losses[-(len(trace.losses) // 3 or 1) :])
    return Reach(level, trace.steps) if isfinite(level) else None


def above_reach(reached: Reach, level: float, start: float) -> float:
    """How far above the reach a level lies: 0 at what the plain recipe reaches, 1 where learning starts."""
    return (level - reached.level) / (start - reached.level) if start > reached.level else 0.0
