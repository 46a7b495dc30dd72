"""data-loading-bottleneck: steps wait for their data longer than they compute

What happens
    The model is done and waits for the next batch. Whatever you pay for the accelerator, most of it goes into waiting.

How it is recognised
    Each step is split into waiting for the batch and everything else. The re-run reads the same batches before the
    clock starts.

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

from statistics import median

from .. import figures
from ..checks.keeps_throughput import WARM_UP
from ..facts import Cure, Evidence, Fix, Symptom
from ..symptoms import PERFORMANCE
from ..trace import Trace
from . import Suspicion

RANK = 0
EXPLAINS = (PERFORMANCE,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    waits, computes = trace.waits[WARM_UP:], trace.computes[WARM_UP:]
    if not computes:
        return None
    waiting, computing = median(waits), median(computes)
    if waiting <= 0.5 * computing:
        return None
    wait, work = figures.short(1e3 * waiting), figures.short(1e3 * computing)
    return Suspicion(
        statement=f"each step waits {wait} ms for data and computes {work} ms",
        evidence=(
            Evidence(
                f"waiting {wait} ms, computing {work} ms (medians of {len(computes)} steps)",
                waiting,
            ),
        ),
        why="making a batch takes longer than learning from it",
        fix=Fix(
            "load in parallel, and do the work of __getitem__ once",
            ("DataLoader(dataset, num_workers=4, persistent_workers=True)",),
        ),
        not_this="a faster accelerator: the wait stays the same",
        cures=(Cure("preloaded_batches", "the same batches, preloaded", {"count": 8}),),
    )
