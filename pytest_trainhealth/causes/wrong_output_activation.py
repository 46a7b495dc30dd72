"""wrong-output-activation: the last activation function cannot reach the targets

What happens
    A ReLU at the end cannot be negative, a sigmoid stays between 0 and 1, a tanh between -1 and 1; a softmax over a
    single value is always 1, and one over labels that may be true together cannot give each of them a 1. Targets
    outside that range are out of reach: the loss stops where the function ends. In front of `cross_entropy` a bounded
    function keeps the scores so close together that no class can win.

How severe it is
    High: some targets cannot be reached, whatever is learnt.

How it is recognised
    At the first steps the output is traced back to the activation function that produced it, and the targets are
    compared with that function's range. The re-run leaves it out. A generator's output is compared with the data that
    its adversary gets along with it.

How to fix it
    Remove the last activation function, or scale the targets into its range.

What not to do
    Deeper models or more epochs: the range stays.

How to prevent it
    Choose the last activation by the range of the targets, and assert that range where they are loaded.
    `overfits_one_batch` shows what cannot be reached.

When this is wrong
    A bounded output is right where the targets lie inside its bounds; nothing is reported then.
"""

from __future__ import annotations

from math import inf

from .. import wording
from ..analysis import loss_calls
from ..records.intervention import Cure
from ..records.loss_functions import BOUNDED, RANGES, RECURRENT
from ..records.losses import GeneratorRange, LossCall
from ..records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Place, Symptom
from . import Suspicion
from ._groups import LOSS

GROUP = LOSS
ORDER = 10
EXPLAINS = (NOT_LEARNING, PLATEAU, INSTABILITY, SILENT)


def _gives(low: float, high: float) -> str:
    if high == inf:
        return f"nothing below {low:g}"
    return f"nothing above {high:g}" if low == -inf else f"only {low:g} to {high:g}"


_GIVES = {name: _gives(*values) for name, values in RANGES.items()}


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    for call in trace.loss.calls:
        if call.activation == "softmax" and call.over == 1 and not call.error:
            return _always_one(trace, call)
        if loss_calls.shares_one(call):
            return _one_for_all(trace, call)
        if (
            call.function in loss_calls.REGRESSIONS
            and call.unreachable > loss_calls.OUT_OF_REACH
            and call.activation in _GIVES
        ):
            return _out_of_reach(trace, call)
        if call.function == "cross_entropy" and call.activation in BOUNDED - {"softmax"} and call.classes != 1:
            return _scores(trace, call)
        if call.function == "binary_cross_entropy_with_logits" and call.activation in ("relu", "tanh", "softsign"):
            return _scores(trace, call)
    unlike = loss_calls.cannot_imitate(trace)
    return _unlike_the_data(trace, unlike) if unlike is not None and symptom.category == SILENT else None


SWAPS = "model"


def swap(trace: Trace, symptom: Symptom) -> Suspicion | None:
    """The output may come out of something bounded that is no activation function: a recurrent layer's state."""
    call = next((c for c in trace.loss.calls if c.function in loss_calls.REGRESSIONS and c.sole), None)
    if call is None or call.input.low < call.target.low or call.input.high > call.target.high:
        return None
    return Suspicion(
        statement="the output cannot reach the targets",
        evidence=(
            Evidence(
                f"the targets lie {loss_calls.between(call.target.low, call.target.high)}, the outputs at the start "
                f"{loss_calls.between(call.input.low, call.input.high)}",
                call.input.high,
                call.place,
            ),
            Evidence("stretched and shifted by factors that are learnt, the same output does reach them"),
        ),
        why="the output comes straight from something bounded, such as the state of a recurrent layer",
        places=loss_calls.places(call.place),
        fix=Fix("put a linear layer at the end:", ("self.head = nn.Linear(hidden, outputs)",)),
        not_this="a deeper model or more epochs: the range stays",
        cures=(Cure("stretched_output", "output stretched by learnt factors"),),
    )


def _out_of_reach(trace: Trace, call: LossCall) -> Suspicion:
    made, where = loss_calls.made_at(call, trace), _where(call)
    return _suspicion(
        call,
        f"{call.activation} gives {_GIVES[call.activation]}, but the targets lie elsewhere",
        (
            Evidence(f"the output comes from {call.activation}{where}: {_GIVES[call.activation]}", place=made),
            Evidence(
                f"the targets lie {loss_calls.between(call.target.low, call.target.high)}: "
                f"{wording.share(call.unreachable)} of them outside that range",
                call.unreachable,
                call.place,
            ),
        ),
        "these targets are out of reach",
        loss_calls.places(call.place, made),
        f"{_remedy(call)}, or scale the targets into its range",
    )


