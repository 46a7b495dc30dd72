"""The symptom table: what is seen, what kind of trouble that is, and what is usually behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .verdict import Severity, Symptom


@dataclass(frozen=True)
class SymptomRow:
    """One kind of trouble; `name` is what a `Symptom`'s category holds. The last columns say how it is dealt with."""

    name: str
    seen: str
    severity: Severity
    usual: str
    ask: str
    #: Other random numbers have to show it too. Not where it is a plain fact: NaN has been seen.
    needs_second_run: bool = True
    #: About speed or memory rather than about learning: causes of the one do not explain the other.
    about_machine: bool = False
    #: A busy machine may look the same, so it must still be there at the end, and a cure has to work twice.
    comes_and_goes: bool = False
    #: What the closer look is at: everything, where time and memory go, the first value that is not finite, or
    #: the runs beside it that it was compared with.
    closeup: Literal["everything", "speed", "nonfinite", "controls"] = "everything"
    #: Whether a learning rate may be behind it whatever the check is about: always, or where only a cure that works
    #: could accuse anybody.
    blames_rates: Literal["as the check", "if confirmed", "always"] = "as the check"
    #: It says what is different itself: no cause is looked for.
    explains_itself: bool = False
    #: The step that shows it is kept in a file, to be replayed.
    keeps_reproducer: bool = False


NOT_LEARNING = "not-learning"
NO_RATE = "no-learning-rate"
PLATEAU = "plateau"
INSTABILITY = "instability"
EXPLOSION = "explosion"
#: Not "overfitting", which is the name of a cause.
OVERFITTING = "validation-gets-worse"
PERFORMANCE = "performance"
MEMORY = "growing-memory"
SILENT = "silently-wrong"
CRASH = "crash"
UNEQUAL = "not-the-same"
OUT_OF_STEP = "ranks-apart"
FAULTY_DATA = "faulty-data"
OFF_RECORD = "other-than-recorded"
WORSE = "worse-than-before"

SYMPTOM_ROWS: tuple[SymptomRow, ...] = (
    SymptomRow(
        NOT_LEARNING,
        "the loss is flat from the start, or parameters get no gradient or do not move",
        "high",
        "wiring first: frozen parameters, parameters that no optimizer holds, a graph that ends early, a missing "
        "step; then initialisation and dead units; a learning rate that is too low comes last",
        "Which parameters get no gradient? Which are frozen, or in no parameter group? How large is an update "
        "compared with its weights? Is the loss that of chance, ln(classes)?",
    ),
    SymptomRow(
        NO_RATE,
        "parameters do not move because their learning rate is 0",
        "high",
        "a parameter group that was made with a rate of 0, or a schedule that takes it there",
        "Which group has the rate 0? Is there a scheduler, and does it ever raise it?",
        blames_rates="always",
    ),
    SymptomRow(
        PLATEAU,
        "the loss fell, then stopped above what memorising would give",
        "low",
        "a learning rate that has to decay, units that died on the way, regularisation that keeps the model from "
        "fitting",
        "Did the loss flatten or creep in a straight line? Does it fall further with a smaller learning rate?",
    ),
    SymptomRow(
        INSTABILITY,
        "the loss oscillates or grows",
        "high",
        "gradients that are never cleared, exploding gradients, a learning rate that is too high, a batch that is too "
        "small",
        "How do the gradient norms of the first steps compare? Does the oscillation grow? How large is an update "
        "compared with its weights?",
        blames_rates="if confirmed",
    ),
    SymptomRow(
        EXPLOSION,
        "the loss, a gradient or a parameter is NaN or Inf",
        "critical",
        "NaN in the data, an operation outside its domain, exploding gradients, a learning rate that is too high",
        "At which step? Were the inputs finite? Which operation made the first value that was not?",
        needs_second_run=False,
        closeup="nonfinite",
        blames_rates="always",
        keeps_reproducer=True,
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
        "than processors, a compiler that recompiles again and again",
        "How long does a step wait for its data, compared with computing? Which line takes the most? Does a step take "
        "longer with twice the samples?",
        about_machine=True,
        comes_and_goes=True,
        closeup="speed",
    ),
    SymptomRow(
        MEMORY,
        "memory grows from step to step",
        "high",
        "something keeps tensors together with their graphs: a list of losses, a running total",
        "What outlives its step? Does it have a `grad_fn`?",
        about_machine=True,
        closeup="speed",
    ),
    SymptomRow(
        SILENT,
        "the loss looks fine, but the model does not learn what was intended",
        "high",
        "inputs that have no influence, samples or tokens that see one another, targets that belong to other samples, "
        "a loss that gets something other than it expects, state that changes behind the training's back",
        "Does the output change with each input, and only with its own sample's? Does what was learnt carry over to "
        "another batch? Can the loss be as low as it is?",
    ),
    SymptomRow(
        CRASH,
        "the training step raises an error",
        "critical",
        "shapes, types or devices that do not fit, ids and labels out of range, a graph that was freed or written "
        "over, too little memory, a batch too small for BatchNorm",
        "Which call raised, in which module? What was it given, and what does it take? Which sample was it?",
    ),
    SymptomRow(
        UNEQUAL,
        "two runs that have to be the same are not: repeated, resumed, in micro-batches, in another precision",
        "high",
        "seeds taken from the clock or the system, state that a checkpoint does not hold, a mean of means, numbers "
        "that a type cannot hold, an evaluation that changes what it evaluates",
        "At which step do the two part? Were batch, weights and random numbers still the same before it?",
        closeup="controls",
    ),
    SymptomRow(
        OUT_OF_STEP,
        "the processes of a distributed training differ where they have to be the same, or one of them raises or hangs",
        "critical",
        "gradients that nobody averages, models that are made from different seeds, a missing DistributedSampler, "
        "shards of different lengths, a collective that not every rank comes to",
        "Which tensor differs, on which rank, and since which update? Where does each rank wait?",
        needs_second_run=False,
        closeup="controls",
    ),
    SymptomRow(
        FAULTY_DATA,
        "the data themselves are at fault: values that are not finite, labels that the loss does not allow, the same "
        "samples on both sides, the target among the features, batches that come again and again",
        "high",
        "a split that was made after samples were doubled, a missing value that nobody filled, a label column that was "
        "not dropped, a loader that ignores its index or whose workers all do the same",
        "Where do these samples come from? Who reads them, and who split them? What does a step with them come to?",
        closeup="controls",
    ),
    SymptomRow(
        OFF_RECORD,
        "the first steps are not those of the healthy run that was recorded",
        "high",
        "another initialisation, architecture, order of the data, scale of the loss, learning rate or optimizer than "
        "when it was recorded",
        "What differs first: the values at the start, the batch, the loss, a gradient, the rate, an update? Of which "
        "layer? Was the change meant?",
        needs_second_run=False,
        explains_itself=True,
    ),
    SymptomRow(
        WORSE,
        "the training is worse than the one it is compared with, with every seed or nearly so",
        "medium",
        "what was changed between the two",
        "Is it the training loss or only the gap to it? From which step on do the curves part?",
        needs_second_run=False,
        explains_itself=True,
    ),
)

_BY_NAME = {row.name: row for row in SYMPTOM_ROWS}


def row_of(symptom: Symptom) -> SymptomRow:
    """The row of the table that a symptom belongs to."""
    return _BY_NAME[symptom.category]
