"""batch-mixing: a sample's output depends on the other samples of its batch

What happens
    One dimension is mistaken for another: an LSTM without `batch_first=True` reads samples as time steps, a softmax or
    a mean runs over dimension 0, `output[-1]` is the last sample's where the last step was meant, a `view()` puts
    values of one sample into the row of another. Training looks fine; the same sample gets a different answer in
    another batch, and yet another on its own.

How severe it is
    High: the model is trained with what it will not have when it is used.

How it is recognised
    One sample is replaced by another, in eval mode and with the same random numbers, and outputs of other samples
    change. Both calls are compared operation by operation: the first one that mixes samples is named with your line.
    Whether dimension 0 counts samples is read from the data: the loader, what has one value for each sample, padding,
    how the batches were cut. In the loss, a softmax over dimension 0 is reported where the gradient of one sample
    depends on the scores of others. With `accumulates_exactly`, fields of a batch that no model gets are exchanged for
    those of other samples: what the loss standardises over the batch is named. A `view()` that swaps dimensions without
    a transpose tears the rows of a sample apart in the same way. A state with a row for each sample that is kept
    between batches drawn at random is reported, too.

How to fix it
    `batch_first=True` for data of shape (samples, time, features); `dim=-1` or `dim=1` instead of `dim=0`; `flatten(1)`
    or `reshape()` before the `permute()`, not `view()` after it.

What not to do
    Shuffling, another batch size, more data: they change which samples are mixed.

How to prevent it
    Name the axes of every reshape, and never `view` where a `transpose` is meant. `uses_its_input` changes one sample
    and looks at the others.

When this is wrong
    Models that compare samples on purpose. Where a probe proves that (without its links a graph does not mix, a table
    of all pairs changes in one row and one column, a sort ran over the samples, a statistic of the batch is appended
    to the features, BatchNorm has no running statistics) it is noted; what only looks like it is not judged. A set of
    points without a batch dimension looks like a batch.
"""

from __future__ import annotations

from .. import wording
from ..analysis.shapes import transposed
from ..records.probes import MixingRecord, ScrambleRecord
from ..records.symptoms import NOT_LEARNING, PLATEAU, SILENT, UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA

GROUP = DATA
ORDER = 5
CURABLE = False
EXPLAINS = (SILENT, NOT_LEARNING, PLATEAU, UNEQUAL)

_OVER_A_DIMENSION = ("softmax", "log_softmax", "mean", "sum", "std", "var", "norm", "normalize", "cumsum", "layer_norm")
_RESHAPES = ("view", "reshape", "flatten", "unflatten", "contiguous", "transpose", "permute")


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    fields = next((each.state.cut.mixed_by for each in trace.compared_with.values() if each.state.cut is not None), ())
    if symptom.category == UNEQUAL and fields:
        return _of_the_data(fields)
    if trace.probe is None or (symptom.category == UNEQUAL and trace.state.evaluation is None):
        return None
    found = [r for r in trace.probe.mixing if r.made_by == "user"]
    if not found:
        torn = [r for r in trace.probe.scrambles if not r.in_loss]
        return _torn(torn[0]) if torn else None
    record = found[0]
    if record.in_loss:
        return _in_the_loss(record)
    if record.carried:
        return _carried(record)
    evidence = [
        Evidence(
            f"with sample {record.sample} of {record.samples} replaced, the outputs of {record.others} others change, "
            f"by up to {wording.share(record.share)} of its own change (eval mode, same random numbers)",
            record.share,
        )
    ]
    if record.for_all is not None:
        evidence.append(Evidence(f"of the samples that were replaced, only sample {record.for_all} changes others"))
    if record.operation:
        evidence.append(
            Evidence(f"samples are separate before {_where(record)}, and mixed after it", place=record.place)
        )
    return Suspicion(
        statement="samples of a batch change each other's outputs",
        evidence=tuple(evidence),
        why=f"{_where(record)} mixes samples" if record.operation else "samples are mixed inside forward()",
        places=(record.place,) if record.place is not None else (),
        fix=_fix(record),
        not_this="shuffling or another batch size: they only change which samples are mixed",
    )


