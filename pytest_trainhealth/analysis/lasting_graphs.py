"""Whether the graphs of all steps are kept, though an update has made each of them useless.

An update writes to the weights that a graph was computed with, so no right gradient comes out of it afterwards. One, or
the last few, are kept by many programs for no reason; what goes at some time does no harm. So every single one has to
be there for long, and past the end of the data, where lists of an epoch are emptied.
"""

from __future__ import annotations

from ..records.trace import Trace

#: Steps. By judgement: longer than windows of moving averages and the intervals in which most people log, and short
#: enough to be waited for.
_FOR_LONG = 128
#: By judgement: the second pass shows what is emptied at the end of the first.
_PASSES = 2


def undecided(trace: Trace) -> bool:
    """None was let go of so far: more steps tell."""
    return bool(trace.wiring.lasting_graphs.steps) and not all_kept(trace)


def all_kept(trace: Trace) -> bool:
    kept = trace.wiring.lasting_graphs
    return kept.steps >= max(_FOR_LONG, _PASSES * kept.a_pass)


def kept_within_a_pass(trace: Trace) -> bool:
    """For long, but perhaps only until the data end, which is not seen here."""
    return trace.wiring.lasting_graphs.steps >= _FOR_LONG and not all_kept(trace)
