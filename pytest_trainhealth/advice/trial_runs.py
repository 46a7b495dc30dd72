"""Makes the runs: each change beside the training as it is, from the same start, with the same number of steps.

A change that is to make steps faster is timed in turns, A B and then B A: what happens to the machine happens to both,
and only their ratio counts. For a change that only learns faster, one run of the training as it is serves all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from ..observe.run.hanging import DidNotComeBack
from ..programs.plan import Look, RunPlan
from ..programs.program import Program
from ..records.advice import PairOfRuns, TimedRun
from ..records.intervention import Cure
from ..records.trace import Trace
from .kept_pairs import KeptPairs
from .panel import Change

#: Steps whose time does not count: memory pools fill, workers start, code is compiled. As in compare/pairing.py, 5.
_WARM_UP = 5
#: The name under which runs of the training as it is are kept.
_AS_IT_IS = ""


class TrialRuns:
    def __init__(self, program: Program, plan: RunPlan, kept: KeptPairs) -> None:
        self._program, self._plan, self._kept = program, plan, kept

    def pair(self, change: Change, seed: int) -> PairOfRuns | None:
        """None where the time did not suffice."""
        known = self._kept.get(change.name, seed)
        if known is not None:
            return known
        cures = change.cures
        looked_into = not change.slow_start  # a compiled step would be compiled once more for a closer look
        if not change.timed:
            unchanged = self.unchanged(seed)
            changed = None if unchanged is None else self._run(seed, cures)
        elif seed % 2:
            unchanged = self._run(seed)
            changed = None if unchanged is None else self._run(seed, cures, look=looked_into)
        else:
            changed = self._run(seed, cures, look=looked_into)
            unchanged = None if changed is None else self._run(seed)
        if unchanged is None or changed is None:
            return None
        pair = PairOfRuns(seed, unchanged, changed)
        self._kept.add(change.name, pair)
        return pair

    def unchanged(self, seed: int) -> TimedRun | None:
        known = self._kept.get(_AS_IT_IS, seed)
        if known is not None:
            return known.unchanged
        run = self._run(seed)
        if run is not None:
            self._kept.add(_AS_IT_IS, PairOfRuns(seed, run, TimedRun()))
        return run

    def _run(self, seed: int, cures: tuple[Cure, ...] = (), look: bool = True) -> TimedRun | None:
        run, _ = record(self._program, self._plan, seed, cures, look=look)
        return None if run.cut_short else run


def record(
    program: Program, plan: RunPlan, seed: int, cures: tuple[Cure, ...] = (), *, look: bool = True
) -> tuple[TimedRun, Trace]:
    """One run with other random numbers than every check has had."""
    signals = ("kept_for_backward",) if look else ()
    wanted = replace(plan.curing(*cures).looking(Look(signals)), seed_offset=seed, catch_errors=True)
    if plan.budget.over():
        trace = Trace(cut_short=plan.budget.used_up("no run begun"))
    else:
        try:
            trace = program.record(wanted)
        except DidNotComeBack as hung:
            trace = Trace(cut_short=str(hung))
    return _timed(trace, plan.max_steps), trace


def _timed(trace: Trace, steps: int) -> TimedRun:
    broken = ""
    if trace.crash is not None:
        broken = f"raises {trace.crash.kind}: {trace.crash.message.partition(chr(10))[0]}"
    elif trace.nonfinite is not None or not all(map(math.isfinite, trace.losses)):
        broken = "the loss is not finite"
    elif not trace.loss_connected or not trace.loss_seen:
        broken = "no loss was seen"
    elif trace.applied.without_effect:
        broken = "it has no effect here"
    elif not trace.cut_short and trace.steps < steps:
        broken = f"it ended after {trace.steps} steps"
    return TimedRun(
        tuple(trace.losses),
        _seconds(trace),
        trace.batch_size,
        trace.speed.kept_for_backward,
        broken,
        cut_short=bool(trace.cut_short) and not broken,
    )


def _seconds(trace: Trace) -> float:
    """Of a step while nothing else used the processor: the lower decile, as in `analysis.timing.fast_step`, which says
    how much steadier that is. Workers bring several batches at once and then none: what that waits counts as it is."""
    computes, waits = trace.speed.computes[_WARM_UP:], trace.speed.waits[_WARM_UP:]
    if not computes:
        return 0.0
    waited = fmean(waits[: len(computes)]) if trace.speed.worker_starts else _lower_decile(waits)
    return _lower_decile(computes) + waited


def _lower_decile(seconds: Sequence[float]) -> float:
    return sorted(seconds)[len(seconds) // 10]
