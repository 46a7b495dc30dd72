"""parameters-not-in-optimizer: parameters get gradients, but no optimizer holds them

What happens
    The optimizer keeps the list of tensors it was given. A head replaced, a layer added or a model copied after that is
    unknown to it: gradients arrive and nothing moves. If the rest of the model can make up for it, the loss still falls
    and nobody notices.

How severe it is
    High: a part keeps its random start, and the rest makes up for it so well that the loss looks healthy.

How it is recognised
    A trainable parameter gets gradients, is in no parameter group and never moves. Often its gradient grows from step
    to step, because `optimizer.zero_grad()` does not reach it either; often the optimizer holds tensors that the model
    no longer has. Layers in a plain list, tuple or dict of your own modules are examined, too. The re-run adds the
    parameters to the optimizer. Where a loop updates by hand, what stands behind parameters that move and never moves
    itself in 32 steps is meant.

How to fix it
    Add what is missing to the parameter groups. What was put in later: make the optimizer after the last change to the
    model, from `model.parameters()`. Modules in a plain list or dict are not submodules: use `nn.ModuleList` or
    `nn.ModuleDict`; a plain tensor is no parameter: use `nn.Parameter`.

What not to do
    Another optimizer or more epochs: nothing reaches these parameters.

How to prevent it
    Make the optimizer last, after the last change to the model, and assert `{id(p) for g in optimizer.param_groups for
    p in g['params']}` covers `model.parameters()`; `gradients_flow` does.

When this is wrong
    If they are meant to stay fixed, say so: `requires_grad_(False)` also saves computing their gradients. A single
    module hidden in a list, or several in eval mode, are taken for teachers and left alone; so is what lies before all
    that is trained, when only a head was handed to the optimizer.
"""

from __future__ import annotations

from .. import wording
from ..analysis import wiring
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Place, Symptom
from ..records.wiring import ModuleRecord, OptimizerRecord, ParameterRecord
from . import Suspicion
from ._groups import WIRING
from ._optimizer_source import adding

GROUP = WIRING
ORDER = 4
EXPLAINS = (NOT_LEARNING, PLATEAU, INSTABILITY, EXPLOSION)
#: Times its first norm: a gradient that nothing clears. By judgement: it adds a line of evidence, and decides no
#: verdict.
_PILED_UP = 3
#: Modules that the fix names. By judgement: more lines would hide the others.
_MOST_NAMED = 3


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    orphans = wiring.orphaned(trace)
    if not orphans:
        return None
    if not trace.wiring.optimizers:
        return _left_out_by_hand(orphans, trace)
    optimizer = _optimizer_for(orphans, trace)
    late = _put_in_later(orphans[0], trace)
    names = wording.names([p.name for p in orphans])
    everything = len(orphans) == sum(p.has_gradient for p in trace.trainable)
    copy = late is None and everything and optimizer.foreign_tensors == optimizer.parameters
    hidden = list(dict.fromkeys(p.kept_in for p in orphans if p.kept_in))
    plain = bool(hidden) and all(p.plain_tensor for p in orphans)
    made_late = [p for p in orphans if p.appeared is not None]
    if plain:
        statement = f"the optimizer never updates {names}"
        why = "a plain tensor is no nn.Parameter, so model.parameters() does not include it"
    elif hidden:
        statement = f"the optimizer never updates what model.{wording.names(hidden)} holds"
        why = f"model.parameters() does not include the layers in {wording.names(hidden)}, a plain list or dict"
    elif copy:
        statement = f"{optimizer.label} holds another copy of the model"
        why = "the optimizer was made for tensors other than the model's"
    else:
        statement = f"the optimizer never updates {names}"
        why = _why(late, made_late)
    return Suspicion(
        statement=statement,
        evidence=tuple(_evidence(orphans, optimizer)),
        why=why,
        places=_places(optimizer, late),
        fix=_fix_of_hidden(hidden[0], plain) if hidden else _fix_for(orphans, trace, late, copy),
        not_this="another optimizer or more epochs: nothing reaches these parameters",
        cures=(
            Cure(
                "add_parameters",
                f"{_common(orphans)} added to the optimizer",
                {"names": [p.name for p in (*orphans, *_waiting(orphans, trace))], "to": optimizer.label},
            ),
        ),
    )


def _optimizer_for(orphans: list[ParameterRecord], trace: Trace) -> OptimizerRecord:
    """Of several, the one that steps while their gradients are there; the others clear them first."""
    known = trace.wiring.optimizers
    return known.get(orphans[0].stepped_next) or next(iter(known.values()))


def _left_out_by_hand(orphans: list[ParameterRecord], trace: Trace) -> Suspicion:
    """No optimizer of torch's is at work, and what the loop does instead moves others."""
    names, updates = wording.names([p.name for p in orphans]), wording.plural(trace.wiring.hand_updates, "update")
    return Suspicion(
        statement=f"the loop's own update never moves {names}",
        evidence=(
            Evidence(
                f"{names} ({wording.count(sum(p.size for p in orphans))} values) got gradients and stayed as they were "
                f"in {updates}, which moved {wording.plural(sum(bool(p.moved) for p in trace.trainable), 'other')}",
                float(len(orphans)),
            ),
        ),
        why="what updates the parameters does not go over all of them",
        fix=Fix("hand every parameter to whatever updates them:", ("for p in model.parameters(): ...",)),
        not_this="another rate or more epochs: nothing reaches these parameters",
    )


