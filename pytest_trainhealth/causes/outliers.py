"""outliers: single samples hold values far beyond all others

What happens
    One sample whose values are a hundred times those of the rest (a wrong unit, a faulty sensor, a placeholder such as
    9999) makes a gradient that outweighs all others together. The loss jumps whenever it comes up, and what was learnt
    before is undone.

How severe it is
    High where they decide the step: a single sample undoes a hundred.

How it is recognised
    The largest value of each sample in the first batch is compared with that of the median sample. The re-run leaves
    out samples that are more than 30 times as large.

How to fix it
    Find where the values come from and fix them there. Where they are real, clip them to a quantile, take logarithms,
    or use a loss that tolerates them (`nn.HuberLoss`).

What not to do
    Standardising with them included: one of them makes all other samples look alike. A smaller learning rate: the jumps
    get smaller, and so do the steps in between.

How to prevent it
    Clip or log-transform where data are made, and look at the largest value of every column, not at the mean.
    `data_is_healthy` and `trains_without_nan` look at them.

When this is wrong
    Counts, incomes and amounts really span orders of magnitude. Outliers are reported only when a training fails and is
    healthy without them.
"""

from __future__ import annotations

from .. import wording
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, FAULTY_DATA, INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA, Stage
from ._harmful_data import harmful

GROUP = DATA
#: A matter of size: odd sizes alone do not acquit the learning rate.
STAGE = Stage.NUMBERS
ORDER = 3
EXPLAINS = (INSTABILITY, EXPLOSION, PLATEAU, NOT_LEARNING, FAULTY_DATA)

#: Times the largest value of the median sample: at most 11 in the 257 healthy programs.
_FAR_BEYOND = 100.0
#: Times the median sample: what a re-run leaves out, still far above the 11 of the healthy programs.
_LEFT_OUT = 30.0


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == FAULTY_DATA:
        return harmful(trace, "outliers")
    found = [s for s in trace.data.scales if s.outlier_ratio >= _FAR_BEYOND]
    if not found:
        return None
    worst = max(found, key=lambda s: s.outlier_ratio)
    largest = max(abs(worst.low), abs(worst.high))
    usual = wording.short(largest / worst.outlier_ratio)
    times = wording.short(worst.outlier_ratio)
    return Suspicion(
        statement=f"sample {worst.outlier} of {worst.name} is {times} times as large as most",
        evidence=(
            Evidence(
                f"{worst.name}: values up to {wording.short(largest)} in sample {worst.outlier}, up to {usual} in the "
                "median sample",
                worst.outlier_ratio,
                worst.place,
            ),
        ),
        why="its gradient outweighs those of all other samples together",
        fix=Fix("fix these samples where the data is made, or use a loss that tolerates them:", ("nn.HuberLoss()",)),
        not_this="standardising with them included: all other samples would look alike",
        cures=(Cure("drop_bad_samples", "these samples left out", {"beyond": _LEFT_OUT}),),
    )
