"""bad-momentum: momentum, betas or eps of the optimizer make no sense

What happens
    Momentum m makes each gradient count for 1 / (1 - m) steps: 10 at 0.9, 1,000 at 0.999. A training with momentum
    0.999 flies past its valley again and again. The other way round, a second beta of 0.1 makes Adam follow all the
    noise, and a large eps takes away its sense of scale, so that it hardly moves.

How severe it is
    High: the optimizer overshoots, or never gets going.

How it is recognised
    The settings of the optimizer: momentum or a first beta of 0.99 or more, a second beta below 0.5, eps of 0.01 or
    more. The usual values are 0.9, (0.9, 0.999) and 1e-8. The re-run uses these.

How to fix it
    Go back to the defaults. If both betas are far off, check whether they are in the wrong order.

What not to do
    A lower learning rate: it would have to be lower by the same factor of a hundred, and then it crawls.

How to prevent it
    Keep the defaults, and name settings when you change them (`betas=(0.9, 0.95)`): positions are easily swapped.
    `learns_from_data` tries the defaults beside yours.

When this is wrong
    Large batches and long trainings are sometimes run with 0.99; where a re-run with the usual value is no better,
    nothing is reported.
"""

from __future__ import annotations

from .. import wording
from ..analysis import learning_rates
from ..analysis.learning_rates import OddSetting
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import RATES, Stage

GROUP = RATES
#: Beyond sense whatever the learning rate: every check may name it, and it is tried before the rates.
STAGE = Stage.NUMBERS
ORDER = 18
EXPLAINS = (INSTABILITY, EXPLOSION, NOT_LEARNING, PLATEAU)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    odd = learning_rates.odd_setting(trace)
    return None if odd is None else _suspicion(trace, odd)


def swap(trace: Trace, symptom: Symptom) -> Suspicion | None:
    """Any momentum, betas or eps other than the usual ones."""
    odd = learning_rates.unusual_setting(trace)
    return None if odd is None else _suspicion(trace, odd)


def _suspicion(trace: Trace, odd: OddSetting) -> Suspicion:
    record, value = odd.optimizer, wording.short(odd.value)
    evidence = [Evidence(f"{record.label} has {odd.name} = {value} (usual: {odd.usual})", odd.value, record.place)]
    if odd.name in ("momentum", "betas[0]") and odd.value < 1:
        steps = round(1 / (1 - odd.value))
        evidence.append(
            Evidence(f"each gradient counts for some {wording.count(steps)} steps (usual: 10)", float(steps))
        )
    if learning_rates.wrong_way_round(trace):
        second = wording.short(record.settings["betas[1]"])
        evidence.append(Evidence(f"betas[1] = {second} is smaller: they seem to be the wrong way round"))
    given = ", ".join(f"{name}={setting!r}" for name, setting in odd.instead.items())
    return Suspicion(
        statement=f"{record.label} with {odd.name} = {value} cannot settle"
        if odd.name != "eps"
        else f"{record.label} with eps = {value} hardly moves",
        evidence=tuple(evidence),
        why=_why(odd.name),
        places=() if record.place is None else (record.place,),
        fix=Fix("use the usual value:", (f"{record.kind}(model.parameters(), lr=..., {given})",)),
        not_this="a lower learning rate",
        cures=(Cure("optimizer_settings", given.replace("=", " = "), {"values": odd.instead}),),
    )


def _why(name: str) -> str:
    if name == "eps":
        return "eps is added to the size of the gradient, and is far larger"
    if name == "betas[1]":
        return "the size of the gradient is estimated from a step or two, and follows their noise"
    if name == "dampening":
        return "the gradient hardly gets into the momentum"
    return "old steps keep pushing long after the valley has been passed"
