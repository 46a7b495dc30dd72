"""exploding-gradients: gradients are far too large before the first step

What happens
    Each layer of a deep network, or each step of a recurrent one, multiplies the gradient by a little more than 1.
    After thirty of them it is a million times larger. One step of the usual size then throws the parameters far off:
    the loss jumps, oscillates or overflows.

How severe it is
    Critical where it ends in NaN, high where clipping hides it.

How it is recognised
    The norm of the gradient is above 100 at the very first step (healthy ones are below about 5; above 20 is enough
    when plain SGD with a usual learning rate explodes), or gets there through steps that were small compared with the
    weights; inputs, targets and weights are of a sane scale, and the run fails. The re-run clips the norm at 1.

How to fix it
    Clip: `torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)` before `optimizer.step()`. And stop the growth:
    normalisation layers, residual branches that start small, an orthogonal or identity initialisation and gates (LSTM,
    GRU) for recurrences, shorter sequences for truncated backpropagation, a mean instead of a sum in the loss.

What not to do
    A tiny learning rate alone: it hides the large steps and leaves the small ones useless.

How to prevent it
    A norm in every block, scaled residual branches, a first loss near chance. `gradients_flow` measures gradients
    before the first step.

When this is wrong
    An operation that left its domain by itself (the log of a 0) is unstable-operation, even where clipping puts it off.
    A loss summed over many values has large gradients and trains well with an optimizer that scales them (Adam): large
    gradients alone are never reported, only when the training fails. A sane first gradient that grows after large
    updates is lr-too-high.
"""

from __future__ import annotations

import math
from itertools import pairwise

from .. import wording
from ..analysis import data_scale, singularities, wiring
from ..analysis.history_fault import HistoryFault
from ..analysis.history_faults import GREW_BEFORE, first_fault, norm_before
from ..analysis.history_roles import Roles
from ..records.history import History
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import NUMBERS
from ._in_histories import places

GROUP = NUMBERS
ORDER = 5
EXPLAINS = (INSTABILITY, EXPLOSION, PLATEAU, NOT_LEARNING)

#: Of the 257 healthy programs four are above (three of Hugging Face's untrained vision and audio models, up to 39,000,
#: and one with targets around 50: 114), the next at 59: so this counts only when a training fails.
_LARGE = 100.0
#: A later gradient against the first, after updates below this share of their weights. By judgement: a gradient that
#: grows 100 times while the weights hardly change is no matter of a single layer.
_GROWN = 100.0
#: That share. By judgement: a twentieth, as in lr-too-high.
_SMALL_UPDATE = 0.05
#: SGD steps as far as the gradient is long: a rate that is usual is not to blame for what a gradient like this does. By
#: judgement: a fifth of what counts as large, because the rate is known, too.
_LONG = 20.0
#: Of SGD, at most: 0.1 is what most recipes for training from scratch begin with. By judgement.
_USUAL_RATE = 0.1
#: Times the loss before the step. By judgement: as many times as a gradient has to grow.
_BURST = 100.0
#: Times per value, from the last weight back to the first. By judgement: it chooses between two ways to say where a
#: gradient is large, and whether it may still be to blame beside an operation that left its domain.
_GROWS_BACKWARDS = 10
#: Epochs that were finished before. By judgement: numbers of epochs begin with 0 or with 1.
_SEEN_BEFORE = 2
_CLIP = Fix(
    "clip before the step, and normalise between the layers:",
    ("torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",),
)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if data_scale.data_off_scale(trace):
        return None  # the gradient is only as large as the data: that is what has to be fixed
    first = wiring.gradient_norm(trace, 0)
    step = 0 if first > _LARGE or _too_long(trace, symptom, first) else _grown_at(trace, first)
    if step is None:
        return None
    if singularities.at_its_own_singularity(trace.numbers.culprit) and not step and not _grows_backwards(trace, step):
        return None  # the operation is to blame: clipping only changes the step at which it gets to its singularity
    norm = wiring.gradient_norm(trace, step)
    healthy = "healthy ones are below about 5" if not step else f"{wording.short(first)} at step 0"
    evidence = [
        Evidence(f"the gradient's norm at step {step} is {wording.short(norm)} ({healthy})", norm),
        *_growth(trace, step),
    ]
    losses = trace.losses
    if len(losses) > step + 1:
        evidence.append(Evidence(f"the loss goes {wording.change(losses[step], losses[step + 1])} in one step"))
    when = "before the first step" if not step else f"at step {step}"
    return Suspicion(
        statement=f"the gradient's norm is {wording.short(norm)} {when}",
        evidence=tuple(evidence),
        why="the gradient is multiplied at each layer, or at each step of a sequence",
        fix=_CLIP,
        not_this="a tiny learning rate alone: it leaves the other steps useless",
        cures=(Cure("clip_gradients", "gradients clipped at norm 1", {"max_norm": 1.0}),),
    )


