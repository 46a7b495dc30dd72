"""slow-operation: one line takes most of the step

What happens
    A decomposition, a sort, a loop over samples or a call into numpy takes longer than the whole network. It is easy to
    miss: it is one line, and the loss is right.

How it is recognised
    Only once a gate has failed: in a few steps Python's profiling hook times every function that your lines call, and
    torch's profiler names the operators that take the most time of their own, backward pass included. A line that
    takes half of the time is named. The re-run does not compute it again but uses what it gave before: what a step
    would take if the line took no time.

How to fix it
    Do it less often (every hundredth step, once per epoch), on less (a sample, a projection), with a cheaper stand-in
    (a few power iterations for a largest singular value, `topk` for a sort), or in one call for the whole batch.

What not to do
    A larger machine: one slow operation of many small pieces does not get faster with more cores.

When this is wrong
    The line is what the model is about: a single large matrix product may well be most of a step. Then the gate asks
    for more than this machine can do.
"""

from __future__ import annotations

from .. import figures, pace
from ..facts import Cure, Evidence, Fix, Symptom
from ..records.speed import CallRecord
from ..symptoms import PERFORMANCE
from ..trace import Trace
from . import Suspicion

RANK = 38
EXPLAINS = (PERFORMANCE,)

#: Of all operators' own time: smaller ones are no news.
_LARGE = 0.25


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if not pace.is_about_gates(trace, symptom):
        return None
    slowest = pace.dominant_call(trace)
    if slowest is None or slowest.place is None:
        return None
    share = figures.share(slowest.share)
    called = f"{slowest.name}()"
    evidence = [Evidence(f"{called} {_often(slowest)}: {share} of the time of a step", slowest.share, slowest.place)]
    large = [(name, part) for name, part in trace.speed.operators if part >= _LARGE]
    if large:
        told = ", ".join(f"{name} {figures.share(part)}" for name, part in large)
        evidence.append(Evidence(f"operators by their own time, backward pass included: {told}"))
    options = {"file": slowest.place.file, "line": slowest.place.line}
    cure = Cure("remembered_result", f"{called} not computed again", options)
    return Suspicion(
        statement=f"{called} takes {share} of a step",
        evidence=tuple(evidence),
        why="one line costs more than the rest of the step",
        places=(slowest.place,),
        fix=Fix("do it less often, on less, or with a cheaper stand-in"),
        not_this="a larger machine: it is one operation that takes the time",
        cures=(cure,) if slowest.torch else (),
    )


def _often(call: CallRecord) -> str:
    return "is called once" if call.calls == 1 else f"is called {call.calls:,} times"
