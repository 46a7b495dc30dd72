"""The symptom table: what is seen, what kind of trouble that is, and what usually lies behind it."""

from __future__ import annotations

from dataclasses import dataclass

from .verdict import Severity


@dataclass(frozen=True)
class SymptomRow:
    """One kind of trouble; `name` is what a `Symptom`'s category holds."""

    name: str
    seen: str
    severity: Severity
    usual: str
    ask: str


NOT_LEARNING = "not-learning"
PLATEAU = "plateau"
INSTABILITY = "instability"
EXPLOSION = "explosion"
OVERFITTING = "overfitting"
PERFORMANCE = "performance"
MEMORY = "growing-memory"
SILENT = "silently-wrong"
CRASH = "crash"

SYMPTOM_ROWS: tuple[SymptomRow, ...] = (
    SymptomRow(
        NOT_LEARNING,
        "the loss is flat from the start, or parameters get no gradient or do not move",
        "high",
        "wiring first: frozen parameters, parameters that no optimizer holds, a graph that ends early, a step that is "
        "missing; then initialisation and dead units; a learning rate that is too low comes last",
        "Which parameters get no gradient? Which are frozen, or in no parameter group? How large is an update "
        "against its weights? Is the loss that of chance, ln(classes)?",
    ),
    SymptomRow(
        PLATEAU,
        "the loss fell, then stopped above what memorising would give",
        "low",
        "a learning rate that has to decay, units that died on the way, regularisation that keeps the model from "
        "fitting",
        "Did the loss flatten or creep in a straight line? Does it fall on with a smaller learning rate?",
    ),
    SymptomRow(
        INSTABILITY,
        "the loss oscillates or grows",
        "high",
        "gradients that are never cleared, exploding gradients, a learning rate that is too high, a batch that is too "
        "small",
        "How do the gradient norms of the first steps compare? Does the oscillation grow? How large is an update "
        "against its weights?",
    ),
    SymptomRow(
        EXPLOSION,
        "the loss, a gradient or a parameter is NaN or Inf",
        "critical",
        "NaN in the data, an operation outside its domain, exploding gradients, a learning rate that is too high",
        "At which step? Were the inputs finite? Which operation made the first value that was not?",
    ),
    SymptomRow(
        OVERFITTING,
        "training is good, validation is bad",
        "medium",
        "too little data or regularisation for the model's size, or the same samples on both sides",
        "How large are the sets? Which regularisation is on? How wide is the gap, and does it grow?",
    ),
    SymptomRow(
        PERFORMANCE,
        "training is slow",
        "low",
        "data loading, a batch size too small for the machine, one operation that takes most of the step, more threads "
        "than processors, a compiler that starts again and again",
        "How long does a step wait for its data, against computing? Which line takes the most? Does a step take "
        "longer with twice the samples?",
    ),
    SymptomRow(
        MEMORY,
        "memory grows from step to step",
        "high",
        "something keeps tensors together with their graphs: a list of losses, a running total",
        "What outlives its step? Does it have a `grad_fn`?",
    ),
    SymptomRow(
        SILENT,
        "the loss looks fine, but what is learnt is not what was meant",
        "high",
        "inputs that have no influence, samples or tokens that see one another, targets that belong to other samples, "
        "a loss that is given something else than it expects, state that changes behind the training's back",
        "Does the output change with each input, and with no other sample's? Does what was learnt carry over to "
        "another batch? Can the loss be as low as it is?",
    ),
    SymptomRow(
        CRASH,
        "the training step raises an error",
        "critical",
        "labels outside the range of the loss, probabilities outside of 0 to 1, a batch too small for BatchNorm",
        "What was the loss given? How many samples were in the batch?",
    ),
)
