"""thread-oversubscription: more threads than processors

What happens
    torch splits an operation among its threads and waits for the last of them. With more threads than processors some
    have to wait for their turn, and all the others wait for them: a step may take ten times as long. It happens in
    containers that see fewer processors than the machine has, with `OMP_NUM_THREADS` set for another machine, when
    every DataLoader worker or every process of a test run brings its own threads, and while other work runs.

How severe it is
    Low for the model: it waits for itself.

How it is recognised
    By the number of torch's threads and worker processes, compared with the processors that this process may use; or by
    several threads and a load average above the number of processors. The re-run has one thread.

How to fix it
    `torch.set_num_threads()` or `OMP_NUM_THREADS` with the available processors, divided among the processes; one in
    each DataLoader worker (`worker_init_fn`), which is torch's default.

What not to do
    More workers: they only add to the load.

How to prevent it
    Set the number of threads once, from the cores that there are, divided by workers and processes. `keeps_throughput`
    measures it.

When this is wrong
    Threads that sleep (waiting for a disk or the network) may well outnumber the processors; torch's do not sleep.
"""

from __future__ import annotations

from .. import wording
from ..analysis import timing
from ..records.intervention import Cure
from ..records.symptoms import PERFORMANCE
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import KEEPS_THROUGHPUT

GROUP = KEEPS_THROUGHPUT
ORDER = 21
EXPLAINS = (PERFORMANCE,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    threads, cores, workers = trace.speed.threads, trace.speed.cores, trace.speed.workers
    load = trace.speed.load or 0.0
    # what else the machine does takes as many processors away as workers would
    busy = load > max(cores, threads)
    if threads <= 1 or (threads + workers <= cores and not busy) or not timing.compares_no_revision(trace):
        return None
    context = f" and {wording.plural(workers, 'worker')}" if workers else ""
    context = f"{context} alongside other work" if busy else context
    has = wording.plural(cores, "processor")
    evidence = [Evidence(f"{threads} threads{context}, and this process may use {has}", float(threads))]
    if busy:
        evidence.append(
            Evidence(f"load average {load:.1f}: that many processes wanted a processor in the last minute", load)
        )
    return Suspicion(
        statement=f"torch uses {threads} threads{context} on {has}",
        evidence=tuple(evidence),
        certainty="likely" if threads > cores else "possible",
        why="an operation ends with its last thread, and that one waits for a processor",
        fix=Fix(
            "use as many threads as there are processors for them:",
            (f"torch.set_num_threads({1 if busy else max(cores - workers, 1)})",),
        ),
        not_this="more workers: they only add to the load",
        cures=(Cure("threads", "one thread", {"count": 1}),),
    )
