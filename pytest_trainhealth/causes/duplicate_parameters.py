"""duplicate-parameters: one gradient is used for two updates of the same parameter

What happens
    A parameter is held by two optimizers that both step after one backward pass, or is listed twice in one: it moves
    twice per step, as if its learning rate were doubled, and the state of Adam is advanced twice. The rest of the
    model moves once.

How severe it is
    High: some parameters take two steps, one of them unwanted.

How it is recognised
    A parameter that an optimizer holds twice, or that two optimizers hold, moved in both updates with no backward
    pass in between. The re-run uses each gradient once.

How to fix it
    Give each parameter to one optimizer, once: `named_parameters()` of the whole model names every tensor once, even
    where weights are tied. Parts with a learning rate of their own are groups of one optimizer.

What not to do
    Halving the learning rate: it halves that of the other parameters as well.

How to prevent it
    Build parameter groups from `named_parameters()` once, and assert that no id is there twice. `gradients_flow` looks
    at what each step moved.

When this is wrong
    Two optimizers that hold the same parameters and take turns, each after a backward pass of its own (adversarial
    autoencoders), are fine and not reported.
"""

from __future__ import annotations

from .. import wording
from ..analysis import wiring
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, INSTABILITY, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 5
EXPLAINS = (SILENT, INSTABILITY, EXPLOSION)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    twice = wiring.updated_twice(trace)
    if not twice:
        return None
    first, second = twice[0].optimizers
    names = wording.names([record.parameter for record in twice])
    alone = first == second
    them = "it" if len(twice) == 1 else "them"
    records = [
        trace.wiring.optimizers[label] for label in dict.fromkeys((first, second)) if label in trace.wiring.optimizers
    ]
    steps = ", ".join(map(str, twice[0].steps[:4]))
    fix = (
        Fix("list each tensor once: tied weights have two names", ("optimizer = SGD(model.parameters(), lr=...)",))
        if alone
        else Fix(
            f"remove {names} from {first} or {second}; for a separate learning rate, use parameter groups:",
            ('SGD([{"params": body}, {"params": head, "lr": 0.1}], lr=0.01)',),
        )
    )
    return Suspicion(
        statement=f"{names} {'is' if len(twice) == 1 else 'are'} updated twice per step",
        evidence=(
            Evidence(
                f"{wording.plural(len(twice), 'parameter')} moved in two updates after one backward pass, at steps "
                f"{steps}",
                float(len(twice)),
            ),
            *(
                Evidence(f"{r.label} holds {wording.plural(r.parameters, 'tensor')}", float(r.parameters), r.place)
                for r in records
            ),
        ),
        why=f"{first} holds {them} twice" if alone else f"{first} and {second} both hold {them}",
        places=tuple(r.place for r in records if r.place is not None),
        fix=fix,
        not_this="halving the learning rate: the other parameters would learn at half speed",
        cures=(Cure("single_updates", "each gradient used once"),),
    )
