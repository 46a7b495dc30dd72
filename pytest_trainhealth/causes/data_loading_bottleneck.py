"""data-loading-bottleneck: steps wait for their data longer than they compute

What happens
    The model is done and waits for the next batch. Whatever you pay for the accelerator, most of it is spent waiting.

How severe it is
    Low for the model, high for the bill: the result is the same, and the device is paid for while it waits.

How it is recognised
    Each step is split into waiting for the batch and everything else. A few samples are read on their own to see
    whether the time goes into `__getitem__` (or `__iter__`) or into putting the batch together, and in which line; the
    time that one process takes for a batch, compared with the time that a step computes, shows how many workers are
    needed. The re-run reads the same batches before the clock starts, and shows how many times faster that is.

How to fix it
    More workers (`num_workers=`), `persistent_workers=True`, prefetching and pinned memory; decode and resize once and
    store the result; do less per sample in `__getitem__` (whole-batch operations belong in the collate function or on
    the device). Workers that compute need a processor each; workers that wait for a disk or a network do not. With an
    IterableDataset every worker iterates all of it, so each sample comes once per worker, unless `__iter__` takes its
    share by `get_worker_info()`.

What not to do
    A faster accelerator or mixed precision: the wait stays the same.

How to prevent it
    Decode and augment in the dataset, with `num_workers`, and keep `@pytest.mark.keeps_throughput(max_data_wait=0.5)`
    on one test of the real loader.

When this is wrong
    A toy model computes for less than a millisecond; any loader looks slow compared with it. So a wait counts by itself
    only beyond 2 ms a batch and 0.2 ms a sample. Allow a different share with `max_data_wait=`.
"""

from __future__ import annotations

import math

from .. import wording
from ..analysis import timing
from ..analysis.history_faults import first_fault
from ..records.history import History
from ..records.intervention import Cure
from ..records.speed import LoadingRecord
from ..records.symptoms import PERFORMANCE
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Place, Symptom
from . import Suspicion
from ._groups import KEEPS_THROUGHPUT

GROUP = KEEPS_THROUGHPUT
ORDER = 0
EXPLAINS = (PERFORMANCE,)

#: Waiting for half as long as computing: without it a step would take two thirds of the time. By judgement: what is
#: gained by less is not worth a change of the loader.
_MUCH = 0.5
#: That are advised. By judgement: each takes the memory of an interpreter with torch.
_MOST_WORKERS = 8
#: Workers that compute for more than half of their time want a processor each. Measured: 0.99 and more for
#: spectrograms, and for images, tokens and JSON that Python works on; 0.04 for samples that sleep for 4 ms.
_COMPUTES = 0.5


def in_history(history: History, symptom: Symptom) -> Suspicion | None:
    """A log shows that steps got slower, not why: loading is what most often does it from one moment to the next."""
    fault = first_fault(history)
    if fault is None or fault.kind != "slower":
        return None
    return Suspicion(
        statement=fault.headline,
        evidence=fault.evidence,
        certainty="possible",
        why="a cache that is full, a disk or a network that others use, a machine that is throttled",
        places=() if fault.place is None else (fault.place,),
        fix=Fix("log the time that a step waits for its data beside that of the step: the two tell them apart"),
        not_this="a smaller model: it computes as much as before",
    )


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    known = timing.measured(trace)
    if not known or not timing.compares_no_revision(trace):
        return None
    waiting, moving = (known["wait_ms"] or 0.0), (known["transfer_ms"] or 0.0)
    computing = sum(known[f"{phase}_ms"] or 0.0 for phase in ("forward", "backward", "optimizer", "rest"))
    if waiting + moving <= _MUCH * computing:
        return None
    wait, work, counted = wording.short(waiting + moving), wording.short(computing), timing.timed_steps(trace)
    evidence = [Evidence(f"waiting {wait} ms, computing {work} ms a step ({counted} steps)", waiting / 1e3)]
    if moving:
        evidence.append(Evidence(f"{wording.short(moving)} ms of it is moving the batch to the device", moving / 1e3))
    loading = trace.speed.loading
    if loading is not None:
        evidence += _where(loading, computing / 1e3)
    return Suspicion(
        statement=f"each step waits {wait} ms for data and computes {work} ms",
        evidence=tuple(evidence),
        why=_why(loading, computing / 1e3, moving > waiting),
        places=_places(loading),
        fix=_fix(loading, computing / 1e3, moving > waiting, trace.speed.cores),
        not_this="a faster accelerator: the wait stays the same",
        cures=(Cure("preloaded_batches", "the same batches, preloaded", {"count": 8}),),
    )


