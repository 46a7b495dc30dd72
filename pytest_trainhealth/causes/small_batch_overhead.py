"""small-batch-overhead: a step takes as long with many samples as with few

What happens
    Starting an operation takes microseconds, whatever it works on. With a small batch that is most of a step: the
    machine is idle, and most of the time goes into Python, launches and the optimizer.

How severe it is
    Low for the model: most of the time is overhead.

How it is recognised
    Too few samples per second are processed, a step on several batches joined into one takes hardly longer, and no
    single line takes most of it. The re-run joins them, and shows how many times as many samples it processes.

How to fix it
    A larger batch; the learning rate may have to grow with it. Where memory does not allow one: a fused optimizer
    (`AdamW(..., fused=True)`), `torch.compile`, or CUDA graphs.

What not to do
    More workers, or a faster accelerator: neither makes a launch shorter.

How to prevent it
    Measure samples per second for two sizes before choosing one; `keeps_throughput` does.

When this is wrong
    The batch is small on purpose, because the gradient has to be noisy or memory is short. Then require fewer samples
    per second.
"""

from __future__ import annotations

from .. import wording
from ..analysis import timing
from ..analysis.hotspots import dominant_call
from ..records.intervention import Cure
from ..records.symptoms import PERFORMANCE
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import KEEPS_THROUGHPUT

GROUP = KEEPS_THROUGHPUT
ORDER = 22
EXPLAINS = (PERFORMANCE,)

#: Joined batches take less than half of what they take one by one: more than half of a step is overhead. By judgement:
#: below half, larger batches are no advice worth following.
_OVERHEAD = 0.5


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    joined, size = trace.speed.joined, trace.batch_size
    if joined is None or not size or not timing.too_few_samples(symptom) or dominant_call(trace) is not None:
        return None
    one_by_one = joined.count * joined.alone
    if joined.joined >= _OVERHEAD * one_by_one:
        return None
    alone, wide = wording.short(1e3 * joined.alone), wording.short(1e3 * joined.joined)
    samples = wording.plural(size, "sample")
    return Suspicion(
        statement=f"a step takes {alone} ms for {samples}, and {wide} ms for {joined.count * size:,}",
        evidence=(
            Evidence(
                f"{joined.count} times the samples take {wording.short(joined.joined / joined.alone)} times as long",
                joined.joined / joined.alone,
            ),
        ),
        why="most of a step goes into starting operations, which takes as long for one sample as for many",
        fix=Fix("make batches larger:", (f"DataLoader(dataset, batch_size={joined.count * size})",)),
        not_this="more workers, or a faster accelerator: neither starts operations sooner",
        cures=(Cure("larger_batches", f"{joined.count} batches joined into one", {"count": joined.count}),),
    )
