"""dtype-mismatch: tensors meet whose types do not fit

What happens
    numpy computes in float64 and torch in float32, so `torch.from_numpy(x)` does not fit the weights. Ids and pixels
    are whole numbers, and layers multiply floats. Labels of `cross_entropy` are int64; read from a table they are int32
    or float. Torch raises an error that names two types, and not the tensors that have them.

How severe it is
    Critical, and loud: the step raises.

How it is recognised
    The step that raises is run once more, and the call that raised is seen with the type of each tensor it was given,
    the name of the parameter, and the field of the batch.

How to fix it
    Convert where the data are made: `x.float()` for inputs, `labels.long()` for classes. In mixed precision, let
    `torch.autocast` choose the types instead of calling `.half()`.

What not to do
    `model.double()`: everything takes twice the memory and more than twice the time.

How to prevent it
    Convert once, where data are loaded (`torch.as_tensor(x, dtype=torch.float32)`); NumPy makes float64 by itself. Any
    of the markers runs the real batch.

When this is wrong
    A model that is meant to compute in float64 needs its data in float64, too: convert the data, not the model.
"""

from __future__ import annotations

from ..analysis import loss_calls, raised
from ..records.errors import FailedCall, GivenTensor
from ..records.loss_functions import WITH_CLASSES
from ..records.numbers import Crash
from ..records.symptoms import CRASH
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA

GROUP = DATA
ORDER = 1
CURABLE = False
EXPLAINS = (CRASH,)

_NOT = "model.double(): everything takes twice the memory"
_WHOLE = ("int64", "int32", "int16", "int8", "uint8", "bool")
#: Functions whose first argument says which rows to take.
_LOOK_UP = ("embedding", "embedding_bag", "one_hot")
_WRITTEN = {"float32": ".float()", "float64": ".double()", "int64": ".long()", "float16": ".half()",
            "bfloat16": ".bfloat16()"}  # fmt: skip


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    crash = trace.crash
    if crash is None or raised.about(crash) != raised.TYPES or crash.seen.call is None or not crash.seen.call.given:
        return None
    call = crash.seen.call
    target = next((each for each in call.given if each.argument == "target"), None)
    if call.function in WITH_CLASSES and target is not None and target.dtype != "int64":
        return _labels(crash, call, target)
    weight = next((each for each in call.given if each.argument == "weight" and each.name), None)
    first = next((each for each in call.given if each.argument in ("input", "first", "query")), call.given[0])
    if weight is not None and weight.dtype != first.dtype:
        return _layer(crash, first, weight)
    other = next((each for each in call.given if each.dtype != first.dtype), None)
    return _one(crash, call, first) if other is None else _two(crash, call, first, other)


def _labels(crash: Crash, call: FailedCall, target: GivenTensor) -> Suspicion:
    return Suspicion(
        statement=f"{call.function} takes labels of type int64, and gets {target.dtype}",
        evidence=(Evidence(f"{_spoken(target)} of shape {target.shape} is {target.dtype}", place=crash.place),),
        why="a class is a whole number, and torch looks it up as int64",
        places=loss_calls.places(crash.place),
        fix=Fix("convert the labels where the data are made:", ("labels = labels.long()",)),
        not_this="a loss for numbers (mse_loss): classes have no order",
    )


def _layer(crash: Crash, given: GivenTensor, weight: GivenTensor) -> Suspicion:
    module = crash.seen.module
    layer = module.spoken if module is not None and not module.own else weight.name.rpartition(".")[0] or weight.name
    return Suspicion(
        statement=f"{layer} gets {given.dtype}, and its weights are {weight.dtype}",
        evidence=(
            Evidence(f"{_spoken(given)} of shape {given.shape} is {given.dtype}", place=crash.place),
            Evidence(f"{weight.name} is {weight.dtype}"),
        ),
        why="numpy computes in float64, torch in float32"
        if given.dtype == "float64"
        else "layers multiply numbers of one type",
        places=loss_calls.places(crash.place),
        fix=Fix(
            f"convert {given.name or 'its input'} where it is made:",
            (f"x = x{_WRITTEN.get(weight.dtype, '.float()')}",),
        ),
        not_this=_NOT,
    )


def _two(crash: Crash, call: FailedCall, first: GivenTensor, other: GivenTensor) -> Suspicion:
    wanted = first.dtype if first.dtype not in _WHOLE else other.dtype
    return Suspicion(
        statement=f"{call.function} is given {first.dtype} and {other.dtype}",
        evidence=(
            Evidence(f"{_spoken(first)} of shape {first.shape} is {first.dtype}", place=crash.place),
            Evidence(f"{_spoken(other)} of shape {other.shape} is {other.dtype}"),
        ),
        why=_reason(crash),
        places=loss_calls.places(crash.place),
        fix=Fix("bring both to one type where they are made:", (f"x = x{_WRITTEN.get(wanted, '.float()')}",)),
        not_this=_NOT,
    )


def _one(crash: Crash, call: FailedCall, given: GivenTensor) -> Suspicion:
    wanted = ".long()" if given.dtype not in _WHOLE and call.function in _LOOK_UP else ".float()"
    return Suspicion(
        statement=f"{call.function} does not take {given.dtype}",
        evidence=(Evidence(f"{_spoken(given)} of shape {given.shape} is {given.dtype}", place=crash.place),),
        why=_reason(crash),
        places=loss_calls.places(crash.place),
        fix=Fix("convert it first:", (f"x = x{wanted}",)),
        not_this=_NOT,
    )


def _spoken(given: GivenTensor) -> str:
    return given.name or f"the {given.argument}"


def _reason(crash: Crash) -> str:
    message = crash.first_message
    return (
        message if message[:1].isupper() and message[1:2].isupper() else message[:1].lower() + message[1:].rstrip(".")
    )
