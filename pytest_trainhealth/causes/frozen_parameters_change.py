"""frozen-parameters-change: frozen parts move anyway

What happens
    `requires_grad=False` keeps gradients away, nothing else. An optimizer that holds a frozen parameter whose `.grad`
    is still there (zeros included) goes on with weight decay and momentum. Gradients set to 0, by hand or by a hook, do
    not keep a parameter in place either: weight decay needs none. A BatchNorm in training mode updates its running
    statistics whether its parameters are frozen or not: a backbone that was meant to stay as pretrained drifts away.

How severe it is
    High: a pretrained part drifts away, unnoticed.

How it is recognised
    A parameter with `requires_grad=False` moved inside an optimizer's step, or the running mean of a pretrained
    BatchNorm moved although it and the layer before it are frozen. Or gradients that backward() computed were always
    exactly 0 when an optimizer with weight decay got them, and the parameters moved; or those of some rows of an
    embedding were, always of the same. The re-run keeps all of these as they are.

How to fix it
    Parameters: `parameter.grad = None` when freezing, and give the optimizer only what should learn. BatchNorm:
    `backbone.eval()` after each `model.train()`, most safely in the model's own `train()`.

What not to do
    A learning rate of 0 for the frozen part: the statistics keep drifting.

How to prevent it
    Hand the optimizer only what is to be trained, and put frozen parts into `eval()`: weight decay, momentum and
    running statistics need no gradient. `gradients_flow` compares frozen parts before and after.

When this is wrong
    Copies that are moved by hand (an averaged teacher, a target network), BatchNorms that have no statistics yet, and
    those whose own weights learn are not reported. Statistics that should adapt to new data while all weights stay
    frozen are the one case that looks the same.
"""

from __future__ import annotations

from .. import wording
from ..analysis import wiring
from ..records.intervention import Cure
from ..records.symptoms import NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import FrozenChange
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 13
EXPLAINS = (SILENT, NOT_LEARNING, PLATEAU)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    moved = wiring.frozen_moved(trace)
    if not moved:
        zeroed = wiring.zeroed_moved(trace)
        return _zeroed(trace, zeroed) if zeroed else _rows(trace)
    return _statistics(moved) if moved[0].by == "statistics" else _parameters(trace, moved)


def _statistics(moved: list[FrozenChange]) -> Suspicion:
    norms = [record.name for record in moved if record.by == "statistics"]
    part = norms[0].rpartition(".")[0] or norms[0]
    return Suspicion(
        statement=f"{wording.names(norms)} {'is frozen, but its' if len(norms) == 1 else 'are frozen, but their'} "
        "statistics move",
        evidence=(
            Evidence(
                f"running_mean of {wording.plural(len(norms), 'BatchNorm')} moved at steps "
                f"{', '.join(map(str, moved[0].steps))}; all parameters there have requires_grad=False",
                float(len(norms)),
            ),
        ),
        why="a BatchNorm in training mode follows the batches, frozen or not",
        fix=Fix("keep the frozen part in eval mode, after each model.train()", (f"model.{part}.eval()",)),
        not_this="a learning rate of 0 for that part: its statistics keep drifting",
        cures=(Cure("keep_frozen", "frozen part in eval mode", {"names": norms}),),
    )


def _parameters(trace: Trace, moved: list[FrozenChange]) -> Suspicion:
    names = [record.name for record in moved if record.by != "statistics"]
    label = moved[0].by
    optimizer = trace.wiring.optimizers.get(label)
    place = optimizer.place if optimizer is not None else None
    return Suspicion(
        statement=f"{wording.names(names)} {'is' if len(names) == 1 else 'are'} frozen, but {label} moves "
        f"{'it' if len(names) == 1 else 'them'} anyway",
        evidence=(
            Evidence(
                f"{wording.plural(len(names), 'parameter')} with requires_grad=False moved in the step of {label}, at "
                f"steps {', '.join(map(str, moved[0].steps[:4]))}",
                float(len(names)),
                place,
            ),
            Evidence("a gradient from before the freezing, or zeros, is still there: momentum and decay continue"),
        ),
        why="an optimizer skips parameters whose .grad is None, not frozen ones",
        places=() if place is None else (place,),
        fix=Fix(
            "give the optimizer only what should learn, or remove the gradients:",
            ("optimizer.zero_grad(set_to_none=True)",),
        ),
        not_this="a learning rate of 0 alone: the remaining gradient comes back with the next schedule",
        cures=(Cure("keep_frozen", "frozen parameters skipped", {"names": []}),),
    )


def _zeroed(trace: Trace, moved: list[FrozenChange]) -> Suspicion:
    names, label = [record.name for record in moved], moved[0].by
    optimizer = trace.wiring.optimizers.get(label)
    place = optimizer.place if optimizer is not None else None
    decay = optimizer.weight_decay if optimizer is not None else 0.0
    them = "it" if len(names) == 1 else "them"
    return Suspicion(
        statement=f"the gradients of {wording.names(names)} are set to 0, and the weight decay of {label} moves {them}",
        evidence=(
            Evidence(
                f"{wording.plural(len(names), 'parameter')} had a gradient after backward() and exactly 0 in the step "
                f"of {label}, and moved, at steps {', '.join(map(str, moved[0].steps[:4]))}",
                float(len(names)),
            ),
            Evidence(f"{label} has weight_decay={decay:g}", decay, place),
        ),
        why="weight decay shrinks whatever has a .grad, zeros included",
        places=() if place is None else (place,),
        fix=Fix(
            "freeze before the optimizer is made, and give it only what should learn:",
            (f"{_part(names)}.requires_grad_(False)",),
        ),
        not_this="gradients multiplied by 0: weight decay and momentum continue",
        cures=(Cure("keep_frozen", "frozen parameters skipped", {"names": [], "zeroed": names}),),
    )


def _rows(trace: Trace) -> Suspicion | None:
    record = wiring.zeroed_rows_moved(trace)
    if record is None:
        return None
    optimizer = trace.wiring.optimizers.get(record.by)
    place = optimizer.place if optimizer is not None else None
    module = record.name.rpartition(".")[0] or "embedding"
    return Suspicion(
        statement=f"{record.by} moves rows of {record.name} whose gradients are set to 0",
        evidence=(
            Evidence(
                f"{record.rows} of {wording.plural(record.of, 'row')} had a gradient after backward() and exactly 0 in "
                f"the step of {record.by}, and moved, at steps {', '.join(map(str, record.steps[:4]))}",
                float(record.rows),
                place,
            ),
            Evidence("the same rows each time: they are meant to stay as they are"),
        ),
        why="weight decay shrinks whatever has a .grad, zeros included",
        places=() if place is None else (place,),
        fix=Fix(
            "no weight decay for this embedding, in a group of its own:",
            (f'{{"params": [model.{module}.weight], "weight_decay": 0.0}},',),
        ),
        not_this="gradients multiplied by 0 alone: weight decay goes on",
        cures=(Cure("keep_frozen", "these rows kept as they are", {"names": [], "rows": [record.name]}),),
    )


def _part(names: list[str]) -> str:
    """What they have in common, as the user writes it: `model.trunk` for trunk.0.weight and trunk.2.weight."""
    shared: list[str] = []
    for parts in zip(*(name.split(".") for name in names), strict=False):
        if len(set(parts)) > 1 or not parts[0].isidentifier():
            break
        shared.append(parts[0])
    return ".".join(("model", *shared)) if shared else "parameter"
