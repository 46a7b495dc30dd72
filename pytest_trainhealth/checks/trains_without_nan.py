"""trains_without_nan: loss, gradients and parameters stay finite

What it does
    Takes 50 steps (`steps=`) through the data and reads the loss at each; parameters, statistics in buffers and the
    moments of optimizers are examined every now and then and at the end. This costs almost nothing. Only when something
    is not finite is the run repeated up to that step, and that one step replayed operation by operation, backward pass
    included.

    Where an operation of yours comes closer and closer to the end of its domain (a cosine in `acos` to 1, a distance in
    a square root to 0, an exponent to 88), the run goes on for up to eight times as many steps. Only a value that is
    not finite counts.

    Then it tries what the data make plausible (`sweep=False` skips this): other random numbers, the incomplete batch at
    the end of an epoch, a sample made of the extremes in a batch.

What can be requested
    `scales=(1e-3, 1e3)`: factors on the inputs. `batch_sizes=(1, 2)`. `samples=("zero", "constant", "repeated")`.
    `precisions=("bfloat16", "float16")`: autocast. `lr_factors=(10,)`. `seeds=(1, 2, 3)`. Any of them together, chosen
    by Hypothesis; what fails is shrunk to the smallest case that does, and shown as a marker to paste. `search=True`
    moves the inputs by gradient towards operations with a danger zone, inside the data's bounds. `margin=True` measures
    the largest factor on inputs, learning rate and loss that stays finite, and `min_margin=8` asserts it.

When it fails
    The loss, a parameter, a running statistic or a moment is NaN or Inf, or a loss scaler skips one update after
    another. The failure names the first operation that made such a value, with its module, your line and the range of
    its inputs.

What is not an alarm
    A mask filled with -inf; a buffer that was never finite; a step that a loss scaler skips because scaled gradients
    overflowed; circumstances that were not requested.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from .. import wording
from ..analysis.run_failures import UNSEEN_LOSS, broke_down
from ..records.judgement import NO_CONTROLS, UNTREATED, CouldNotJudge, FailedRun, Judgement, Passed
from ..records.trace import Trace

SIGNALS: tuple[str, ...] = ()
ONE_BATCH = False
BLAMES_RATES = True
#: Other circumstances, how far the limits are, and a search.
FOLLOW_UP = "stress"
#: By judgement: long enough for a rate that is too high to show, short enough to be taken under many circumstances.
STEPS = 50

#: Losses in a row whose median counts. By judgement: of 3 one may be odd.
_LAST_LOSSES = 3
#: Of the first loss: how far the run without a cure fell before it broke. By judgement: what falls less may be noise of
#: the batches, and says nothing about a cured run.
_CLEARLY = 0.1
#: Of that fall: what a cured run has to reach, in at least twice the steps. By judgement: a learning rate that is a
#: hundred times lower leaves 1 or 2 %, clipping that heals leaves more than half.
_SHARE = 0.1


def max_steps(settings: Mapping[str, Any]) -> int:
    return int(settings.get("steps") or STEPS)


def cured_steps(settings: Mapping[str, Any]) -> int:
    """Twice as many as the run that broke had at most: a cure that merely puts NaN off has the time to fail."""
    return 2 * max_steps(settings)


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace, None if trace.cured else max_steps(settings))
    if broken is not None:
        return broken
    if trace.cut_short:
        return CouldNotJudge(trace.cut_short)
    if not trace.losses:
        return CouldNotJudge("no step was taken")
    if not trace.loss_seen:
        return CouldNotJudge(UNSEEN_LOSS)
    if UNTREATED in controls and _learns_less(trace, controls[UNTREATED]):
        return CouldNotJudge("with the cure it stays finite, but no longer learns what it learnt before")
    return Passed(figures={"first_loss": trace.losses[0], "last_loss": trace.losses[-1]})


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    if trace.nonfinite is not None:
        return f"{trace.nonfinite.value} at step {trace.nonfinite.step}"
    finite = f"finite for {wording.plural(trace.steps, 'step')}"
    stuck = failed_run is not None and _learns_less(trace, failed_run.trace)
    return f"{finite}, loss stuck at {wording.loss(trace.losses[-1])}" if stuck else finite


def _learns_less(cured: Trace, untreated: Trace) -> bool:
    """The run without the cure fell clearly before it broke, and the cured one does not: it stands still, which keeps
    anything finite."""
    before = [loss for loss in untreated.losses if math.isfinite(loss)]
    if len(before) <= _LAST_LOSSES or len(cured.losses) <= _LAST_LOSSES or untreated.finite:
        return False
    first = before[0]
    fell, falls = (first - min(_smoothed(losses)) for losses in (before, cured.losses))
    return fell > _CLEARLY * abs(first) and falls < _SHARE * fell


def _smoothed(losses: Sequence[float]) -> list[float]:
    """Medians of a few losses in a row: one batch that happens to be easy is no fall."""
    return [median(losses[at : at + _LAST_LOSSES]) for at in range(1, len(losses) - _LAST_LOSSES + 1)]
