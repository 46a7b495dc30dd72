"""low-precision-overflow: half precision cannot hold the numbers of this training

What happens
    float16 ends at 65,504 and has nothing between 0 and 6e-8: sums and squares overflow to Inf, small gradients and
    epsilons become 0. bfloat16 has the range of float32, but only three digits: updates below a 256th of a weight are
    lost.

How severe it is
    Critical: Inf becomes NaN, at the first large activation.

How it is recognised
    Something is computed in float16 or bfloat16 (autocast, `precision=`, a model or input converted to half), and the
    same run in float32 is healthy. An operation that makes Inf of all its values lets nothing of its input through: the
    model then seems to ignore what it is given. With `keeps_precision`, a run that stays finite counts too: an
    operation makes Inf out of finite values, or gradients are 0 that are not in float32.

How to fix it
    Keep the weights in float32 and let `torch.autocast` choose what is computed in half; scale the loss
    (`torch.amp.GradScaler`) with float16; take losses, norms, softmax and sums over many values in float32
    (`x.float()`), with an epsilon that the precision can hold (1e-6). bfloat16 needs no scaler.

What not to do
    `nan_to_num`, or clipping: an Inf that was clipped is a wrong number. A smaller learning rate: the overflow is in
    the forward pass.

How to prevent it
    Prefer bfloat16 to float16 where the hardware has it, scale losses in float16, keep sums and squares in float32.
    `trains_without_nan(precisions=...)` tries both.

When this is wrong
    A step that a loss scaler skips because scaled gradients overflowed is how scalers find their scale.
"""

from __future__ import annotations

from .. import wording
from ..analysis.half_precision import pair, swallows_all, vanished
from ..records.intervention import Cure
from ..records.numbers import FirstBadOperation, HalfRecord
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU, SILENT, UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import NUMBERS

GROUP = NUMBERS
ORDER = 0
EXPLAINS = (EXPLOSION, NOT_LEARNING, PLATEAU, INSTABILITY, UNEQUAL, SILENT)

_HALVES = ("float16", "bfloat16")
#: Largest number that float16 can hold.
_LARGEST = 65504.0


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == UNEQUAL:
        return _beside_float32(trace)
    if symptom.category == SILENT and not swallows_all(trace):
        return None  # rounding hides no input, and takes no gradient away
    return _in_half_at_all(trace, symptom)


def _beside_float32(trace: Trace) -> Suspicion | None:
    """What `keeps_precision` has seen: both runs are finite, and differ by what float16 has no number for."""
    whole, low = pair(trace)
    a = None if whole is None else whole.state.precision
    b = None if low is None else low.state.precision
    if low is None or a is None or b is None:
        return None
    full = next((half for half in low.numbers.halves.values() if half.overflow), None)
    names = vanished(a, b)
    if full is not None:
        sentence = f"{full.overflow} makes inf out of finite values"
        return Suspicion(
            statement=f"{full.overflow} overflows in {full.dtype}",
            evidence=(Evidence(sentence, place=full.overflow_place), _operations(full)),
            why="float16 overflows beyond 65,504; what is divided by the Inf is 0, and the loss stays finite",
            places=() if full.overflow_place is None else (full.overflow_place,),
            fix=_fix(bool(b.half_weights), full.dtype),
            not_this="nan_to_num or clipping: a value that overflowed is lost",
            cures=(Cure("float32", "all in float32"),),
        )
    if not names:
        return None
    largest = max(max(map(abs, a.gradients[name].values)) for name in names)
    return Suspicion(
        statement=f"the gradients of {wording.names(names)} are 0 in float16",
        evidence=(
            Evidence(
                f"every gradient of {wording.plural(len(names), 'parameter')} is 0; in float32 they go up to "
                f"{wording.short(largest)} at the first step",
                largest,
            ),
        ),
        why="float16 has nothing between 0 and 6e-8: gradients that pass through smaller values are lost",
        fix=Fix(
            "scale the loss, so that its gradients fit into float16; bfloat16 needs no scaler:",
            ("scaler = torch.amp.GradScaler(device)", "scaler.scale(loss).backward()", "scaler.step(optimizer)"),
        ),
        not_this="a higher learning rate: times 0 it is 0",
        cures=(Cure("float32", "all in float32"),),
    )


