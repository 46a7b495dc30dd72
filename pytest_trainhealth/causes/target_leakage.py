"""target-leakage: the model sees what it has to predict

What happens
    A sequence model has to predict the next element, but can see it: attention without a causal mask, a bidirectional
    recurrent net, a convolution padded on both sides. Or the targets are not shifted, so that each is the input at its
    own position. The loss falls far below what is possible, and nothing can be generated. Or the column of a table that
    is to be predicted was not taken out of the features.

How severe it is
    High: the best curve of your life, and a model that knows nothing.

How it is recognised
    The targets of the loss are found among the inputs, one position later or at the same position. Elements after a
    position are replaced, and outputs up to that position change. In a table, a feature has one value for each class,
    or lies on a straight line with the number to predict, in all of 48 or more samples; or it rises or falls with that
    number without an exception, while the others are far from telling it, or tell it far worse than it does alone.

How to fix it
    A causal mask (`is_causal=True`, `torch.triu`), `bidirectional=False`, padding on the left only; for targets at the
    same position, shift them: `logits[:, :-1]` against `tokens[:, 1:]`. Drop the column of the target, and whatever is
    only known once the target is.

What not to do
    Trusting the loss: it measures copying. More dropout makes copying harder, not predicting better.

How to prevent it
    Build inputs from columns that are listed, never from all but one; shift before you cut windows. `data_is_healthy`
    and `uses_its_input` look for the target in the inputs.

When this is wrong
    A model that reads the whole sequence on purpose and rebuilds it, as autoencoders do, is not reported where the
    sequence passes through a summary without positions. Toy data may have a feature as their target: where all features
    are drawn alike, it is only noted.
"""

from __future__ import annotations

from .. import wording
from ..analysis import data_faults
from ..records.probes import LeakRecord
from ..records.survey import TargetCopy
from ..records.symptoms import FAULTY_DATA, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA

GROUP = DATA
ORDER = 5
CURABLE = False
EXPLAINS = (SILENT, NOT_LEARNING, PLATEAU, FAULTY_DATA)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == FAULTY_DATA:
        copy = None if trace.data.survey is None else data_faults.copied_target(trace.data.survey)
        return None if copy is None else _among_the_features(copy)
    found = [r for r in (trace.probe.leaks if trace.probe is not None else []) if r.made_by == "user"]
    if not found:
        return None
    return _same(found[0]) if found[0].kind == "same" else _future(found[0])


def _future(record: LeakRecord) -> Suspicion:
    where, advice = _layer(record)
    return Suspicion(
        statement=f"{record.model} sees the elements of {record.name} that it has to predict",
        evidence=(
            Evidence(
                f"the target is {record.name}{', one position later' if record.shift else ', at the same position'}"
            ),
            Evidence(
                f"other elements after position {record.position} of {record.length} change the outputs up to it, by "
                f"{wording.share(record.share)} of the change after it",
                record.share,
            ),
            Evidence(f"{where} is the first to let earlier positions see later ones", place=record.place),
        ),
        why=f"{where} looks ahead",
        places=(record.place,) if record.place is not None else (),
        fix=Fix(advice),
        not_this="trusting a low loss: it measures copying",
    )


def _layer(record: LeakRecord) -> tuple[str, str]:
    """What looks ahead, and what keeps it from doing so."""
    layer, operation = record.module or record.model, record.operation
    if "attention" in operation:
        return layer, f"give {layer} a causal mask: position t attends to positions up to t"
    if operation in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        return layer, f"make {layer} with bidirectional=False"
    if "conv" in operation:
        return layer, f"pad the input of {layer} on the left only, by (kernel size - 1) * dilation"
    called = f"{operation}()" + (f" in {record.module}" if record.module else "")
    return called, f"keep {operation}() from looking ahead: position t may use positions up to t"


def _same(record: LeakRecord) -> Suspicion:
    return Suspicion(
        statement=f"the targets are {record.name} at the same positions, not the next ones",
        evidence=(
            Evidence(
                f"each target equals the element of {record.name} at the same position, and {record.model} sees "
                "that one and those before it, never ahead",
                1.0,
                record.place,
            ),
        ),
        why="the targets are not shifted: the model only has to copy its input",
        places=(record.place,) if record.place is not None else (),
        fix=Fix("let each position predict the next element",
                ("F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())",)),
        not_this="trusting a low loss: it measures copying",
    )  # fmt: skip


_HOW = {
    "equal": "has the values of the target",
    "scaled": "lies on a straight line with the target",
    "one to one": "has one value for each class",
    "in its order": "rises, or falls, with the target without an exception",
    "in its order alone": "rises, or falls, with the target without an exception",
    "only in one class": "has one value in one class and never that one in another",
}


def _among_the_features(copy: TargetCopy) -> Suspicion:
    evidence = [
        Evidence(
            f"{copy.feature} {_HOW[copy.kind]}, batch{copy.target}, in all of {wording.plural(copy.samples, 'sample')}",
            float(copy.samples),
        )
    ]
    if copy.by_itself:
        evidence.append(Evidence("all other features together tell the target far worse than it does alone"))
    elif not copy.is_target:
        evidence.append(Evidence("the other features are far from telling the target, all of them together"))
    return Suspicion(
        statement=f"{copy.feature} is {'the target' if copy.is_target else 'made from the target'}",
        evidence=tuple(evidence),
        why="the model only has to copy it, and will not have it when the target is not known",
        fix=Fix("end the window before the target" if len(copy.at) > 1 else "take the column out of the features"),
        not_this="trusting a low loss: it measures copying",
    )