def _waiting(orphans: list[ParameterRecord], trace: Trace) -> list[ParameterRecord]:
    """In no optimizer either, and at a gradient of 0 for as long as the others do not move: a product with zeros."""
    known = {p.name for p in orphans}
    unheld = [p for p in trace.trainable if not p.held_by and not p.moved and p.name not in known]
    return [p for p in unheld if p.gradients and not p.has_gradient and not p.never_reached]


def _evidence(orphans: list[ParameterRecord], optimizer: OptimizerRecord) -> list[Evidence]:
    values = sum(p.size for p in orphans)
    named = ", ".join(p.name for p in orphans[:2]) + (f" and {len(orphans) - 2} more" if len(orphans) > 2 else "")
    found = [
        Evidence(
            f"{named} ({wording.count(values)} values) need gradients but are in no parameter group", float(values)
        )
    ]
    if optimizer.foreign_tensors:
        found.append(
            Evidence(
                f"{optimizer.label} holds {wording.plural(optimizer.foreign_tensors, 'tensor')} "
                f"({wording.count(optimizer.foreign_values)} values) that the model does not have",
                float(optimizer.foreign_tensors),
            )
        )
    norms = [g for _, g in sorted(orphans[0].gradients.items()) if g]
    if len(norms) > 2 and norms[-1] > _PILED_UP * norms[0]:
        found.append(
            Evidence(
                f"{orphans[0].name}.grad grew from {wording.short(norms[0])} to {wording.short(norms[-1])}: "
                "zero_grad() does not reach it either",
                norms[-1],
            )
        )
    return found


def _put_in_later(orphan: ParameterRecord, trace: Trace) -> ModuleRecord | None:
    """The outermost module on the way to it that was put in after the optimizer was made."""
    parts = orphan.module.split(".")
    paths = [".".join(parts[: n + 1]) for n in range(len(parts))]
    late = [
        trace.wiring.modules[path]
        for path in paths
        if path in trace.wiring.modules and trace.wiring.modules[path].after_optimizer
    ]
    return late[0] if late else None


def _places(optimizer: OptimizerRecord, late: ModuleRecord | None) -> tuple[Place, ...]:
    places = [optimizer.place] + ([late.place] if late else [])
    return tuple(p for p in places if p is not None)


def _why(late: ModuleRecord | None, made_late: list[ParameterRecord]) -> str:
    if made_late:
        return "they are made in the first forward pass, after the optimizer"
    return (
        f"{_called(late.path)} was replaced after the optimizer was made" if late else "they are in no parameter group"
    )


def _called(path: str) -> str:
    """In a Sequential a layer is called 2, which is no name to begin a sentence with."""
    return f"layer {path}" if path.isdigit() else path


def _fix_for(orphans: list[ParameterRecord], trace: Trace, late: ModuleRecord | None, copy: bool) -> Fix:
    optimizer = _optimizer_for(orphans, trace)
    if any(p.appeared is not None for p in orphans):
        return Fix("make the layers in __init__, or run a batch through the model before the optimizer is made:",
                   ("model(inputs)", f"optimizer = {optimizer.kind}(model.parameters(), ...)"))  # fmt: skip
    if late is not None or copy or optimizer.foreign_tensors:
        return _fix(optimizer, late)
    if orphans[0].outside_model:
        return adding(optimizer, list(dict.fromkeys(p.name.partition(".")[0] for p in orphans)), own_variable=True)
    paths = wiring.whole_modules(orphans, trace)[:_MOST_NAMED]
    parts = {path.partition(".")[0] for path in trace.wiring.modules if path}
    return adding(optimizer, paths, own_variable=bool(orphans[0].model), parts=parts)


def _fix(optimizer: OptimizerRecord, late: ModuleRecord | None) -> Fix:
    instruction = "make the optimizer after the last change to the model:"
    if late is None or late.place is None or optimizer.place is None:
        return Fix(instruction, (f"optimizer = {optimizer.kind}(model.parameters(), ...)",))
    # a list of parameters that was made before would still be the old one
    made_anew = "parameters()" in optimizer.place.code
    made = optimizer.place.code if made_anew else f"optimizer = {optimizer.kind}(model.{late.path}.parameters(), ...)"
    return Fix(instruction, (late.place.code, made))


def _fix_of_hidden(attribute: str, plain: bool) -> Fix:
    name = attribute.rpartition(".")[2]
    if plain:
        return Fix("make it an nn.Parameter:", (f"self.{name} = nn.Parameter(self.{name}.detach())",))
    return Fix("keep layers in an nn.ModuleList (or ModuleDict):", (f"self.{name} = nn.ModuleList(self.{name})",))


def _common(orphans: list[ParameterRecord]) -> str:
    tops = list(dict.fromkeys(p.name.split(".")[0] for p in orphans))
    return wording.names([_called(top) for top in tops], most=1)
