"""unused-parameters: a module is made but never used

What happens
    The layer is in the model, its parameters are in the optimizer, and `forward` never uses it. The network that trains
    is not the intended one: smaller, without its normalisation, or with the wrong one of two heads.

How severe it is
    Low where they only cost memory, high where the layer was meant to be used.

How it is recognised
    The module never ran, or nothing uses its output, and its parameters never got a gradient, while the rest of the
    model did. Your own code made it: what an installed package makes and this task does not use is only noted.

How to fix it
    Call it in `forward`, or remove it. Look for a name used twice (`self.fc1` where `self.fc2` was meant) and for
    blocks made in a loop but not run in one.

What not to do
    `find_unused_parameters=True`, or freezing it to silence the test: the layer is still missing.

How to prevent it
    Make a layer in the commit that uses it. `gradients_flow` names those that no step reaches.

When this is wrong
    An expert, a dropped layer or a head of another task is not reported when others like it ran. A module that only
    some batches need may not have been used yet: set a higher `steps=`.
"""

from __future__ import annotations

from .. import wording
from ..analysis import unreached, wiring
from ..records.symptoms import NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import ParameterRecord
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 7
CURABLE = False
EXPLAINS = (NOT_LEARNING, PLATEAU)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if not trace.loss_connected:
        return None
    unused = [p for p in wiring.without_gradient(trace) if p.never_reached and _is_unused(p, trace)]
    if not unused:
        return None
    aside = all(unreached.thrown_away(p, trace) and not unreached.holder_is_used(p, trace) for p in unused)
    bare = all(p.outside_model or unreached.holder_is_used(p, trace) for p in unused)
    modules = wiring.whole_modules(unused, trace)
    values, others = sum(p.size for p in unused), sum(p.has_gradient for p in trace.trainable)
    places = [trace.wiring.modules[m].place for m in modules if m in trace.wiring.modules]
    return Suspicion(
        statement=f"{wording.names(modules)} {_not_used(len(modules), aside)}",
        evidence=(
            Evidence(
                f"{wording.names([p.name for p in unused])} ({wording.count(values)} values): unused in "
                f"{wording.plural(trace.steps, 'step')}",
                float(values),
            ),
            Evidence(f"{wording.plural(others, 'other parameter')} got gradients"),
        ),
        why=_why(aside, bare),
        places=tuple(p for p in places[:1] if p is not None),
        fix=_fix(aside, all(p.outside_model for p in unused), bare),
        not_this="freezing it to silence the test: the layer is still missing",
        about=tuple(p.name for p in unused),
    )


def _why(aside: bool, bare: bool) -> str:
    if aside or bare:
        return "nothing uses what it computes" if aside else "the loss does not depend on it"
    return "forward() does not call it"


def _not_used(many: int, aside: bool) -> str:
    if aside:
        return "runs, but its output is thrown away" if many == 1 else "run, but their output is thrown away"
    return f"{wording.is_or_are(many)} made but never used"


def _fix(aside: bool, outside: bool, bare: bool) -> Fix:
    if aside:
        return Fix("use what it computes; in a loop over layers, each output goes into the next:", ("x = layer(x)",))
    if outside:
        return Fix("use it in the loss with its graph (no detach()), or take it out of the optimizer")
    return Fix(f"{'use' if bare else 'call'} it in forward(), or remove it from the model")


def _is_unused(parameter: ParameterRecord, trace: Trace) -> bool:
    siblings_have_gradients = any(p.has_gradient for p in trace.trainable if p.module == parameter.module)
    if wiring.did_not_run(parameter, trace) or siblings_have_gradients or unreached.thrown_away(parameter, trace):
        return True
    return parameter.outside_model and parameter.in_graph is False and not unreached.graph_ends_of(parameter, trace)