def _in_half_at_all(trace: Trace, symptom: Symptom) -> Suspicion | None:
    weights = [p for p in trace.trainable if p.dtype in _HALVES]
    culprit = trace.numbers.culprit if trace.numbers.culprit is not None and _in_half(trace.numbers.culprit) else None
    if symptom.category != EXPLOSION and not weights and "float16" not in trace.numbers.halves:
        return None  # bfloat16 under autocast has the range of float32, and its weights are in float32
    if not trace.numbers.halves and not weights and culprit is None:
        return None
    dtype = weights[0].dtype if weights else next((kind for kind in _HALVES if kind in trace.numbers.halves), "float16")
    evidence: list[Evidence] = []
    statement = ""
    if culprit is not None:
        where = f" in {culprit.module}" if culprit.module else ""
        largest = max(max(abs(r.low), abs(r.high)) for r in culprit.inputs)
        operation = culprit.operation.removesuffix("Backward0").strip("_")
        statement = f"{operation}{where} makes {culprit.value} in {dtype}"
        evidence.append(
            Evidence(
                f"{statement} at step {culprit.step}, out of values up to {wording.short(largest)}",
                largest,
                culprit.place,
            )
        )
    record = trace.numbers.halves.get(dtype)
    if record is not None and record.overflow and culprit is None:
        statement = f"{record.overflow} overflows in {dtype}"
        left = ", and leaves no other value" if record.overflows_whole else ""
        evidence.append(
            Evidence(f"{record.overflow} makes inf out of finite values{left}", place=record.overflow_place)
        )
    if record is not None:
        where = f" in {record.module}" if record.module else ""
        statement = statement or f"{record.operation}{where} and what follows is computed in {dtype}"
        evidence.append(_operations(record))
    if weights:
        named = wording.names([p.name for p in weights])
        evidence.append(Evidence(f"{wording.plural(len(weights), 'trainable parameter')} held in {dtype}: {named}"))
    place = culprit.place if culprit is not None else None
    if place is None and record is not None:
        place = record.overflow_place or record.place
    return Suspicion(
        statement=statement or f"weights are held in {dtype}",
        evidence=tuple(evidence),
        why=(
            "float16 overflows beyond 65,504, and turns values below 6e-8 into 0"
            if dtype == "float16"
            else "bfloat16 keeps three digits: small updates and differences are lost"
        ),
        places=() if place is None else (place,),
        fix=_fix(bool(weights), dtype),
        not_this="nan_to_num or clipping: a value that overflowed is lost",
        cures=(Cure("float32", "all in float32"),),
    )


def _operations(record: HalfRecord) -> Evidence:
    limit = f" ({record.dtype} ends at {_LARGEST:,.0f})" if record.dtype == "float16" else ""
    where = f" in {record.module}" if record.module else ""
    return Evidence(
        f"{wording.plural(record.calls, 'operation')} in {record.dtype}, the first one {record.operation}{where}; "
        f"values up to {wording.short(record.largest)}{limit}",
        record.largest,
        record.place,
    )


def _in_half(culprit: FirstBadOperation) -> bool:
    return any(given.dtype in _HALVES for given in culprit.inputs)


def _fix(weights: bool, dtype: str) -> Fix:
    if weights:
        return Fix(
            "keep the weights in float32, and let autocast choose what is computed in half:",
            (f"with torch.autocast(device, dtype=torch.{dtype}):", "    loss = criterion(model(inputs), targets)"),
        )
    return Fix("compute this in float32:", ("with torch.autocast(device, enabled=False):", "    y = f(x.float())"))
