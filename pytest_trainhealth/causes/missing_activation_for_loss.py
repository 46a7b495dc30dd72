"""missing-activation-for-loss: a loss that takes probabilities or their logarithms gets raw scores

What happens
    `nll_loss` picks one value per row and makes it large: right for log-probabilities, but raw scores can grow forever,
    and the loss falls without bound while nothing is weighed against anything. `binary_cross_entropy` raises an error
    for values outside 0 to 1. `kl_div` takes logarithms as its first argument.

How severe it is
    High: the loss is negative or nan, and not what its name says.

How it is recognised
    Log-probabilities are at most 0: values above that went into `nll_loss` or `kl_div`. Or `binary_cross_entropy`
    raised an error for values outside 0 to 1. The re-run applies what is missing.

How to fix it
    Use the loss that takes raw scores (`cross_entropy`, `binary_cross_entropy_with_logits`): it is also the safer one.

What not to do
    Be pleased about a loss below zero, or clamp scores to 0 to 1.

How to prevent it
    Use the losses that take raw scores (`cross_entropy`, `binary_cross_entropy_with_logits`); they are stabler as well.
    `overfits_one_batch` shows the others.

When this is wrong
    Logarithms of densities may be above 0; a loss of your own on those is better written out than built from
    `nll_loss`.
"""

from __future__ import annotations

from ..analysis import loss_calls
from ..records.intervention import Cure
from ..records.losses import LossCall
from ..records.symptoms import CRASH, EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import LOSS

GROUP = LOSS
ORDER = 8
EXPLAINS = (SILENT, CRASH, NOT_LEARNING, PLATEAU, INSTABILITY, EXPLOSION)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    call = next((c for c in trace.loss.calls if _raw(c)), None)
    if call is None or (symptom.category == CRASH) != bool(call.error):
        return None
    wanted = "probabilities" if call.function == "binary_cross_entropy" else "log-probabilities"
    missing, fix = _missing(call)
    got = (
        f"the output of {call.activation}"
        if call.activation
        else "probabilities"
        if call.input.probabilities
        else "raw scores"
    )
    evidence = [
        Evidence(
            f"{call.function} got values {loss_calls.between(call.input.low, call.input.high)}; "
            f"{wanted} are {'0 to 1' if wanted == 'probabilities' else 'at most 0'}",
            call.input.high,
            call.place,
        )
    ]
    if call.value is not None and call.value < 0:
        evidence.append(
            Evidence(f"it returned {call.value:.3f} at step {call.step}, but can never be negative", call.value)
        )
    return Suspicion(
        statement=f"{call.function} takes {wanted}, but gets {got}",
        evidence=tuple(evidence),
        why=f"nothing applies {missing} before it",
        places=loss_calls.places(loss_calls.made_at(call, trace), call.place),
        fix=fix,
        not_this="being pleased about a loss below zero, or clamping the scores",
        cures=(Cure("output_activation", f"{missing} applied", {"functions": [call.function], "apply": missing}),),
    )


def _raw(call: LossCall) -> bool:
    if call.function == "binary_cross_entropy":
        return bool(call.error) and (call.input.low < 0 or call.input.high > 1)
    return loss_calls.raw_scores(call)


def _missing(call: LossCall) -> tuple[str, Fix]:
    if call.function == "binary_cross_entropy":
        return "sigmoid", Fix(
            "use the loss that takes raw scores:", ("F.binary_cross_entropy_with_logits(output, target)",)
        )
    if call.activation == "softmax" or call.input.probabilities:
        if call.function == "nll_loss":
            return "log", Fix(
                "remove the softmax and use the loss that takes raw scores:", ("F.cross_entropy(scores, target)",)
            )
        return "log", Fix(
            "use log_softmax for its first argument:",
            ("F.kl_div(F.log_softmax(scores, -1), target, reduction='batchmean')",),
        )
    if call.function == "nll_loss":
        return "log_softmax", Fix("use the loss that takes raw scores:", ("F.cross_entropy(output, target)",))
    return "log_softmax", Fix(
        "use log_softmax for its first argument:",
        ("F.kl_div(F.log_softmax(output, -1), target, reduction='batchmean')",),
    )
