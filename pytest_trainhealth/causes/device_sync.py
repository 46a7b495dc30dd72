"""device-sync: Python waits for the device again and again within a step

What happens
    An accelerator works through a queue while Python already prepares what comes next. `.item()`, `.cpu()`,
    `float(tensor)`, `if tensor:` and `nonzero()` need a value, so Python waits until the queue is empty; afterwards the
    device waits for Python. A few of these per layer, and neither is ever busy.

How severe it is
    Low for the model: the device waits for Python.

How it is recognised
    A gate has failed, the tensors are on an accelerator, and one step makes Python wait more than a few times. Lines
    and counts are shown. On a CPU there is nothing to wait for, and this is never named.

How to fix it
    Keep running sums on the device (`total += loss.detach()`) and read them every hundredth step; use `torch.where`
    instead of `if tensor.any():`; clip with `clip_grad_norm_`, which does not read the norm.

What not to do
    `torch.cuda.synchronize()` to "make timing right" in the training itself: that is one more wait.

How to prevent it
    Read numbers (`.item()`, `.cpu()`, printing) every hundred steps, not in each. `keeps_throughput` on the accelerator
    counts them.

When this is wrong
    One wait per step (the loss is printed) costs almost nothing, and is not counted. Where the device is busy all the
    time despite the waits, they do no harm.
"""

from __future__ import annotations

from .. import wording
from ..analysis import timing
from ..records.symptoms import PERFORMANCE
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import KEEPS_THROUGHPUT

GROUP = KEEPS_THROUGHPUT
ORDER = 24
EXPLAINS = (PERFORMANCE,)
#: A value cannot be read without waiting for it, so no re-run can do without the wait.
CURABLE = False

#: Reading the loss, a metric and a norm of the gradient is what careful loops do, too. By judgement: one for each of
#: these three.
_HARMLESS = 3


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    syncs = [sync for sync in trace.speed.syncs if sync.device != "cpu"]
    total = sum(sync.per_step for sync in syncs)
    if total <= _HARMLESS or not timing.compares_no_revision(trace):
        return None
    syncs.sort(key=lambda sync: -sync.per_step)
    worst = syncs[0]
    text = [Evidence(f"{s.name.strip('_')}(): {_calls(s.per_step)} in a step", s.per_step, s.place) for s in syncs[:3]]
    return Suspicion(
        statement=f"Python waits for the {worst.device} device {wording.short(total)} times in every step",
        evidence=tuple(text),
        why="the device is idle while Python prepares what comes after each wait",
        places=tuple(s.place for s in reversed(syncs[:3]) if s.place is not None),
        fix=Fix("keep a running sum on the device, and read it now and then:", ("total += loss.detach()",)),
        not_this="a faster device: it would wait for longer",
    )


def _calls(number: float) -> str:
    return "1 call" if number == 1 else f"{wording.short(number)} calls"
