"""nan-in-data: a batch holds NaN or Inf

What happens
    One value that is not finite makes the loss NaN, the loss makes every gradient NaN, and one step later so is every
    parameter. The model is lost, whatever comes next.

How severe it is
    Critical: one such sample ruins every weight, and hours of training before it.

How it is recognised
    The batch is examined before the step: which field, which sample, how many values. `data_is_healthy` looks through
    more batches than a run has steps, and takes a step with the first one that holds such values. The re-run leaves
    these samples out; if it stays finite, they were the cause.

How to fix it
    Find where the values come from: a missing entry read as NaN, 0/0 when a constant image or column is standardised,
    the log of a zero. Fix it there, or drop the samples in the Dataset, and assert `torch.isfinite(x).all()` where
    batches are made.

What not to do
    `torch.nan_to_num` in the model, a smaller learning rate or gradient clipping: clipping a NaN gives NaN.

How to prevent it
    Assert `torch.isfinite(x).all()` where data are loaded, once per file rather than once per step, and keep
    `data_is_healthy` on the real loader.

When this is wrong
    NaN may mark missing values that the model masks. Then the loss stays finite, and `data_is_healthy` passes with a
    note.
"""

from __future__ import annotations

import math

from .. import wording
from ..analysis import data_faults
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, FAULTY_DATA
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA

GROUP = DATA
ORDER = 0
EXPLAINS = (EXPLOSION, FAULTY_DATA)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == FAULTY_DATA:
        return _in_the_data(trace)
    bad = [(step, f) for step, fields in sorted(trace.data.fields.items()) for f in fields if f.nonfinite]
    if not bad:
        return None
    step, field = bad[0]
    if trace.nonfinite is not None and step > trace.nonfinite.step:
        return None  # by then all may be NaN
    sample = "" if field.bad_sample is None else f", first in sample {field.bad_sample}"
    total = max(1, math.prod(field.shape))
    bad_values = f"{wording.plural(field.nonfinite, 'value')} that {'is' if field.nonfinite == 1 else 'are'}"
    return Suspicion(
        statement=f"the batch of step {step} holds {bad_values} not finite",
        evidence=(
            Evidence(
                f"{field.name} at step {step}, shape {field.shape}: {wording.count(field.nonfinite)} of "
                f"{wording.count(total)} values are NaN or Inf{sample}",
                float(field.nonfinite),
            ),
            Evidence(f"its finite values lie between {wording.short(field.low)} and {wording.short(field.high)}"),
        ),
        why=f"{field.name} is not finite before the model sees it",
        fix=_FIX,
        not_this=_NOT_THIS,
        cures=_CURES,
    )


_FIX = Fix("fix or drop these samples where the data is made", ("assert torch.isfinite(x).all()",))
_NOT_THIS = "clipping or a smaller learning rate: a NaN stays a NaN"
_CURES = (Cure("drop_bad_samples", "these samples left out"),)


def _in_the_data(trace: Trace) -> Suspicion | None:
    found = None if trace.data.survey is None else data_faults.harmful_values(trace.data.survey)
    if found is None:
        return None
    size = f"{wording.count(found.count)} of {wording.count(found.total)} values"
    return Suspicion(
        statement=f"{found.where} holds values that are not finite",
        evidence=(
            Evidence(f"batch{found.name}: {size} are NaN or Inf, first in {found.where}", float(found.count)),
            Evidence(f"a step with its batch {found.outcome}"),
        ),
        why=f"batch{found.name} is not finite before the model sees it",
        fix=_FIX,
        not_this=_NOT_THIS,
        cures=_CURES,
    )