def in_history(history: History, symptom: Symptom) -> Suspicion | None:
    """The norm in the log was many times its usual size before the loss went wrong."""
    fault = first_fault(history)
    if fault is None or fault.kind not in ("nonfinite", "diverged", "gradients", "growing swings"):
        return None
    evidence = fault.evidence if fault.kind == "gradients" else _grown_before(history, fault)
    if not evidence:
        return _out_of_the_blue(history, fault)
    return Suspicion(
        statement=fault.headline if fault.kind == "gradients" else f"the gradient grows before {fault.headline}",
        evidence=evidence,
        certainty="likely" if fault.kind != "diverged" else "possible",
        why="the gradient is multiplied at each layer, or at each step of a sequence",
        places=places(fault),
        fix=_CLIP,
        not_this="a tiny learning rate alone: it leaves the other steps useless",
    )


def _out_of_the_blue(history: History, fault: HistoryFault) -> Suspicion | None:
    """NaN from one entry to the next, and no norm in the log. What it shows is what it is not: every sample was seen in
    earlier epochs, and steps with it were finite. So weights or gradients were too large by then, or an operation left
    its domain; which of the two, only a norm would tell.
    """
    epoch = _epoch_of(history)
    if fault.kind != "nonfinite" or Roles(history).gradient_norm is not None or epoch is None or epoch < _SEEN_BEFORE:
        return None
    seen = f"it comes in epoch {epoch:,.3g}: all samples were seen before, so a value in the data is not it"
    overflow = (Evidence("it is infinite first: it has overflowed"),) if math.isinf(fault.measured) else ()
    return Suspicion(
        statement=f"{fault.headline}, and the data were the same before",
        evidence=(Evidence(seen, epoch), *overflow, *fault.evidence),
        certainty="possible",
        why="a step was too large, or an operation left its domain; the norm of the gradient, if logged, would tell",
        places=places(fault),
        fix=_CLIP,
        not_this="looking through the data for NaN: earlier epochs had the same samples",
    )


def _epoch_of(history: History) -> float | None:
    """The epoch, counted from 0, in which the first loss is not finite; None where none is logged."""
    points = [(each, each.ends_nonfinite) for each in Roles(history).losses if each.ends_nonfinite is not None]
    found = [point.epoch if not math.isnan(point.epoch) else series.counted(point) for series, point in points
             if not math.isnan(point.epoch) or series.unit == "epoch"]  # fmt: skip
    return min(found, default=None)


def _grown_before(history: History, fault: HistoryFault) -> tuple[Evidence, ...]:
    norm = Roles(history).gradient_norm
    found = None if norm is None else norm_before(norm, fault.step)
    if norm is None or found is None:
        return ()
    usual, last, at = found
    grown = usual > 0 and last > GREW_BEFORE * usual
    early = norm.first_nonfinite is not None and norm.counted(norm.first_nonfinite) < fault.step
    if not grown and not early:
        return ()
    words = f"{norm.name} is {wording.short(last)} at {norm.when(at)}, and was {wording.short(usual)} usually"
    return (Evidence(words, last, history.place(norm.lines[at])), *fault.evidence)


def _too_long(trace: Trace, symptom: Symptom, first: float) -> bool:
    rates = [
        o.first_lr for o in trace.wiring.optimizers.values() if o.steps and o.kind == "SGD" and o.first_lr is not None
    ]
    alone = len(rates) == len([o for o in trace.wiring.optimizers.values() if o.steps])
    usual = bool(rates) and alone and max(rates) <= _USUAL_RATE
    return usual and first > _LONG and (symptom.category == EXPLOSION or _bursts(trace))


def _bursts(trace: Trace) -> bool:
    """One step makes the loss many times as large."""
    pairs = pairwise(trace.losses)
    return any(before > 0 and after > _BURST * before for before, after in pairs)


def _grown_at(trace: Trace, first: float) -> int | None:
    """The first step with a gradient far above the first one, although the updates before it were small."""
    steps = sorted({step for p in trace.trainable for step in p.gradients})
    for step in steps:
        norm = wiring.gradient_norm(trace, step)
        if norm > max(_LARGE, _GROWN * first) and math.isfinite(norm) and first > 0:
            before = [u for p in wiring.weights(trace) for at, u in p.updates.items() if at < step]
            return step if before and max(before) < _SMALL_UPDATE else None
    return None


def _grows_backwards(trace: Trace, step: int) -> float | None:
    """How many times it grows per value from the last weight back to the first; None where it hardly does."""
    weights = [p for p in wiring.weights(trace) if p.gradients.get(step)]
    if len(weights) <= 2:
        return None
    front, back = weights[0].rms_gradients()[step], weights[-1].rms_gradients()[step]
    return front / back if front > _GROWS_BACKWARDS * back else None


def _growth(trace: Trace, step: int) -> list[Evidence]:
    """From the last weight back to the first, per value; or where most of it is."""
    weights = [p for p in wiring.weights(trace) if p.gradients.get(step)]
    if not weights:
        return []
    times = _grows_backwards(trace, step)
    if times is not None:
        way = f"on its way from {weights[-1].name} back to {weights[0].name}"
        return [Evidence(f"{way} it grows {wording.short(times)} times per value")]
    largest = max(weights, key=lambda p: p.gradients.get(step) or 0.0)
    return [Evidence(f"most of it is in {largest.name}: {wording.short(largest.gradients.get(step) or 0.0)}")]
