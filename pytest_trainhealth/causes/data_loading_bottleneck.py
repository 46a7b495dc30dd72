"""data-loading-bottleneck: steps wait for their data longer than they compute

What happens
    The model is done and waits for the next batch. Whatever you pay for the accelerator, most of it goes into waiting.

How it is recognised
    Each step is split into waiting for the batch and everything else. A few samples are read on their own to see
    whether the time goes into `__getitem__` or into putting the batch together, and in which line; what one process
    takes for a batch, against what a step computes, tells how many workers it needs. The re-run reads the same batches
    before the clock starts, and says how many times faster that is.

How to fix it
    More workers (`num_workers=`), `persistent_workers=True`, prefetching and pinned memory; decode and resize once
    and store the result; do less per sample in `__getitem__` (whole-batch operations belong into the collate
    function or onto the device).

What not to do
    A faster accelerator or mixed precision: the wait stays the same.

When this is wrong
    A toy model computes for less than a millisecond; any loader looks slow beside it. Allow more with
    `max_data_wait=`.
"""

from __future__ import annotations

import math

from .. import figures, pace
from ..facts import Cure, Evidence, Fix, Place, Symptom
from ..records.speed import LoadingRecord
from ..symptoms import PERFORMANCE
from ..trace import Trace
from . import Suspicion

RANK = 0
EXPLAINS = (PERFORMANCE,)

#: Waiting for half as long as computing: without it a step would take two thirds of the time.
_MUCH = 0.5
_MOST_WORKERS = 8


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    known = pace.measured(trace)
    if not known or not pace.is_about_gates(trace, symptom):
        return None
    waiting, moving = (known["wait_ms"] or 0.0), (known["transfer_ms"] or 0.0)
    computing = sum(known[f"{phase}_ms"] or 0.0 for phase in ("forward", "backward", "optimizer", "rest"))
    if waiting + moving <= _MUCH * computing:
        return None
    wait, work, counted = figures.short(waiting + moving), figures.short(computing), pace.timed_steps(trace)
    evidence = [Evidence(f"waiting {wait} ms, computing {work} ms (medians of {counted} steps)", waiting / 1e3)]
    if moving:
        evidence.append(Evidence(f"{figures.short(moving)} ms of it is moving the batch to the device", moving / 1e3))
    loading = trace.speed.loading
    if loading is not None:
        evidence += _where(loading, computing / 1e3)
    return Suspicion(
        statement=f"each step waits {wait} ms for data and computes {work} ms",
        evidence=tuple(evidence),
        why=_why(loading, moving > waiting),
        places=_places(loading),
        fix=_fix(loading, computing / 1e3, moving > waiting),
        not_this="a faster accelerator: the wait stays the same",
        cures=(Cure("preloaded_batches", "the same batches, preloaded", {"count": 8}),),
    )


def _where(loading: LoadingRecord, computing: float) -> list[Evidence]:
    items, collate = loading.item * loading.batch_size, loading.collate
    size = figures.plural(loading.batch_size, "sample")
    found = [
        Evidence(
            f"making a batch: {loading.dataset}.__getitem__ {_ms(items)} ms for {size}, collate {_ms(collate)} ms",
            items,
        )
    ]
    there = "there are no workers" if not loading.workers else f"{figures.plural(loading.workers, 'worker')} for that"
    needed = math.ceil(loading.batch / max(computing, 1e-9))
    if needed > loading.workers:
        found.append(Evidence(f"{there}; to keep up with the steps takes {needed:,}", float(loading.workers)))
    return found


def _why(loading: LoadingRecord | None, moving: bool) -> str:
    if moving:
        return "moving a batch to the device takes longer than learning from it"
    if loading is None:
        return "making a batch takes longer than learning from it"
    if loading.collate > loading.item * loading.batch_size:
        return "putting the samples of a batch together takes longer than learning from them"
    return f"{loading.dataset}.__getitem__ takes longer to make a batch than learning from it does"


def _places(loading: LoadingRecord | None) -> tuple[Place, ...]:
    if loading is None:
        return ()
    dearest = loading.collate_place if loading.collate > loading.item * loading.batch_size else loading.item_place
    return () if dearest is None else (dearest,)


def _fix(loading: LoadingRecord | None, computing: float, moving: bool) -> Fix:
    if moving:
        return Fix("pin the memory, and move the next batch while this one is computed:",
                   ("DataLoader(dataset, pin_memory=True)", "batch.to(device, non_blocking=True)"))  # fmt: skip
    count = 4 if loading is None else _workers(loading, computing)
    return Fix(
        "load in parallel, and do the work of __getitem__ once",
        (f"DataLoader(dataset, num_workers={count}, persistent_workers=True)",),
    )


def _workers(loading: LoadingRecord, computing: float) -> int:
    """As many as it takes for one batch to be made while another is computed, as far as machines have them."""
    needed = math.ceil(loading.batch / max(computing, 1e-9))
    return max(min(max(needed, 2), _MOST_WORKERS), loading.workers + 1)


def _ms(seconds: float) -> str:
    return figures.short(1e3 * seconds)
