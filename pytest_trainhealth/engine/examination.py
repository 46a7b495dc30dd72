"""A check on a program: record, judge, and where the trace alone cannot decide, judge beside a control."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..analysis.timing import fast_step
from ..checks import Check
from ..checks import check as find_check
from ..observe.source.engine_frames import engine_frame
from ..programs.plan import RunPlan, never
from ..programs.program import Program
from ..records.intervention import Cure
from ..records.judgement import UNTREATED, FailedRun, Judgement, NeedsControl, Passed
from ..records.symptoms import PERFORMANCE
from ..records.trace import Trace
from ..records.verdict import Symptom


@dataclass
class Examination:
    """One check on one program, with the steps spent on it so far."""

    program: Program
    check_name: str
    values: Mapping[str, Any]
    plan: RunPlan
    steps_spent: int = 0
    #: The run that decided, before any cure.
    untreated: Trace | None = None
    _controls: dict[str, Trace] = field(default_factory=dict)

    @property
    def check(self) -> Check:
        return find_check(self.check_name)

    @engine_frame
    def record(self, plan: RunPlan) -> Trace:
        trace = self.program.record(plan)
        self.steps_spent += trace.steps
        return trace

    def run_and_judge(self, plan: RunPlan, trace: Trace | None = None) -> tuple[Trace, Judgement]:
        trace = trace or self.record(plan)
        untreated_run = self.untreated
        self.untreated = self.untreated or trace
        controls: dict[str, Trace] = {} if untreated_run is None or not plan.cures else {UNTREATED: untreated_run}
        judgement = self.check.judge(trace, self.values, controls)
        while isinstance(judgement, NeedsControl):
            wanted = judgement.control
            if not judgement.once or wanted.label not in self._controls:
                alone = replace(plan, cures=(*plan.cures, wanted), max_steps=trace.steps, stop_when=never, timer=None)
                self._controls[wanted.label] = self.record(alone)
            controls[wanted.label] = self._controls[wanted.label]
            judgement = self.check.judge(trace, self.values, controls)
        return trace, judgement

    def run_with(self, *cures: Cure) -> tuple[Trace, bool]:
        """The trace of a re-run with these cures, and whether it is healthy."""
        trace, judgement = self.run_and_judge(replace(self.plan, cures=cures, timer=None))
        return trace, isinstance(judgement, Passed) and trace.crash is None

    def try_cures(self, cures: Sequence[Cure], symptom: Symptom) -> tuple[str, bool, bool]:
        """What comes of these cures in a few characters, whether it is healthy, and whether it confirms the cause."""
        trace, healthy = self.run_with(*cures)
        failed_run = FailedRun(self.untreated or trace, symptom)
        confirms = healthy or self._all("clearly_better", [trace], [failed_run])
        if confirms and symptom.category == PERFORMANCE:
            return self._once_more(cures, trace, healthy, failed_run)
        return self._result(trace, failed_run), healthy, confirms

    def _once_more(
        self, cures: Sequence[Cure], trace: Trace, healthy: bool, failed_run: FailedRun
    ) -> tuple[str, bool, bool]:
        """The machine may have been busy until then and quiet since: without the cure it has to be slow still, and with
        it fast again, each time against each time."""
        untreated_run, judgement = self.run_and_judge(replace(self.plan, timer=None))
        again, healthy_again = self.run_with(*cures)
        cured, before = [trace, again], [failed_run, replace(failed_run, trace=untreated_run)]
        both = healthy and healthy_again and not isinstance(judgement, Passed)
        healthy = both and self._all("is_faster", cured, before)
        confirms = healthy or self._all("clearly_better", cured, before)
        # told is the fastest of each, or where that proves nothing, what speaks against it
        shown = (min if confirms else max)(cured, key=_seconds)
        return self._result(shown, min(before, key=lambda each: _seconds(each.trace))), healthy, confirms

    def _result(self, trace: Trace, failed_run: FailedRun) -> str:
        return f"raises {trace.crash.kind}" if trace.crash is not None else self.check.result(trace, failed_run)

    def _all(self, requested: str, cured: Sequence[Trace], failed_run: Sequence[FailedRun]) -> bool:
        """Of re-runs: they show what was the matter, where that is one of degree."""
        answers = getattr(self.check, requested, None)
        return answers is not None and all(answers(trace, each) for trace in cured for each in failed_run)


def _seconds(trace: Trace) -> float:
    return fast_step(trace) or math.inf
