"""unused-parameters: a module is made but never called

What happens
    The layer is in the model, its parameters are in the optimizer, and `forward` never uses it. The network that trains
    is not the intended one: smaller, without its normalisation, or with the wrong one of two heads.

How it is recognised
    The module never ran and its parameters never got a gradient, while the rest of the model did. It was made by a
    class of your own: what an installed package makes and this task does not use is only noted.

How to fix it
    Call it in `forward`, or remove it. Look for a name used twice (`self.fc1` where `self.fc2` was meant) and for
    blocks made in a loop but not run in one.

What not to do
    `find_unused_parameters=True`, or freezing it to silence the test: the layer is still missing.

When this is wrong
    An expert, a dropped layer or a head of another task is not reported when others like it ran. A module that only
    some batches need may not have been used yet: set a higher `steps=`.
"""

from __future__ import annotations

from .. import wording
from ..analysis import wiring
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
    modules = list(dict.fromkeys(p.module if wiring.did_not_run(p, trace) else p.name for p in unused))
    values, others = sum(p.size for p in unused), sum(p.has_gradient for p in trace.trainable)
    places = [trace.wiring.modules[m].place for m in modules if m in trace.wiring.modules]
    return Suspicion(
        statement=f"{wording.names(modules)} {'is' if len(modules) == 1 else 'are'} made but never used",
        evidence=(
            Evidence(
                f"{wording.names([p.name for p in unused])} ({wording.count(values)} values): unused in "
                f"{wording.plural(trace.steps, 'step')}",
                float(values),
            ),
            Evidence(f"{wording.plural(others, 'other parameter')} got gradients"),
        ),
        why="forward() does not call it",
        places=tuple(p for p in places[:1] if p is not None),
        fix=Fix("call it in forward(), or remove it from the model"),
        not_this="freezing it to silence the test: the layer is still missing",
    )


def _is_unused(parameter: ParameterRecord, trace: Trace) -> bool:
    siblings_have_gradients = any(p.has_gradient for p in trace.trainable if p.module == parameter.module)
    return wiring.did_not_run(parameter, trace) or siblings_have_gradients
