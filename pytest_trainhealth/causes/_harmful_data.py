"""What was odd about the data and did harm, in words that several causes share."""

from __future__ import annotations

from math import isfinite

from .. import wording
from ..analysis.data_harm import STEPS, Harm, HarmKind, shown_harm
from ..records.intervention import Cure
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix
from . import Suspicion

_WHY = {
    "scale": "weights are initialised for values around 0 with a spread of about 1",
    "outliers": "their gradients outweigh those of all other samples together",
    "rare class": "a loss that counts every label alike hardly notices them",
}
_FIX = {
    "scale": Fix("standardise with the statistics of the training set:",
                 ("inputs = (inputs - train_inputs.mean(0)) / train_inputs.std(0)",)),
    "outliers": Fix("fix these samples where the data is made; a code for missing values is no value"),
    "rare class": Fix("weigh the class in the loss, or draw it more often:",
                      ("nn.CrossEntropyLoss(weight=...)", "WeightedRandomSampler(...)")),
}  # fmt: skip
_NOT = {
    "scale": "a smaller learning rate: each feature would need its own",
    "outliers": "standardising with them included: all other samples would look alike",
    "rare class": "trusting accuracy: whoever never gives this answer is nearly always right",
}


def harmful(trace: Trace, kind: HarmKind) -> Suspicion | None:
    """None unless it was this that did harm, in the runs that the check has compared."""
    survey = trace.data.survey
    found = None if survey is None else shown_harm(survey, trace.compared_with)
    if not isinstance(found, Harm) or found.kind != kind:
        return None
    return Suspicion(
        statement=found.words,
        evidence=_evidence(found),
        why=_WHY[kind],
        fix=_FIX[kind],
        not_this=_NOT[kind],
        cures=() if found.cure is None else (_shorter(found.cure),),
    )


def _evidence(found: Harm) -> tuple[Evidence, ...]:
    if found.kind == "rare class":
        came = wording.count(int(found.without))
        return (
            Evidence(found.words),
            Evidence(f"in the last {STEPS // 2} of {STEPS} steps {came} of them came, and the model told none", 0.0),
            Evidence("the loss has no weights, and nothing draws them more often"),
        )
    reached = wording.loss(found.with_it) if isfinite(found.with_it) else "no finite value"
    return (
        Evidence(found.words),
        Evidence(
            f"from the same start, the loss comes to {reached} in {STEPS} steps, and to {wording.loss(found.without)} "
            "without it",
            found.with_it,
        ),
    )


def _shorter(cure: Cure) -> Cure:
    """The cure of a re-run that is judged like the first one, with runs of its own to compare."""
    return Cure(cure.kind, cure.label.partition(",")[0], cure.options)
