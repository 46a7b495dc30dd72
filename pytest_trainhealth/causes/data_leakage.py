"""data-leakage: the same samples are in data and in val_data

What happens
    A model is validated on what it was trained with. Memorising looks like generalising, early stopping never comes,
    and the figures that decide about a model are too good. Samples were doubled before the split, a set was split twice
    with different seeds, both loaders were given one data set, or both halves were made with the same seed.

How severe it is
    High: validation measures memory, and the model fails in use.

How it is recognised
    Samples are compared by all their fields, 8 bytes each, and by their indices where both loaders read one data set.
    As many as chance puts on both sides are no fault: where `data` hold samples twice by themselves, so may `val_data`.
    The re-run leaves the shared samples out of the data. Near copies, as augmentation makes them: half or more of
    `val_data` lie so close to a sample of `data` with the same target as samples that are drawn one by one do once in
    10,000 times. How close that is, the 20th and the 60th neighbour tell.

How to fix it
    Split first, then augment, oversample and standardise, each half by itself. Split by what belongs together: all
    images of a patient, all windows of a recording on one side. Keep the indices of the split in a file.

What not to do
    More dropout or fewer epochs because validation and training agree so well: they agree because they are the same.

How to prevent it
    Split by the thing that repeats (patient, user, source file), before augmenting and windowing, and keep
    `data_is_healthy` with `val_data`.

When this is wrong
    Where few samples are possible at all, two sets may both hold every one of them; that is only noted. So are single
    near duplicates, as neighbouring windows of a series are near each other. `val_data` that are `data` themselves are
    not judged.
"""

from __future__ import annotations

from .. import wording
from ..analysis import data_faults
from ..records.intervention import Cure
from ..records.survey import NearCopies, placed
from ..records.symptoms import FAULTY_DATA
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA

GROUP = DATA
ORDER = 6
EXPLAINS = (FAULTY_DATA,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    survey = trace.data.survey
    shared = None if survey is None else data_faults.leak(survey)
    if survey is not None and shared is None:
        near = data_faults.near_leak(survey)
        return None if near is None else _nearly(near)
    if survey is None or shared is None:
        return None
    share = wording.share(shared.shared / shared.samples)
    by = "by their indices in the one data set of both loaders" if shared.by_index else "by all their values"
    evidence = [
        Evidence(
            f"{wording.count(shared.shared)} of {wording.plural(shared.samples, 'sample')} of val_data are also in "
            f"data, {by}; chance would put about {wording.short(shared.by_chance)} there",
            float(shared.shared),
        )
    ]
    if shared.example is not None and shared.twin is not None and not shared.by_index:
        evidence.append(Evidence(f"{placed('val_data', *shared.example)} is {placed('data', *shared.twin)}"))
    elif shared.example is not None:
        evidence.append(Evidence(f"sample {shared.example[1]} of the data set is read by both loaders"))
    return Suspicion(
        statement=f"{share} of the samples of val_data are also in data",
        evidence=tuple(evidence),
        why="the two were not split, or not before samples were doubled",
        fix=Fix("split first, and augment or oversample the training half alone"),
        not_this="more regularisation: what was trained on cannot show overfitting",
        cures=(Cure("drop_shared_samples", "without these samples in data"),) if shared.removable else (),
    )


def _nearly(near: NearCopies) -> Suspicion:
    share = wording.share(near.near / near.samples)
    return Suspicion(
        statement=f"{share} of the samples of val_data are nearly samples of data",
        evidence=(
            Evidence(
                f"{wording.count(near.near)} of {wording.plural(near.samples, 'sample')} of val_data lie at a fifth or "
                f"less of the usual distance from a sample of data with the same target, by batch{near.name}; of "
                "samples drawn one by one, 1 in 10,000 would",
                float(near.near),
            ),
        ),
        why="samples were augmented, or written down several times, before the two were split",
        fix=Fix("split first, and augment the training half alone"),
        not_this="more regularisation: what was trained on cannot show overfitting",
    )
