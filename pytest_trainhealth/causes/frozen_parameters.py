"""frozen-parameters: requires_grad is False where the model has to learn

What happens
    Parameters with `requires_grad=False` get no gradient and stay as they are. What is left of the model is too
    little to learn the task, or nothing at all.

How severe it is
    High: what should learn does not.

How it is recognised
    The training cannot memorise one batch, and part of the model is frozen. The re-run unfreezes it and gives it to the
    optimizer; when that memorises the batch, the freezing was in the way. What the step itself freezes (the
    discriminator during the generator's turn) and never unfreezes shows when its optimizer steps.

How to fix it
    Unfreeze what has to learn, `module.requires_grad_(True)`, before the optimizer is made, and look where it was
    frozen: a helper that freezes "all but the head" by name often misses a renamed head.

What not to do
    A higher learning rate for the few parameters that still train.

How to prevent it
    Freeze in one named function, and assert what is trainable after it: `sum(p.requires_grad for p in
    model.parameters())`. `gradients_flow` says what stays; say what is frozen on purpose.

When this is wrong
    Freezing on purpose (transfer learning, adapters, target networks) is not a fault and never reported while the
    training still learns. What is frozen beside adapters (LoRA, prompts) is never to blame, except an output layer for
    the task that the adapters do not train.
"""

from __future__ import annotations

from .. import wording
from ..analysis import adapters, wiring
from ..records.intervention import Cure
from ..records.symptoms import NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import ParameterRecord
from . import Suspicion, bad_initialization
from ._groups import WIRING

GROUP = WIRING
ORDER = 12
EXPLAINS = (NOT_LEARNING, PLATEAU)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    late = [p for p in trace.trainable if p.frozen_since is not None and p.never_reached and p.held_by and not p.moved]
    if late:
        return _frozen_on_the_way(late)
    if wiring.zero_products(trace):
        return None  # what may learn cannot begin: unfreezing the rest would only go around it
    if adapters.has_adapters(trace):  # what is beside them was frozen by whoever put them in
        head = adapters.left_out(trace)
        return _head_left_out(head) if head else None
    frozen = [p for p in trace.frozen if not p.moved]
    if not frozen or any(not p.never_reached for p in bad_initialization.stay_equal(trace)):
        return None  # what may learn cannot begin: unfreezing the rest would only go around it
    values, total = sum(p.size for p in frozen), sum(p.size for p in trace.wiring.parameters.values())
    everything, part_of_all = not trace.trainable, values / max(total, 1)
    names = [p.name for p in frozen]
    part = "every parameter" if everything else f"{wording.names(names)}"
    return Suspicion(
        statement=f"{part} {'is' if everything or len(names) == 1 else 'are'} frozen",
        evidence=(
            Evidence(
                f"{wording.count(values)} of {wording.count(total)} values ({wording.share(part_of_all)}) have "
                "requires_grad=False",
                part_of_all,
            ),
            Evidence(
                f"{len(trace.trainable)} of {wording.plural(len(trace.wiring.parameters), 'parameter')} can learn"
            ),
        ),
        certainty="likely" if everything else "possible",
        why="requires_grad is False where the training has to learn",
        fix=Fix("unfreeze what has to learn, before the optimizer is made", ("model.requires_grad_(True)",)),
        not_this="a higher learning rate for the rest",
        cures=(Cure("add_parameters", f"{wording.names(names, most=1)} unfrozen", {"names": names}),),
    )


def _head_left_out(head: list[ParameterRecord]) -> Suspicion:
    names, modules = [p.name for p in head], list(dict.fromkeys(p.module for p in head))
    layers = ", ".join(f'"{module.rpartition(".")[2]}"' for module in modules)
    return Suspicion(
        statement=f"{wording.names(names)} {wording.is_or_are(len(names))} frozen, an output layer beside adapters",
        evidence=(
            Evidence(
                f"{wording.count(sum(p.size for p in head))} values behind the last block have requires_grad=False",
                float(sum(p.size for p in head)),
            ),
        ),
        certainty="possible",
        why="the adapters learn, and an output layer that is new to the model does not",
        fix=Fix("let the output layer learn with the adapters:", (f"LoraConfig(..., modules_to_save=[{layers}])",)),
        not_this="unfreezing the base model: it is frozen on purpose",
        cures=(Cure("add_parameters", f"{wording.names(names, most=1)} unfrozen", {"names": names}),),
    )


def _frozen_on_the_way(late: list[ParameterRecord]) -> Suspicion:
    names = [p.name for p in late]
    step = min(p.frozen_since or 0 for p in late)
    return Suspicion(
        statement=f"{wording.names(names)} {'is' if len(names) == 1 else 'are'} frozen by the step itself",
        evidence=(
            Evidence(
                f"{wording.plural(len(late), 'parameter')} could learn at the start, and had requires_grad=False when "
                f"the optimizer stepped at step {step} and ever since",
                float(len(late)),
            ),
            Evidence(
                f"{wording.names(list(dict.fromkeys(o for p in late for o in p.held_by)))} got no gradient from them"
            ),
        ),
        why="requires_grad is False where the training has to learn",
        fix=Fix("unfreeze them again before their own forward pass:", ("discriminator.requires_grad_(True)",)),
        not_this="more steps or another optimizer: there is no gradient to step along",
        cures=(Cure("unfrozen", f"{wording.names(names, most=1)} unfrozen in time", {"names": names}),),
    )
