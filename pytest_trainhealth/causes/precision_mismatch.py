"""precision-mismatch: in 16 bits the training is another one than in float32

What happens
    bfloat16 has 8 bits for the digits of a number, float16 has 11 and a small range. Sums of many values, differences
    of large ones, large inputs that differ a little, and weights whose updates are small all lose what matters. The
    loss falls, but not as it does in float32, or not at all.

How severe it is
    High: the cheaper training is another one, and worse.

How it is recognised
    The same steps in float32 have another first gradient, or take the loss much further. The outputs of the layers in
    the first step are compared: the first one that is off by far more than what came in is named. The re-run computes
    that layer in float32; another one computes everything in it.

How to fix it
    Keep the layer in float32: `with torch.autocast(device, enabled=False)` and `.float()` for its inputs. Normalise
    inputs before they are rounded. Keep the weights in float32 and use autocast, instead of `model.bfloat16()`.

What not to do
    A smaller learning rate: rounding takes small updates first.

How to prevent it
    Keep reductions, norms, losses and weights in float32; autocast the rest. `keeps_precision` compares curve and
    direction, layer by layer.

When this is wrong
    Where the difference does not matter to you: a run with another precision may take another way to the same end.
"""

from __future__ import annotations

from .. import wording
from ..analysis.half_precision import direction, first_to_leave, own_precision, pair, vanished
from ..records.intervention import Cure
from ..records.symptoms import UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import STATE

GROUP = STATE
ORDER = 16
EXPLAINS = (UNEQUAL,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    whole, low = pair(trace)
    a = None if whole is None else whole.state.precision
    b = None if low is None else low.state.precision
    if whole is None or low is None or a is None or b is None:
        return None
    if any(half.overflow for half in low.numbers.halves.values()) or vanished(a, b):
        return None  # low-precision-overflow says which operation, or which gradients
    name = own_precision(low) or "16 bits"
    found = first_to_leave(a.layers, b.layers)
    cosine = direction(a.gradients, b.gradients)
    evidence = [
        Evidence(
            f"from {wording.loss(whole.losses[0])}, the loss goes to {wording.loss(whole.losses[-1])} in float32 and "
            f"to {wording.loss(low.losses[-1])} in {name}",
            low.losses[-1],
        )
    ]
    if cosine is not None:
        evidence.append(Evidence(f"the first gradients have a cosine of {wording.short(cosine)}", cosine))
    cures = [Cure("float32", "float32")]
    fix = Fix("compute in float32 what 16 bits cannot hold, or keep the weights in float32 and use autocast")
    statement = f"in {name} the training is another one than in float32"
    if found is not None:
        layer, error = found
        statement = f"{layer.name} ({layer.kind}) does not keep its precision in {layer.dtype}"
        evidence.insert(
            0, Evidence(f"the output of {layer.name} is off by {wording.share(error)}, its inputs are not", error)
        )
        fix = Fix(
            f"compute {layer.name} in float32, or make its inputs smaller before they are rounded:",
            ("with torch.autocast(device, enabled=False):", f"    x = self.{layer.name}(x.float())"),
        )
        cures.insert(0, Cure("layers_in_float32", f"{layer.name} in float32", {"names": [layer.name]}, fix))
    return Suspicion(
        statement=statement,
        evidence=tuple(evidence),
        why=f"{name} keeps {'11' if name == 'float16' else '8'} bits of each number",
        fix=fix,
        not_this="a smaller learning rate: rounding takes small updates first",
        cures=tuple(cures),
    )
