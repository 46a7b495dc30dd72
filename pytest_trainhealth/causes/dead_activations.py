"""dead-activations: units output 0 for every sample

What happens
    A rectifier whose input is negative for every sample outputs 0 and passes back no gradient, so nothing before it
    ever changes again. A layer of such units cuts the model in two; only biases after it still learn.

How severe it is
    High: units are lost for good.

How it is recognised
    At the first step, nearly all units of an activation are 0 for every sample of the batch. The re-run draws new
    weights for the layers, with zero biases and a scale measured on the batch; then it lets the rectifiers leak. Where
    the activation overwrites its input, as `nn.ReLU(inplace=True)` does, it first lets it leave the input as it is: in
    `cat([act(x), act(-x)])` the second call would find nothing below 0.

How to fix it
    Look at the initialisation (a large negative bias, weights far too large), at inputs far from zero, and at a
    rectifier where none belongs (on the output, or two in a row). `LeakyReLU` or `GELU` keep a gradient alive.

What not to do
    More units or more epochs: a dead unit gets no gradient to recover with.

How to prevent it
    Moderate rates, warm-up, no large negative biases; GELU or leaky ReLU where it happens again. `gradients_flow`
    counts units that are never on.

When this is wrong
    Sparse activations are healthy: half of all units at 0 for one sample is usual. Only units that are 0 for *every*
    sample count, and only when nearly all of a layer are.
"""

from __future__ import annotations

from .. import wording
from ..analysis.history_faults import first_fault
from ..analysis.history_roles import Roles
from ..records.history import History
from ..records.intervention import Cure
from ..records.symptoms import NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import NUMBERS
from ._in_histories import places

GROUP = NUMBERS
ORDER = 4
EXPLAINS = (NOT_LEARNING, PLATEAU, SILENT)

#: At the first step of the 192 healthy programs: at most 38 % of a layer, and 53 % where the batch is one sample.
_NEARLY_ALL = 0.9
#: That a whole function is silent for ever is said after this many looks. By judgement: steps 0, 1, 2 and 4.
_LOOKS = 4
#: Validations in a log, all with the same accuracy. By judgement: as many as a shape needs.
_ENTRIES = 10
#: New weights do not help: what goes in is below 0 by its nature (logarithms of probabilities, distances).
_KEPT = Fix("let the rectifier leave its input as it is:", ("nn.ReLU(inplace=False)",))
_NO_RECTIFIER = Fix("remove the rectifier where its input is never above 0, or use nn.LeakyReLU")


def in_history(history: History, symptom: Symptom) -> Suspicion | None:
    """The same answer for every sample, at every validation, though the weights move.

    An accuracy of exactly 1 / k each time is that of a model that always gives one class. A validation set never
    changes, so a validation loss that does shows that weights move: those after the place where the inputs get lost.
    """
    fault, roles = first_fault(history), Roles(history)
    score, loss = roles.val_score, roles.val_loss
    if fault is None or fault.kind not in ("still", "chance") or score is None or loss is None:
        return None
    if len(score) < _ENTRIES or len(set(score.values)) > 1 or len(set(loss.values)) < _ENTRIES // 2:
        return None
    low, high = min(loss.values), max(loss.values)
    return Suspicion(
        statement="the model gives one and the same answer for every sample",
        evidence=(
            *fault.evidence,
            Evidence(f"{score.name} is {wording.short(score.values[0])} at all of {len(score)} validations"),
            Evidence(f"{loss.name} moves between {low:.5g} and {high:.5g}: weights change, and what they get does not"),
        ),
        certainty="possible",
        why="somewhere on the way the inputs get lost: units are 0 for every sample, or saturated",
        places=places(fault),
        fix=Fix("run gradients_flow on the training: it names the layer"),
        not_this="more units or more epochs: a dead unit gets no gradient to recover with",
    )


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    dead = [a for a in trace.numbers.activations.values() if a.dead and a.dead.get(0, 0.0) >= _NEARLY_ALL]
    if symptom.category == SILENT and (trace.probe is None or not trace.probe.ignored):
        # of what is silently wrong, dead units explain an input without influence, and parts that do nothing at all
        dead = [a for a in dead if len(a.dead) >= _LOOKS and min(a.dead.values()) == 1]
    if not dead:
        return None
    worst = dead[0]
    where = worst.module or "the model"
    evidence = [
        Evidence(
            f"{worst.function} in {where}: {wording.share(worst.dead[0])} of {worst.units} units are 0 for every "
            "sample at step 0",
            worst.dead[0],
            worst.place,
        )
    ]
    if worst.in_place:
        evidence.append(Evidence(f"{where} writes its result into its input (inplace=True), for whoever reads it next"))
    silent = [p.name for p in trace.trainable if p.gradients and not p.has_gradient]
    if silent:
        evidence.append(Evidence(f"{wording.names(silent)} got no gradient or one of exactly 0"))
    return Suspicion(
        statement=f"{worst.function} in {where} is 0 for every sample",
        evidence=tuple(evidence),
        why="its inputs are negative for every sample, so it passes no gradient back",
        places=() if worst.place is None else (worst.place,),
        fix=Fix("look at the initialisation of the layer before it (bias, scale), or use nn.LeakyReLU"),
        not_this="more units or more epochs: a dead unit gets no gradient to recover with",
        cures=(
            *((Cure("out_of_place", "inplace=False", fix=_KEPT),) if worst.in_place else ()),
            Cure("reinitialise", "layers re-initialised"),
            Cure("leaky_rectifiers", "rectifiers that leak", fix=_NO_RECTIFIER),
        ),
    )
