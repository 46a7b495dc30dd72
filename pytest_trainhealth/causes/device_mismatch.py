"""device-mismatch: tensors meet that are on different devices

What happens
    The model was moved to an accelerator and a tensor was not: a field of the batch, a mask that `forward` makes, a
    table that a module keeps in a plain attribute, which `model.to(device)` does not see.

How severe it is
    Critical, and loud: the step raises.

How it is recognised
    The step that raises is run once more, and the call that raised is seen with the device of each tensor it was given,
    the name of the parameter, and the field of the batch.

How to fix it
    Make new tensors where the others are, `torch.zeros(n, device=x.device)`; keep tables with `register_buffer`; move
    every field of the batch.

What not to do
    `.cuda()` inside `forward`: the model then runs on one machine only, and copies with every step.

How to prevent it
    Make every tensor where it is used (`torch.zeros(n, device=x.device)`), register constants as buffers so that
    `.to()` moves them, and run one step on the accelerator in CI; `trains_without_nan` with `--trainhealth-device`
    does.

When this is wrong
    Numbers of no dimension may be on the CPU: torch allows it, and no error is raised.
"""

from __future__ import annotations

from ..analysis import loss_calls, raised
from ..records.errors import GivenTensor
from ..records.symptoms import CRASH
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 0
CURABLE = False
EXPLAINS = (CRASH,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    crash = trace.crash
    if crash is None or raised.about(crash) != raised.DEVICES or crash.seen.call is None:
        return None
    call = crash.seen.call
    first = next(iter(call.given), None)
    other = next((each for each in call.given if first is not None and each.device != first.device), None)
    if first is None or other is None:
        return None
    lone = _lone(call.given, first, other)
    return Suspicion(
        statement=f"{call.function} is given tensors on {first.device} and on {other.device}",
        evidence=(
            Evidence(f"{_spoken(first)} of shape {first.shape} is on {first.device}", place=crash.place),
            Evidence(f"{_spoken(other)} of shape {other.shape} is on {other.device}"),
        ),
        why=f"{_spoken(lone)} was not moved to where the others are",
        places=loss_calls.places(crash.place),
        fix=_fix(lone),
        not_this=".cuda() inside forward: the model then runs on one machine only",
    )


def _lone(given: tuple[GivenTensor, ...], first: GivenTensor, other: GivenTensor) -> GivenTensor:
    """The one that stands alone; of two, the one that is no parameter: the model is where it was moved to."""
    alike = sum(each.device == first.device for each in given)
    if alike * 2 != len(given):
        return other if alike * 2 > len(given) else first
    return other if not other.name or first.device == other.device else first if not first.name else other


def _fix(lone: GivenTensor) -> Fix:
    if lone.name.startswith("batch"):
        return Fix("move every field of the batch:", (f"{lone.name} = {lone.name}.to(device)",))
    if lone.name:
        return Fix("move the whole model before its optimizer is made:", ("model.to(device)",))
    return Fix("make new tensors where the others are:", ("torch.zeros(n, device=x.device)  # or register_buffer",))


def _spoken(given: GivenTensor) -> str:
    return given.name or f"the {given.argument}"