def _scores(trace: Trace, call: LossCall) -> Suspicion:
    made, where = loss_calls.made_at(call, trace), _where(call)
    return _suspicion(
        call,
        f"{call.function} gets the output of {call.activation}: {_GIVES[call.activation]}",
        (
            Evidence(f"the scores come from {call.activation}{where}: {_GIVES[call.activation]}", place=made),
            Evidence(
                f"they lie {loss_calls.between(call.input.low, call.input.high)}; raw scores have no such bounds",
                call.input.high,
                call.place,
            ),
        ),
        "bounded scores keep the probabilities away from 0 and 1",
        loss_calls.places(call.place, made),
        _remedy(call),
    )


def _remedy(call: LossCall) -> str:
    if call.activation in RECURRENT:
        return "put a linear layer behind the recurrent one"
    return f"remove the last {call.activation}"


def _always_one(trace: Trace, call: LossCall) -> Suspicion:
    made, where = loss_calls.made_at(call, trace), _where(call)
    binary = call.function == "binary_cross_entropy"
    return _suspicion(
        call,
        "a softmax over a single value is always 1",
        (Evidence(f"the softmax{where} runs over a dimension of size 1, and always gives 1", 1.0, made),),
        "the output is a constant",
        loss_calls.places(call.place, made),
        "use a sigmoid for a single output" if binary else "remove the softmax",
        "sigmoid" if binary else "",
    )


def _one_for_all(trace: Trace, call: LossCall) -> Suspicion:
    made, where = loss_calls.made_at(call, trace), _where(call)
    return _suspicion(
        call,
        "a softmax shares 1 among labels that may be true together",
        (
            Evidence(f"the output comes from a softmax{where} over {call.over} labels", place=made),
            Evidence("the targets are zeros and ones whose rows do not sum to 1", place=call.place),
        ),
        "where two labels are true, neither can get near 1",
        loss_calls.places(call.place, made),
        "use a sigmoid, which judges each label by itself",
        "sigmoid",
    )


def _unlike_the_data(trace: Trace, unlike: GeneratorRange) -> Suspicion:
    activation, module = unlike.activation, trace.wiring.modules.get(unlike.activation_module)
    made = unlike.activation_place or (module.place if module is not None else None)
    gives = _GIVES[activation]
    simple = module is not None and module.kind.lower() == activation
    options = {"module": unlike.activation_module}
    return Suspicion(
        statement=f"{activation} gives {gives}, but the data to imitate lie elsewhere",
        evidence=(
            Evidence(
                f"{unlike.layer} gets the output of {activation} in {unlike.activation_module}: {gives}", 0.0, made
            ),
            Evidence(
                f"{unlike.layer} also gets data {loss_calls.between(unlike.low, unlike.high)}: "
                f"{wording.share(unlike.outside)} of them outside that range",
                unlike.outside,
                unlike.place,
            ),
        ),
        why="such data are out of reach, and the adversary tells the two apart by that alone",
        places=loss_calls.places(made, unlike.place),
        fix=Fix(f"remove the last {activation}, or scale the data into its range"),
        not_this="a deeper model or more epochs: the range stays",
        cures=(Cure("without_activation", f"{activation} left out", options),) if simple else (),
    )


def _where(call: LossCall) -> str:
    return f" in {call.activation_module}" if call.activation_module else ""


def _suspicion(  # noqa: PLR0913 - what a suspicion is made of, by name
    call: LossCall,
    statement: str,
    evidence: tuple[Evidence, ...],
    why: str,
    places: tuple[Place, ...],
    fix: str,
    apply: str = "",
) -> Suspicion:
    function = "sub" if " " in call.function else call.function
    left_out = "its last tanh" if call.activation in RECURRENT else call.activation
    label = f"{apply} instead of {call.activation}" if apply else f"{left_out} left out"
    options = {"functions": [function], "undo": call.activation, "apply": apply}
    return Suspicion(
        statement=statement,
        evidence=evidence,
        why=why,
        places=places,
        fix=Fix(fix),
        not_this="a deeper model or more epochs: the range stays",
        cures=(Cure("output_activation", label, options),),
    )
