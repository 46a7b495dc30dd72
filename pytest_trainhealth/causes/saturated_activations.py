"""saturated-activations: sigmoid or tanh units sit at their limits from the start

What happens
    Near its limits a sigmoid or tanh is flat: whatever the input, the output is the same, and almost no gradient comes
    back. Everything before such units stays as it was at the start.

How severe it is
    High: gradients are 0 before the first step.

How it is recognised
    At the first step, before anything was learnt, more than half of the values of an activation function lie within 1 %
    of its limits. The re-run draws new weights, with zero biases and scaled so that each layer's outputs have unit
    variance; where that does not help (a factor after the layers), another divides the function's input by its size at
    the first step.

    A softmax between two layers counts, too: it shares 1 among its units. The re-run puts a rectifier in its place.

How to fix it
    Look at the function's input: a sum over many values where a mean was meant, a factor or temperature, a large
    constant bias. Put a normalisation layer before it, or use a ReLU-like function inside the model.

What not to do
    A higher learning rate or more epochs: there is no gradient to follow.

How to prevent it
    Standardise inputs, keep a norm in front of sigmoid and tanh, or use ReLU and GELU inside. `gradients_flow` shows
    layers without a gradient.

When this is wrong
    Gates may sit at a limit on purpose (an LSTM's forget gate starts open), and outputs get there once they have
    learnt: only the first step counts. Inputs or weights far out of scale are reported as such, because they come
    first.
"""

from __future__ import annotations

from .. import wording
from ..analysis import data_scale
from ..records.intervention import Cure
from ..records.numbers import ActivationRecord
from ..records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import NUMBERS

GROUP = NUMBERS
ORDER = 2
EXPLAINS = (NOT_LEARNING, PLATEAU, INSTABILITY)

#: At the first step of the 257 healthy programs: at most 6 % of the values of any one function.
_MOST_VALUES = 0.5


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    return _at_the_limits(trace) or _shares(trace)


def _shares(trace: Trace) -> Suspicion | None:
    """A softmax between two layers: with many units all its outputs are near 0, and they are tied to one another."""
    hidden = {key: a for key, a in trace.numbers.activations.items() if a.function == "softmax" and a.feeds}
    if not hidden:
        return None
    first = next(iter(hidden.values()))
    where = first.module or "the model"
    return Suspicion(
        statement=f"a softmax in {where} stands between two layers",
        evidence=(
            Evidence(
                f"softmax in {where} shares 1 among {wording.plural(first.units, 'unit')}, about "
                f"{wording.short(1 / first.units)} each, and {first.feeds} multiplies that with its weights",
                1 / first.units,
                first.place,
            ),
        ),
        why="its outputs are near 0 and sum to 1: hardly anything of the input gets through, or of the gradient back",
        places=() if first.place is None else (first.place,),
        fix=Fix("use a ReLU-like function between layers, and a softmax for probabilities only"),
        not_this="more units: the same 1 is shared among more of them",
        cures=(Cure("rectified_softmaxes", "a rectifier instead of the softmax", {"calls": list(hidden)}),),
    )


def _at_the_limits(trace: Trace) -> Suspicion | None:
    stuck = [a for a in _until_dead(trace) if a.saturated.get(0, 0.0) >= _MOST_VALUES]
    if not stuck or data_scale.inputs_off_scale(trace):
        return None
    worst = max(stuck, key=lambda a: a.saturated[0])
    where = worst.module or "the model"
    silent = [p.name for p in trace.trainable if p.gradients and not p.has_gradient]
    return Suspicion(
        statement=f"{worst.function} in {where} sits at its limits from the start",
        evidence=(
            *(_evidence(a) for a in stuck[:2]),
            *((Evidence(f"{wording.names(silent)} got no gradient or one of exactly 0"),) if silent else ()),
        ),
        why="its inputs are so large that it is flat there: almost no gradient comes back",
        places=() if worst.place is None else (worst.place,),
        fix=Fix(
            f"bring the input of {worst.function} to around 0, with a spread of about 1 (its bias, a mean instead of a "
            "sum, a normalisation)"
        ),
        not_this="a higher learning rate or more epochs: the gradient is missing",
        cures=(
            Cure("reinitialise", "layers re-initialised"),
            Cure("unsaturated", f"input of {worst.function} scaled to a size of 1"),
        ),
    )


def _until_dead(trace: Trace) -> list[ActivationRecord]:
    """In the order of their calls, up to units that are 0 for every sample: what follows gets the same each time."""
    found = []
    for activation in trace.numbers.activations.values():
        if activation.dead.get(0, 0.0) == 1:
            break
        found.append(activation)
    return found


def _evidence(activation: ActivationRecord) -> Evidence:
    share = activation.saturated[0]
    where = activation.module or "the model"
    summary = (
        f"{activation.function} in {where}: {wording.share(share)} of its values are within 1 % of its limits at step 0"
    )
    return Evidence(summary, share, activation.place)
