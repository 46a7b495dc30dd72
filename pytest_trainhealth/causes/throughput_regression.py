"""throughput-regression: a step takes longer than it did at another revision

What happens
    A change made the training slower, and nothing else shows it: the loss is unchanged, the tests pass, and the next
    long run costs a fifth more.

How severe it is
    Low for the model: it trains as well, later and for more money.

How it is recognised
    Both revisions run in the same minute on the same machine, each in its own process, and take turns of a twentieth of
    a second (A B B A). Only the ratios of neighbours count: the whole 99 % confidence interval of their median has to
    be beyond the tolerance. Then a few steps of both run under torch's profiler, and the operators that take longer are
    named.

How to fix it
    Look at what the change does in every step: an extra layer or loss term, a copy to another device or dtype, a
    `.item()` or print that waits for the device, work that used to be done once. `git bisect run` with this test finds
    the commit.

What not to do
    Raise the tolerance until it passes: ten changes of 9 % each make the training 2.4 times slower.

How to prevent it
    Keep `keeps_throughput` with `--trainhealth-against` the target branch in CI, where the change that costs is still
    one change.

When this is wrong
    The change is worth its price: a larger model is slower. Then compare with a revision that has it. Dependencies that
    the other revision requires in other versions are not reinstalled; a note says where they differ.
"""

from __future__ import annotations

from .. import wording
from ..analysis.comparison import found, times
from ..records.comparison import Comparison, OperatorTime
from ..records.symptoms import PERFORMANCE
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import KEEPS_THROUGHPUT

GROUP = KEEPS_THROUGHPUT
ORDER = 0
EXPLAINS = (PERFORMANCE,)
#: The fix is another program; a re-run of this one cannot show it.
CURABLE = False
#: Of the whole step: a loader that became slower is what to look at then, and none of the operators shows it. By
#: judgement: less than a tenth is within what waiting differs from run to run.
_WAITS_LONGER = 0.1


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    comparison = trace.comparison
    if comparison is None or comparison.outcome != "slower":
        return None
    taken = f"{times(comparison)} ({comparison.pairs} pairs of {_rounds(comparison.steps_a_round)})"
    spread = f"99 % confidence interval {comparison.low:.2f} to {comparison.high:.2f} times the time"
    grown = comparison.grown
    return Suspicion(
        statement=f"a step takes {found(comparison)}",
        evidence=(
            *_waiting(comparison),
            *((Evidence(_operators(grown), grown[0].growth),) if grown else ()),
            Evidence(taken, comparison.current),
            Evidence(spread, comparison.ratio),
        ),
        why="what changed since then costs time in every step",
        fix=Fix(f"look for work that the change added to every step: git diff {comparison.revision}"),
        not_this="a larger tolerance: many small losses add up",
    )


def _waiting(comparison: Comparison) -> tuple[Evidence, ...]:
    grew = comparison.wait_current - comparison.wait_other
    if grew <= _WAITS_LONGER * comparison.other:
        return ()
    other, current = (wording.short(1e3 * seconds) for seconds in (comparison.wait_other, comparison.wait_current))
    return (Evidence(f"waiting for data {other} -> {current} ms a step", grew),)


def _operators(grown: tuple[OperatorTime, ...]) -> str:
    text = [f"{row.name} {wording.short(row.other)} -> {wording.short(row.current)} ms" for row in grown[:3]]
    return f"operators that grew, own time in a step: {', '.join(text)}"


def _rounds(steps: int) -> str:
    return f"rounds of {wording.plural(steps, 'step')}"
