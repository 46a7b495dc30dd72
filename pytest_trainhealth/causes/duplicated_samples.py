"""duplicated-samples: the data yield the same samples again and again

What happens
    An epoch of a thousand samples consists of a few, over and over: a sampler that is seeded anew for every batch, an
    `IterableDataset` that every worker reads from its beginning, random crops or noise that all workers draw from
    copies of one generator. The model memorises what it gets, and the rest of the data is never seen.

How severe it is
    High: the model sees less than the size of the data set says.

How it is recognised
    All batches of a loader are the same though it has more samples than one of them; or each comes once from every
    worker; or a sample is read with the same random numbers in every worker. A list holds one batch in many copies,
    beside `val_data` with others. Every sample is there four times or more, by measured values, and those of `val_data`
    are not: oversampling repeats some of them, never all. Samples that are there twice without any of this are a note.

How to fix it
    Make the generator once, not for every batch. Let each worker read its own part:
    `torch.utils.data.get_worker_info()`. Draw random numbers from torch, numpy or `random` themselves, which torch
    seeds in each worker, or seed a generator of your own in `worker_init_fn`.

What not to do
    More epochs: every one of them is the same.

How to prevent it
    Count distinct samples where the data set is made; seed workers and augmentation by sample. `data_is_healthy`
    compares what the loader yields.

When this is wrong
    A list that holds one batch several times, or a loader of your own that repeats one, is taken as meant: many tests
    train like that. Oversampling repeats samples on purpose, and is never more than a note; so is a sampler that draws
    with replacement, or a `ConcatDataset` of one data set several times. Whoever copies all rows to make epochs longer
    is reported: use one of these.
"""

from __future__ import annotations

from .. import wording
from ..analysis import data_faults
from ..records.survey import SurveyRecord
from ..records.symptoms import FAULTY_DATA
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA

GROUP = DATA
ORDER = 8
CURABLE = False
EXPLAINS = (FAULTY_DATA,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    survey = trace.data.survey
    found = None if survey is None else _found(survey)
    if found is None:
        return None
    statement, evidence, why, fix = found
    return Suspicion(
        statement=statement,
        evidence=(Evidence(evidence),),
        why=why,
        fix=fix,
        not_this="more epochs: every one of them is the same",
    )


def _found(survey: SurveyRecord) -> tuple[str, str, str, Fix] | None:
    if data_faults.same_batches(survey) and survey.dataset_size is None:
        many = wording.count(survey.same_batches)
        return (
            "all batches of the list are the same",
            f"{many} batches hold the same values, each in memory of its own; those of val_data are others",
            "each was taken first from a loader that begins anew, with the same seed",
            Fix("make the loader once, and go on with its iterator:", ("batches = list(loader)",)),
        )
    if data_faults.same_batches(survey):
        size = wording.count(survey.dataset_size or 0)
        return (
            "the loader yields the same batch again and again",
            f"{wording.count(survey.same_batches)} batches in a row are the same, of a data set of {size} samples",
            "what draws the samples begins anew for every batch, or ignores the index",
            Fix("make the generator of the sampler once, and use the index in __getitem__"),
        )
    if survey.batches_per_worker:
        return (
            f"every batch comes {survey.batches_per_worker} times, once from each worker",
            f"{wording.count(survey.batches)} batches were read, in groups of {survey.batches_per_worker} equal ones",
            "each worker reads the data set from its beginning",
            Fix("give each worker its own part:", ("info = torch.utils.data.get_worker_info()",)),
        )
    drawn = survey.worker_randomness
    if drawn is None and data_faults.copied_samples(survey):
        every = survey.different_samples + survey.repeated
        times = wording.short(every / survey.different_samples)
        return (
            f"each sample of data is there about {times} times",
            f"of {wording.count(every)} samples {wording.count(survey.different_samples)} are different, by all their "
            f"values; of {wording.count(survey.val_samples)} samples of val_data all but "
            f"{wording.count(survey.val_repeated)}",
            "rows were multiplied, as by a join whose key is not unique, or every reading makes the same of its index",
            Fix("count the rows before and after each join, and compare two samples of the data set"),
        )
    if drawn is None:
        return None
    return (
        f"all {drawn.workers} workers draw the same random numbers from {drawn.dataset}.{drawn.attribute}",
        f"sample 0, read as by two workers with seeds of their own, is twice the same; {drawn.attribute} alone decides",
        f"{drawn.attribute} is copied into each worker as it is",
        Fix("draw from torch or numpy themselves, which are seeded in each worker, or seed it in worker_init_fn"),
    )