def _of_the_data(fields: tuple[str, ...]) -> Suspicion:
    names = wording.names([f"batch{name}" for name in fields])
    return Suspicion(
        statement=f"the loss computes something over the samples of {names}, whichever are in the batch",
        evidence=(
            Evidence(
                f"with {names} of one half of the batch replaced, the gradients of the other half change; no model "
                "gets it, so that it is not the outputs that are compared",
                float(len(fields)),
            ),
        ),
        why="a mean or a spread of one batch is another one than that of its parts",
        fix=Fix("compute it once over all of the data, before they are cut into batches:",
                ("advantages = (advantages - advantages.mean()) / advantages.std()",)),
        not_this="larger batches: they only make the statistics differ less",
    )  # fmt: skip


def _carried(record: MixingRecord) -> Suspicion:
    return Suspicion(
        statement=f"{record.carried} of the batch before changes the outputs for this one",
        evidence=(
            Evidence(
                f"{record.model} keeps {record.carried} after a call, with a row for each sample; set to 0, it changes "
                "the outputs of the next call",
                place=record.place,
            ),
            Evidence("the loader draws its samples at random: no sample goes on where the one before it ended"),
        ),
        why="each sample starts from the state of another one",
        places=(record.place,) if record.place is not None else (),
        fix=Fix(f"start each batch without {record.carried}, or feed the parts of a stream in their order"),
        not_this="detaching the state: it ends the gradient, and not the influence",
    )


def _torn(record: ScrambleRecord) -> Suspicion:
    return Suspicion(
        statement=f"{record.operation}() reads {record.given} as {record.result}: rows are torn apart",
        evidence=(
            Evidence(
                f"dimensions change places, and the values stay in their old order: a row of {record.result} holds "
                "parts of several others",
                place=record.place,
            ),
        ),
        why=f"{record.operation}() only renames the dimensions, and a transpose was meant",
        places=(record.place,) if record.place is not None else (),
        fix=transposed(record),
        not_this="more layers: they would have to learn to put the rows together again",
    )


def _in_the_loss(record: MixingRecord) -> Suspicion:
    samples, classes = record.given[0], record.given[1]
    return Suspicion(
        statement=f"{record.operation}() before the loss runs over {samples} samples, not over classes",
        evidence=(
            Evidence(
                f"{record.operation}() runs over dimension 0 of the scores {record.given}: each class, not each "
                "sample, sums to 1",
                place=record.place,
            ),
            Evidence(
                f"the gradients of {record.others} other samples depend on the scores of sample {record.sample}, by up "
                f"to {wording.share(record.share)} of its own dependence",
                record.share,
            ),
        ),
        why=f"dimension 0 counts the samples, and the {classes} classes are in dimension 1",
        places=(record.place,) if record.place is not None else (),
        fix=Fix(f"let {record.operation}() run over the classes:", (f"{record.operation}(scores, dim=1)",)),
        not_this="shuffling or another batch size: they only change which samples are mixed",
    )


def _where(record: MixingRecord) -> str:
    what = f"{record.module} ({record.module_class})" if _is_layer(record) else _called(record)
    return f"{what} on {record.given}" if record.given else what


def _called(record: MixingRecord) -> str:
    called = "indexing" if record.operation == "__getitem__" else f"{record.operation}()"
    return f"{called} in {record.module}" if record.module not in ("", record.model) else called


def _is_layer(record: MixingRecord) -> bool:
    return "batch_first" in record.module_class


def _fix(record: MixingRecord) -> Fix:
    if record.for_all is not None and record.operation in ("__getitem__", "select"):
        return Fix("index the time steps, not the samples: dimension 0 counts samples", ("last = output[:, -1]",))
    if "batch_first=False" in record.module_class:
        return Fix(
            f"{record.module} takes dimension 0 for time: make it with batch_first=True, or give it (time, samples, "
            "features)",
        )
    if record.operation in _RESHAPES:
        return Fix(
            f"keep dimension 0 for samples: {record.operation}() puts values of one sample into the row of another"
        )
    if record.operation in _OVER_A_DIMENSION:
        return Fix(f"let {record.operation}() run over another dimension: 0 counts the samples")
    return Fix("keep the samples apart in this line: dimension 0 counts them, and nothing may be computed across it")
