"""loss-reduction: the loss is a sum where a mean was meant, or a mean taken twice

What happens
    A sum over N terms makes the gradient N times larger: a learning rate that suits a mean is too high. A mean that is
    divided by the batch size again makes it that many times smaller, and nothing moves. Adam and similar optimizers do
    not mind; SGD does. A KL term that is summed over the batch next to an averaged reconstruction does harm with every
    optimizer: the latent variables go silent. So does a KL term that is summed over the latents next to an error that
    is averaged over all values. Without any reduction there is one loss for each sample, and `backward()` raises an
    error.

How severe it is
    High: the learning rate depends on the batch size or the length of a sequence.

How it is recognised
    The derivative of the tensor that backward() is called on with respect to the loss function's value, and an
    optimizer whose steps scale with the gradient. The re-run divides or multiplies every gradient by the number of
    terms. A KL term is recognised by its values; the re-run averages it. Where `accumulates_exactly` cuts a batch into
    parts, the gradient of each addend of the loss shows whether it is a mean or a sum; the re-run averages the sum.

How to fix it
    Take the mean, once.

What not to do
    Make up for it with the learning rate: it would have to follow the batch size forever.

How to prevent it
    Say `reduction=` wherever a loss is called, and divide by what is really counted. `overfits_one_batch` and
    `accumulates_exactly` show the factor.

When this is wrong
    A sum is right where the learning rate was chosen for it; it is reported only when a training fails.
"""

from __future__ import annotations

from .. import wording
from ..analysis import loss_calls, outweighed, raised
from ..analysis.outweighed import Outweighed
from ..analysis.summed_terms import averaged, summed_beside_means
from ..records.intervention import Cure
from ..records.losses import LossCall
from ..records.numbers import Crash
from ..records.state import CutRecord
from ..records.symptoms import CRASH, EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU, UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import OptimizerRecord
from . import Suspicion
from ._groups import LOSS

GROUP = LOSS
ORDER = 16
EXPLAINS = (INSTABILITY, EXPLOSION, NOT_LEARNING, PLATEAU, CRASH, UNEQUAL)

#: With fewer terms another reduction changes less than a usual choice of the learning rate does. By judgement: rates
#: are chosen from powers of 10.
_FEWEST = 8
#: By judgement: float32 gives six digits, and a sum over 8 terms is 8 times their mean.
_SAME = 1e-3
#: Those whose steps grow with the gradient.
_FOLLOWS_SIZE = {"SGD", "ASGD", "LBFGS"}


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == CRASH:
        return None if trace.crash is None else _none_at_all(trace.crash)
    if symptom.category == UNEQUAL:
        cut = next((each.state.cut for each in trace.compared_with.values() if each.state.cut is not None), None)
        return None if cut is None else _beside_a_mean(cut)
    terms = loss_calls.summed_divergence(trace)
    if terms is not None:
        return _kl(*terms)
    found = outweighed.outweighed(trace, symptom.measured)
    if found is not None and found.plain_sum:
        return _mean_of_values(found)
    active = [o for o in trace.wiring.optimizers.values() if o.steps]
    if not active or any(o.kind not in _FOLLOWS_SIZE for o in active):
        return None
    for call in trace.loss.calls:
        scale = loss_calls.scale(call)
        if scale is None or not call.sole or call.terms < _FEWEST or call.function == loss_calls.DIVERGENCE:
            continue
        summed = next((n for n in (call.terms, call.samples) if n >= _FEWEST and abs(scale - n) <= _SAME * n), None)
        if summed is not None:
            return _sum(call, summed, active[0])
        twice = next((n for n in (call.samples, call.terms) if n >= _FEWEST and abs(scale * n - 1) < _SAME), None)
        if twice is not None and symptom.category in (NOT_LEARNING, PLATEAU):
            return _twice(call, twice, active[0])
    return None


def _beside_a_mean(cut: CutRecord) -> Suspicion | None:
    summed = summed_beside_means(cut)
    if not summed:
        return None
    sums, means = wording.names([each.name for each in summed.values()]), wording.names(averaged(cut))
    is_or_are, samples = wording.is_or_are(len(summed)), wording.count(cut.samples)
    return Suspicion(
        statement=f"{sums} {is_or_are} summed over the samples, and added to a mean ({means})",
        evidence=(
            Evidence(f"the gradient of {sums} for {samples} samples is the sum of those of their parts", cut.from_sum),
            Evidence(f"the gradient of {means} is the mean of those of the parts"),
        ),
        why="how much the one counts beside the other depends on the size of the batch",
        fix=Fix("average both over the samples:", ("loss = F.smooth_l1_loss(box, boxes, reduction='sum') / len(box)",)),
        not_this="a smaller weight for it: it would have to follow the batch size",
        cures=(Cure("averaged_terms", f"{sums} averaged over the samples", {"terms": list(summed)}),),
    )


