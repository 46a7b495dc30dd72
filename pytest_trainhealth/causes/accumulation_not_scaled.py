"""accumulation-not-scaled: gradients of several backward passes add up to a step that is several times too large

What happens
    Gradients are accumulated over k small batches before each step, to stand in for one large batch. Each loss is a
    mean, so their sum is k times that of the large batch: the effective learning rate is k times the one you set.

How severe it is
    High: the learning rate is too high by the number of passes.

How it is recognised
    k backward passes from one and the same line before each update, and none of their losses was divided by k. The
    re-run divides the gradients by k before the step. With `accumulates_exactly`, the gradient of an update is compared
    with that of one batch; then a mean of means is reported, too: divided by k, a mean over 10 tokens counts as much as
    one over 100. So is a mean of quotients, each of two sums over all samples of its pass (a soft Dice over the batch).

How to fix it
    `(loss / k).backward()`, with the k of this update: the last one of an epoch may be shorter. Where passes have
    different numbers of terms, divide the sum of each by the number of all.

What not to do
    Clipping, or fewer batches per step: both hide the factor.

How to prevent it
    Divide by the number of passes, and for tokens by their number, in one helper. `accumulates_exactly` compares with
    one large batch.

When this is wrong
    Losses of different kinds with a backward pass each (a critic's on real and on made-up samples) are meant to add up;
    they come from different lines and are not reported. Adam and similar optimizers divide the factor out again. It is
    reported only when a training fails, never by itself.
"""

from __future__ import annotations

from statistics import median

from .. import wording
from ..analysis.summed_terms import summed_beside_means
from ..records.intervention import Cure
from ..records.state import PassesRecord
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU, UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import Accumulation
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 15
EXPLAINS = (INSTABILITY, EXPLOSION, PLATEAU, NOT_LEARNING, UNEQUAL)