def _where(loading: LoadingRecord, computing: float) -> list[Evidence]:
    items, collate = loading.item * loading.batch_size, loading.collate
    if not items:
        return []
    size, reader = wording.plural(loading.batch_size, "sample"), f"{loading.dataset}.{loading.reader}"
    found = [Evidence(f"making a batch: {reader} {_ms(items)} ms for {size}, collate {_ms(collate)} ms", items)]
    there = "there are no workers" if not loading.workers else f"{wording.plural(loading.workers, 'worker')} for that"
    needed = _needed(loading, computing)
    if needed > loading.workers:
        found.append(Evidence(f"{there}; keeping up with the steps takes {needed:,}", float(loading.workers)))
    return found


def _why(loading: LoadingRecord | None, computing: float, moving: bool) -> str:
    if moving:
        return "moving a batch to the device takes longer than learning from it"
    if loading is None or loading.batch <= computing:
        return "the next batch is not ready when a step is done"
    if _collates(loading):
        return "putting the samples of a batch together takes longer than learning from them"
    return f"{loading.dataset}.{loading.reader} takes longer to make a batch than a step takes to learn from it"


def _places(loading: LoadingRecord | None) -> tuple[Place, ...]:
    if loading is None:
        return ()
    slowest = loading.collate_place if _collates(loading) else loading.item_place
    return () if slowest is None else (slowest,)


def _fix(loading: LoadingRecord | None, computing: float, moving: bool, cores: int) -> Fix:
    if moving:
        return Fix("pin the memory, and move the next batch while this one is computed:",
                   ("DataLoader(dataset, pin_memory=True)", "batch.to(device, non_blocking=True)"))  # fmt: skip
    if loading is None:
        return Fix("make each batch once, or load in parallel:", (_with_workers(4),))
    if loading.iterable:
        return _iterable_fix(loading)
    work = "do less in the collate function" if _collates(loading) else "do the fixed part of __getitem__ once"
    needed, useful = _needed(loading, computing), _useful_workers(loading, cores)
    if needed <= loading.workers:  # on average they keep up: a few samples that take longer, or busy processors
        return Fix(f"load in parallel, and {work}:", (_with_workers(loading.workers + 1),))
    if needed <= useful:
        return Fix(f"load in parallel, and {work}:", (_with_workers(max(needed, 2)),))
    if useful <= loading.workers:
        stored = () if _collates(loading) else ("samples = [dataset[i] for i in range(len(dataset))]  # once",)
        enough = "more workers need more processors" if _computes(loading) else f"keeping up takes {needed:,} workers"
        return Fix(f"{work}; {enough}{':' if stored else ''}", stored)
    if _computes(loading):
        processors = wording.plural(cores, "processor")
        return Fix(f"{work}; {useful} workers, on {processors}, only shorten the wait:", (_with_workers(useful),))
    return Fix(f"{work}; {useful} workers shorten the wait, {needed:,} would end it:", (_with_workers(useful),))


def _iterable_fix(loading: LoadingRecord) -> Fix:
    """More workers alone would do harm: each of them iterates over the whole dataset."""
    work = "do less in the collate function" if _collates(loading) else "do the work once or in a map-style dataset"
    return Fix(
        f"{work}; each worker needs its own share:",
        (
            "worker = torch.utils.data.get_worker_info()  # in __iter__, before the work",
            "if worker: rows = itertools.islice(rows, worker.id, None, worker.num_workers)",
        ),
    )


def _with_workers(count: int) -> str:
    return f"DataLoader(dataset, num_workers={count}, persistent_workers=True)"


def _collates(loading: LoadingRecord) -> bool:
    return loading.collate > loading.item * loading.batch_size


def _computes(loading: LoadingRecord) -> bool:
    return loading.busy > _COMPUTES


def _needed(loading: LoadingRecord, computing: float) -> int:
    """As many as it takes for one batch to be made while another is computed."""
    return math.ceil(loading.batch / max(computing, 1e-9))


def _useful_workers(loading: LoadingRecord, cores: int) -> int:
    """No more than there are processors if they compute, but at least two: one may work while another waits."""
    return min(max(cores, 2), _MOST_WORKERS) if _computes(loading) else _MOST_WORKERS


def _ms(seconds: float) -> str:
    return wording.short(1e3 * seconds)