def _none_at_all(crash: Crash) -> Suspicion | None:
    call = crash.seen.call
    if raised.about(crash) != raised.NOT_SCALAR or call is None or not call.given:
        return None
    shape = call.given[0].shape
    return Suspicion(
        statement=f"backward() is called on a loss of shape {shape}, and not on one number",
        evidence=(Evidence(f"the loss of step {crash.step} has the shape {shape}", place=crash.place),),
        why="each sample has a loss of its own, and nothing says how they are weighed",
        places=loss_calls.places(crash.place),
        fix=Fix("take the mean:", ("loss.mean().backward()",)),
        not_this="backward(torch.ones_like(loss)): that is the sum, and its steps grow with the batch",
    )


def _sum(call: LossCall, summed: int, optimizer: OptimizerRecord) -> Suspicion:
    """Over all terms, or over the samples, each of which is a mean over its own."""
    what = "terms" if summed == call.terms else "samples"
    return Suspicion(
        statement=f"the loss is a sum over {wording.count(summed)} {what}, not their mean",
        evidence=(
            Evidence(f"the gradient is {wording.count(summed)} times that of the mean", float(summed), call.place),
            _rate(optimizer),
        ),
        why="the gradient grows with the batch, and so does every step",
        places=loss_calls.places(call.place),
        fix=Fix("take the mean:", ("reduction='mean'",) if call.reduction == "sum" else ("loss = errors.mean()",)),
        not_this="making up for it with the learning rate: it would have to follow the batch size",
        cures=(Cure("scale_gradients", "mean instead of sum", {"factor": 1 / summed}),),
    )


def _kl(kl: LossCall, other: LossCall) -> Suspicion:
    samples = wording.count(kl.samples)
    return Suspicion(
        statement=f"the KL term is a sum over {samples} samples, but {other.function} is a mean",
        evidence=(
            Evidence(f"the KL term of shape {kl.input.shape} is summed over all samples", float(kl.samples), kl.place),
            Evidence(f"{other.function} is averaged over them", place=other.place),
        ),
        why=f"the KL term weighs {samples} times too much, and drives all information out of the latent variables",
        places=loss_calls.places(kl.place, other.place),
        fix=Fix("take the mean over the samples of both:", ("kl = kl.sum(-1).mean()",)),
        not_this="a smaller weight for the KL term: it would have to follow the batch size",
        cures=(Cure("scale_divergence", "KL averaged over the samples", {"factor": 1 / kl.samples}),),
    )


def _mean_of_values(found: Outweighed) -> Suspicion:
    kl, other, times = found.divergence, found.other, wording.short(found.times)
    values = wording.count(other.terms // max(other.samples, 1))
    return Suspicion(
        statement=f"{other.function} is a mean over the {values} values of a sample, but the KL term is a sum",
        evidence=(
            Evidence(f"{other.function} of shape {other.input.shape} is averaged over its values", place=other.place),
            Evidence(f"one term of the KL divergence counts as much as {times} errors", found.times, kl.place),
        ),
        why=f"the KL term weighs {times} times too much, and drives all information out of the latent variables",
        places=loss_calls.places(other.place, kl.place),
        fix=Fix(
            "sum both over the values of a sample, and average over the samples:",
            ("error = F.mse_loss(output, x, reduction='sum') / len(x)", "kl = kl.sum(-1).mean()"),
        ),
        not_this="a larger model or other latents: nothing pays for what they would tell",
        cures=(Cure("scale_divergence", "KL term and errors weighed alike", {"factor": 1 / found.times}),),
    )


def _twice(call: LossCall, divided_by: int, optimizer: OptimizerRecord) -> Suspicion:
    return Suspicion(
        statement=f"the mean is divided by {wording.count(divided_by)} again",
        evidence=(
            Evidence(f"the gradient is that of the mean divided by {wording.count(divided_by)}", place=call.place),
            _rate(optimizer),
        ),
        why="the mean is taken twice, and every step is that many times too small",
        places=loss_calls.places(call.place),
        fix=Fix("take the mean once: it is already divided by the number of terms"),
        not_this="making up for it with the learning rate: it would have to follow the batch size",
        cures=(Cure("scale_gradients", "mean taken once", {"factor": float(divided_by)}),),
    )


def _rate(optimizer: OptimizerRecord) -> Evidence:
    rate = optimizer.first_lr or 0.0
    return Evidence(
        f"{optimizer.label} (learning rate {wording.short(rate)}) steps in proportion to it", rate, optimizer.place
    )
