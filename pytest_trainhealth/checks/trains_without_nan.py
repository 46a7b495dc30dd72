"""trains_without_nan: loss, gradients and parameters stay finite

What it does
    Takes 50 steps (`steps=`) through the data and reads the loss at each; parameters, statistics in buffers and the
    moments of optimizers are examined every now and then and at the end. This costs almost nothing. Only when something
    is not finite is the run repeated up to that step, and that one step replayed operation by operation, backward pass
    included.

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

from collections.abc import Mapping
from typing import Any

from .. import wording
from ..analysis.run_failures import broke_down
from ..records.judgement import NO_CONTROLS, CouldNotJudge, FailedRun, Judgement, Passed
from ..records.trace import Trace

SIGNALS: tuple[str, ...] = ()
ONE_BATCH = False
BLAMES_RATES = True
#: Other circumstances, how far the limits are, and a search.
FOLLOW_UP = "stress"
#: By judgement: long enough for a rate that is too high to show, short enough to be taken under many circumstances.
STEPS = 50


def max_steps(settings: Mapping[str, Any]) -> int:
    return int(settings.get("steps") or STEPS)


def stop_when(trace: Trace, settings: Mapping[str, Any]) -> bool:
    return False


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    broken = broke_down(trace)
    if broken is not None:
        return broken
    if trace.cut_short:
        return CouldNotJudge(trace.cut_short)
    if not trace.losses:
        return CouldNotJudge("no step was taken")
    return Passed(figures={"first_loss": trace.losses[0], "last_loss": trace.losses[-1]})


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    if trace.nonfinite is not None:
        return f"{trace.nonfinite.value} at step {trace.nonfinite.step}"
    return f"finite for {wording.plural(trace.steps, 'step')}"
