"""unstable-operation: an operation left its domain and made the first NaN or Inf

What happens
    log(0), the square root of 0 in the backward pass, a division by a spread of 0, an exp that overflows: finite values
    go in, NaN or Inf comes out, and reaches every parameter within a step.

How severe it is
    Critical: one NaN is in every weight after the next step.

How it is recognised
    The step is replayed operation by operation, the backward pass included. The first one that turns finite values into
    one that is not finite is named, with its module, your line, and the range of its inputs.

How to fix it
    Use the function that handles the danger: `F.log_softmax` or `F.cross_entropy` for a log of a softmax,
    `F.binary_cross_entropy_with_logits` for a log of a sigmoid, `torch.logsumexp`; add an epsilon *inside* the square
    root; give a fully masked row something to attend to; `torch.where` rather than a product with a mask.

What not to do
    `nan_to_num` on the loss, or clipping: the gradient of a NaN is a NaN. An epsilon below the resolution of the dtype
    (1e-8 in float16) does nothing.

How to prevent it
    Use the functions made for it (`logsumexp`, `log_softmax`, `log1p`, `clamp` before the division, an epsilon inside
    the root). `trains_without_nan` tries extremes of your own data.

When this is wrong
    An overflow in a plain matrix product or a convolution shows values that had already grown: look for a learning rate
    that is too high or exploding gradients.
"""

from __future__ import annotations

import os

from .. import wording
from ..records.numbers import FirstBadOperation
from ..records.symptoms import EXPLOSION
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import NUMBERS, Stage

GROUP = NUMBERS
#: The operation itself was seen to fail: as plain as a fault of the wiring, whatever the rate.
STAGE = Stage.STRUCTURE
ORDER = 10
CURABLE = False
EXPLAINS = (EXPLOSION,)

#: Sums and products only overflow when what goes in has grown already: the operation is not to blame. For a NaN it is:
#: it multiplied an infinity by 0, or took one from another.
_BYSTANDERS = {
    "mm", "addmm", "bmm", "baddbmm", "convolution", "linear", "dot", "mv", "addmv", "add", "sub", "mul", "sum", "mean",
    "native_batch_norm", "native_layer_norm", "mse_loss", "addcdiv", "addcmul", "lerp", "Mm", "Addmm", "Bmm",
    "Convolution", "Add", "Sub", "Mul", "Sum", "Mean", "Mse", "AccumulateGrad",
    "nll_loss_forward", "nll_loss2d_forward",
}  # fmt: skip
_EXPONENTIALS = {"exp", "exp_", "expm1"}
#: Exponents; float32 bears 88. Where an exponential overflows by itself, in a softplus by hand, they are at 89; with a
#: rate that is too high at 340 to 900 two steps after the start.
_FAR_BEYOND = 200.0
_ADVICE = {
    "log log2 log10 log1p": "keep its argument away from the end of its domain, or use F.log_softmax / F.logsigmoid",
    "sqrt rsqrt norm linalg_vector_norm cdist hypot": "add an epsilon inside the root: its slope at 0 is infinite",
    "mul sub add": "do not multiply infinity by 0, or subtract infinities: torch.where instead of a product",
    "div reciprocal true_divide": "add an epsilon to the divisor, or do not divide by a spread that may be 0",
    "exp expm1 cosh sinh": "subtract the maximum first (logsumexp, softmax), or clamp the exponent",
    "pow": "keep the base away from 0: the slope of a root is infinite there",
    "acos asin atan2 acosh atanh logit": "clamp its argument inside its domain",
    "softmax log_softmax": "leave at least one position of each row unmasked",
    "std var std_mean var_mean": "it needs at least two different values, or correction=0 and an epsilon",
}


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    culprit = trace.numbers.culprit
    if culprit is None or not culprit.from_finite or culprit.phase == "update":
        return None
    if culprit.value != "nan" and _is_bystander(culprit.operation):
        return None
    operation = _spoken(culprit)
    where, line = _where(culprit)
    size = f" of {trace.batch_size}" if trace.batch_size else ""
    sample = "" if culprit.sample is None else f", for sample {culprit.sample}{size}"
    infinite = any(given.infinite for given in culprit.inputs)
    out_of = "infinite" if infinite else "finite"
    summary = f"{operation}{where} made {culprit.value} out of {out_of} values at step {culprit.step}{sample}"
    evidence = [Evidence(summary, place=culprit.place)]
    evidence.extend(
        Evidence(f"{'its input' if i == 0 else 'and'}: {_range(culprit, i)}")
        for i in range(min(2, len(culprit.inputs)))
    )
    return Suspicion(
        statement=f"{operation}{where}{line} makes {culprit.value}",
        evidence=tuple(evidence),
        why=f"{operation.removesuffix(' (backward)')} left its domain in the {culprit.phase} pass",
        places=() if culprit.place is None else (culprit.place,),
        fix=Fix(_advice(culprit.operation)),
        not_this="nan_to_num on the loss, or clipping: the gradient of a NaN is a NaN",
        certainty="possible" if _leapt(culprit) else "likely",
    )


def _where(culprit: FirstBadOperation) -> tuple[str, str]:
    """In which part of the training; and the line, where no module says enough."""
    if culprit.module:
        return f" in {culprit.module}", ""
    if culprit.place is None:
        return "", ""
    line = f" ({os.path.basename(culprit.place.file)}:{culprit.place.line})"
    return " before the model" if culprit.before_model else " in your loss", line


def _leapt(culprit: FirstBadOperation) -> bool:
    """What goes into an exponential is far beyond its end when it first overflows: steps may be too large by far.

    The exponents of an exponential that is unstable by itself get there little by little.
    """
    given = culprit.inputs[0] if culprit.inputs else None
    return culprit.step > 0 and culprit.operation in _EXPONENTIALS and given is not None and given.high > _FAR_BEYOND


def _is_bystander(operation: str) -> bool:
    base = operation.removesuffix("Backward0").removesuffix("Backward1").rstrip("_")
    return base.startswith("_foreach") or base in _BYSTANDERS


def _spoken(culprit: FirstBadOperation) -> str:
    if culprit.phase == "backward":
        return f"{culprit.operation.removesuffix('0').removesuffix('Backward').lower()} (backward)"
    return culprit.operation.strip("_")


def _range(culprit: FirstBadOperation, index: int) -> str:
    given = culprit.inputs[index]
    low, high, smallest = map(wording.short, (given.low, given.high, given.smallest))
    zeros = f", {wording.share(given.zeros)} zeros" if given.zeros else ""
    infinite = f", {wording.share(given.infinite)} infinite" if given.infinite else ""
    return f"{low} to {high}, smallest size {smallest}{zeros}{infinite}, {given.dtype}"


def _advice(operation: str) -> str:
    base = operation.removesuffix("0").removesuffix("1").removesuffix("Backward").strip("_").lower()
    found = (advice for operations, advice in _ADVICE.items() if base in operations.split())
    return next(found, "keep its input inside its domain")
