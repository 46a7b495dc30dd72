"""The range test of a learning rate: runs from the same start, in as many steps, at rates from low to high.

Next to a rate that is too high or too low it says what would work, and by how much the training's own is off: a cure
that divides by ten shows only that ten is enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from .. import wording
from ..analysis import rate_range
from ..analysis.course import end
from ..analysis.reference_points import points
from ..programs.plan import Look
from ..records.intervention import Cure
from ..records.rate_range import RateRange
from ..records.trace import Trace
from ..records.verdict import Evidence, Finding
from .examination import Examination

#: Steps of each run, at most. By judgement: 40, half of those of learns_from_data, show which rates get anywhere.
STEPS = 40
#: Fewer show no level to end at. By judgement: two thirds to fall, and a third of five losses or more.
_FEWEST = 12
#: Causes that say that the rate is off, and nothing about where it should be.
_ABOUT_THE_RATE = ("lr-too-high", "lr-too-low")


def measure(examination: Examination, steps: int = STEPS) -> RateRange:
    """As many runs as there is time for. Each is as bare as can be: nothing is looked at but the loss."""
    plain = replace(examination.rerun.until(steps).looking(Look(("loss_calls",), closer=True)), catch_errors=True)
    runs: dict[int, rate_range.Run] = {}
    rate, start, out_of_time = 0.0, 0.0, ""
    while (at := rate_range.next_rate(start, runs)) is not None:
        cure = Cure("learning_rate", f"learning rate x {rate_range.factor(at):g}", {"factor": rate_range.factor(at)})
        trace = examination.record(plain if at == 0 else plain.curing(cure))
        if trace.cut_short:
            out_of_time = trace.cut_short
            break
        if at == 0:
            rate = _own_rate(trace)
            if not rate or not trace.losses or not trace.loss_seen:
                return RateRange(rate, steps, start, why_not=_nothing(trace, rate))
            start = points(trace).start(trace.losses[0])
        whole = _came_to_its_end(trace, steps)
        runs[at] = (end(trace), rate_range.peak(trace.losses)) if whole else (None, math.inf)
    found = rate_range.range_of(rate, steps, start, runs) if runs else RateRange(rate, steps, start)
    return replace(found, low=None, high=None, best=None, why_not=out_of_time) if out_of_time else found


def with_rate_range(examination: Examination, findings: Sequence[Finding]) -> list[Finding]:
    """The first finding with one line more, if it is about a rate that a re-run has shown to be off."""
    first = findings[0] if findings else None
    known = examination.untreated
    if first is None or first.cause not in _ABOUT_THE_RATE or not first.confirmed or known is None:
        return list(findings)
    program = examination.program
    if program.start is None or not program.repeatable or examination.check.in_ranks:
        return list(findings)  # a watched test would run as a whole for each rate
    found = measure(examination, max(_FEWEST, min(STEPS, known.steps)))
    off = found.low is not None and not found.works
    agrees = off and (found.rate > (found.high or 0.0)) == (first.cause == _ABOUT_THE_RATE[0])
    if not agrees:  # over fewer steps another rate may do as well: that says nothing against the re-runs
        return list(findings)
    line = Evidence(found.words, found.rate)  # before the last, which only says what the rate is
    evidence = (*first.evidence[:-1], line, *first.evidence[-1:])
    return [replace(first, evidence=evidence), *findings[1:]]


def _own_rate(trace: Trace) -> float:
    """A warm-up begins at 0, or nearly: the rate is the one that it leads to."""
    found = [max((*record.rates, record.first_lr or 0.0)) for record in trace.wiring.optimizers.values()]
    return next((rate for rate in found if rate), 0.0)


def _came_to_its_end(trace: Trace, steps: int) -> bool:
    return trace.finite and trace.crash is None and trace.steps == steps


def _nothing(trace: Trace, rate: float) -> str:
    if trace.crash is not None:
        return f"a step raises {wording.with_article(trace.crash.kind)}"
    if not trace.losses or not trace.loss_seen:
        return "no loss was seen"
    return "no optimizer of torch has a learning rate here" if not rate else ""
