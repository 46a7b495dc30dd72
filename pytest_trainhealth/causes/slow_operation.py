"""slow-operation: one line or one loop takes most of the step

What happens
    A decomposition, a sort, a loop over samples or time steps or a call into numpy takes longer than the whole network.
    It is easy to miss: it is one line, and the loss is right.

How severe it is
    Low for the model: one line is paid for in every step.

How it is recognised
    Only once a gate has failed. In a few steps Python's profiling hook times every function that your lines call, in a
    few others its tracing hook times the lines themselves, and torch's profiler names the operators that take the most
    time of their own, backward pass included. It names a function that takes 40 % of a step, a loop of 8 or more rounds
    that takes 60 % of the forward pass (loops over layers do not count), or a line that does. The re-run does not
    compute it again but reuses the earlier result: the time of a step if the line took no time. A loop has no such
    re-run.

How to fix it
    Do it less often (every hundredth step, once per epoch), on less (a sample, a projection), with a cheaper stand-in
    (a few power iterations for a largest singular value, `topk` for a sort), or in one call for the whole batch:
    `cumsum` or a convolution for a running mean, `nn.GRU` for a loop over a cell, padded samples for a loop over them.

What not to do
    A larger machine: one slow operation of many small pieces does not get faster with more cores.

How to prevent it
    No Python loop over samples or pixels inside a step. `keeps_throughput` names the line.

When this is wrong
    The line is what the model is about: a single large matrix product may well be most of a step. Then the gate
    requires more than this machine can do.
"""

from __future__ import annotations

from typing import Any

from .. import wording
from ..analysis import timing
from ..analysis.hotspots import describe_operators, hotspot
from ..records.intervention import Cure
from ..records.symptoms import PERFORMANCE
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import KEEPS_THROUGHPUT

GROUP = KEEPS_THROUGHPUT
ORDER = 38
EXPLAINS = (PERFORMANCE,)

#: Of all operators' own time: smaller ones are no news. By judgement: without the whole of it a step would take three
#: quarters of the time.
_LARGE = 0.25

_WHY_LOOP = "many small operations, one after the other, cost more than the rest of the step"
_FIX_LOOP = "do all rounds in one call: an operation for the whole batch or sequence, or a layer with its own loop"


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    slowest = hotspot(trace)
    if slowest is None or not timing.compares_no_revision(trace):
        return None
    share = f"{wording.share(slowest.share)} of {slowest.of}"
    evidence = [Evidence(f"{slowest.evidence}: {share}", slowest.share, slowest.place)]
    large = [(name, part) for name, part in trace.speed.operators if part >= _LARGE]
    if large:
        evidence.append(Evidence(f"operators by their own time, backward pass included: {describe_operators(large)}"))
    options: dict[str, Any] = {"file": slowest.place.file, "line": slowest.place.line}
    if slowest.of != "a step":
        options["whole_line"] = True
    cure = Cure("cached_result", f"{slowest.text} not computed again", options)
    return Suspicion(
        statement=f"{slowest.text} takes {share}",
        evidence=tuple(evidence),
        why=_WHY_LOOP if slowest.is_loop else "one line costs more than the rest of the step",
        places=(slowest.place,),
        fix=Fix(_FIX_LOOP if slowest.is_loop else "do it less often, on less, or with a cheaper stand-in"),
        not_this=f"a larger machine: {'each round waits for the last' if slowest.is_loop else 'it is one operation'}",
        cures=(cure,) if slowest.can_be_remembered else (),
    )