#: A loss that was divided by about k, or by more (by the number of all samples, say), is in order. By judgement: a
#: quarter of the way from 1 / k to the next smaller number of passes where k is 5.
_ABOUT = 1.25
#: Numbers of terms that a line holds. By judgement: 8.
_MOST_SHOWN = 8
#: Those that divide by the size of the gradients do not mind.
_SCALE_FREE = ("Adam", "NAdam", "RAdam", "AdamW", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Lion", "Rprop")


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == UNEQUAL:
        return _unequal(trace)
    updates = trace.wiring.accumulations
    sums = [u for u in updates if u.passes > 1 and u.one_loop and u.factor > _ABOUT / u.passes]
    if not sums or 2 * len(sums) <= len(updates) or _is_scale_free(trace, sums[0]):
        return None
    passes, first = int(median(u.passes for u in sums)), sums[0]
    return Suspicion(
        statement=f"each step uses the sum of {passes} gradients, not their mean",
        evidence=(
            Evidence(
                f"{passes} backward passes before each step of {first.optimizer}, each on a loss that was not divided",
                float(passes),
                first.place,
            ),
            Evidence(f"this was seen at {len(sums)} of {wording.plural(len(updates), 'update')} examined"),
        ),
        why=f"gradients add up, so the effective learning rate is {passes} times the one set",
        places=() if first.place is None else (first.place,),
        fix=Fix("divide each loss by the number of backward passes per step:", (f"(loss / {passes}).backward()",)),
        not_this="clipping, or another learning rate: both hide the factor, which changes with the number of passes",
        cures=(Cure("mean_gradients", f"gradients divided by {passes}"),),
    )


def _unequal(trace: Trace) -> Suspicion | None:
    """The gradients themselves were compared, so the optimizer does not matter."""
    updates = [u for u in trace.state.passes if u.one_loop and u.clean and u.kind == "mean"]
    quotients = [u for u in trace.state.passes if u.one_loop and u.clean and u.kind == "quotient"]
    if quotients and not updates:
        return _mean_of_quotients(max(quotients, key=lambda each: each.error))
    if not updates:
        return _cut(trace)
    worst = max(updates, key=lambda each: each.error)
    if worst.factor > _ABOUT / worst.passes:
        return _sum_of_means(worst)
    if len(set(worst.counts)) == 1:
        return None
    least, most = min(worst.counts), max(worst.counts)
    counts = [f"{count:,.0f}" for count in worst.counts[:_MOST_SHOWN]]
    return Suspicion(
        statement=f"a mean of {worst.passes} means, over {least:,.0f} to {most:,.0f} terms each",
        evidence=(
            Evidence(f"the losses of one update are means over {', '.join(counts)} terms", None, worst.place),
            Evidence(
                f"each was multiplied by {wording.short(worst.factor)}, whatever its number of terms", worst.factor
            ),
        ),
        why="a term in a short pass counts for more than one in a long pass",
        places=() if worst.place is None else (worst.place,),
        fix=Fix(
            "divide the sum of each pass by the number of terms of all passes of the update:",
            ('F.cross_entropy(logits, labels, reduction="sum") / all_tokens',),
        ),
        not_this="sorting the samples by length: it only makes the passes less different",
        cures=(Cure("weighted_passes", "passes weighted by their terms"),),
    )


def _sum_of_means(worst: PassesRecord) -> Suspicion:
    return Suspicion(
        statement=f"each step uses the sum of {worst.passes} gradients, not their mean",
        evidence=(
            Evidence(
                f"{worst.passes} backward passes before a step of {worst.optimizer}, each on an undivided mean",
                float(worst.passes),
                worst.place,
            ),
            Evidence(f"their gradient is {wording.short(worst.ratio)} times that of one batch", worst.ratio),
        ),
        why=f"gradients add up, so the effective learning rate is {wording.short(worst.ratio)} times the one set",
        places=() if worst.place is None else (worst.place,),
        fix=Fix(
            "divide each loss by the number of backward passes per step:", (f"(loss / {worst.passes}).backward()",)
        ),
        not_this="clipping, or another learning rate: both hide the factor, which changes with the number of passes",
        cures=(
            Cure("mean_gradients", f"gradients divided by {worst.passes}"),
            Cure("weighted_passes", "passes weighted by their terms"),
        ),
    )


def _mean_of_quotients(worst: PassesRecord) -> Suspicion:
    return Suspicion(
        statement=f"a mean of {worst.passes} quotients, each over the samples of one pass",
        evidence=(
            Evidence(
                f"the losses of one update are {worst.passes} quotients of two sums over all samples of their pass",
                float(worst.passes),
                worst.place,
            ),
            Evidence(
                "the quotient of all sums, which one batch would have, has a gradient that differs by "
                f"{wording.share(worst.error)} of its size in direction",
                worst.error,
            ),
        ),
        why="what a sample counts depends on the others of its pass: a large one drowns the small ones beside it",
        places=() if worst.place is None else (worst.place,),
        fix=Fix(
            "take the quotient of each sample, and the mean over samples, which may be accumulated:",
            (
                "inside, both = (p * t).flatten(1).sum(1), (p + t).flatten(1).sum(1)",
                "loss = (1 - 2 * inside / both).mean()",
            ),
        ),
        not_this="another number of passes: the loss is another one for each number",
    )


def _cut(trace: Trace) -> Suspicion | None:
    cuts = [other.state.cut for other in trace.compared_with.values() if other.state.cut is not None]
    if not cuts or not cuts[0].weights or cuts[0].mixed_by or summed_beside_means(cuts[0]):
        return None
    weights = wording.names([wording.short(each) for each in cuts[0].weights], most=4)
    return Suspicion(
        statement=f"the loss is a mean over terms, and {cuts[0].parts} parts of a batch have different numbers of them",
        evidence=(Evidence(f"the gradient of the batch is {weights} of those of its parts, not equal shares"),),
        why="a term in a part with few of them would count for more than one in a part with many",
        fix=Fix(
            "divide the sum of each part by the number of terms of the whole batch:",
            ('F.cross_entropy(logits, labels, reduction="sum") / all_tokens',),
        ),
        not_this="sorting the samples by length: it only makes the parts less different",
    )


def _is_scale_free(trace: Trace, update: Accumulation) -> bool:
    record = trace.wiring.optimizers.get(update.optimizer)
    return record is not None and record.kind in _SCALE_FREE
