"""A check on a program: records a run and judges it, against a control run if the trace alone cannot decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import wording
from ..analysis.kept_of_a_run import RERUN_POINTS, curve
from ..analysis.run_failures import broke_down
from ..analysis.timing import fast_step
from ..analysis.unread import not_read
from ..budget.budget import Budget
from ..checks import Check
from ..observe.run.hanging import DidNotComeBack
from ..observe.source.engine_frames import engine_frame
from ..programs.plan import Look, RunPlan
from ..programs.program import Program
from ..records.intervention import Cure
from ..records.judgement import UNTREATED, CouldNotJudge, FailedRun, Judgement, NeedsControl, OtherNumbers, Passed
from ..records.recorded import Curve
from ..records.symptoms import row_of
from ..records.trace import Trace
from ..records.verdict import Symptom

Better = Callable[[Trace, FailedRun], bool]


@dataclass(frozen=True)
class Attempt:
    """A re-run with cures: its result in a few characters, whether it is healthy, and whether it confirms the cause."""

    result: str
    healthy: bool
    confirms: bool
    #: The time budget ended before the run did: nothing was shown.
    cut_short: bool = False
    #: Of two that heal the smaller is better: it took fewer steps to keep the promise, or ended lower.
    distance: tuple[int, float] = (0, 0.0)
    #: For reports.
    losses: Curve | None = None


@dataclass
class Examination:
    """One check on one program, with the steps spent on it so far."""

    program: Program
    check: Check
    values: Mapping[str, Any]
    #: The plan of the run that decides. All other runs follow `rerun`.
    plan: RunPlan
    #: Causes that are silenced: nothing is explained by them.
    ignored_causes: frozenset[str] = frozenset()
    #: Parameters whose faults are accepted: a trace is judged as if they were not there.
    accepted: frozenset[str] = frozenset()
    #: At the first run, which checks that come later may judge, too. None: as at the others.
    first_look: Look | None = None
    #: Adds what is known already to the first run.
    completed: Callable[[Trace], Trace] | None = None
    steps_spent: int = 0
    #: The run that decided, before any cure.
    untreated: Trace | None = None
    _controls: dict[str, Trace] = field(default_factory=dict)
    #: Each run that was judged, with the controls it was judged by.
    _pairs: list[tuple[Trace, Mapping[str, Trace]]] = field(default_factory=list)

    @property
    def rerun(self) -> RunPlan:
        """The plan of every run but the first: these are not timed."""
        return self.plan.untimed()

    @property
    def budget(self) -> Budget:
        return self.plan.budget

    @engine_frame
    def record(self, plan: RunPlan) -> Trace:
        """The one way to a run: none begins once the time is used up. Its trace then has no steps, and says why."""
        if self.budget.over():
            return Trace(cut_short=self.budget.used_up(f"0 of at most {wording.plural(plan.max_steps, 'step')} taken"))
        self.budget.next_run(plan.described)
        try:
            trace = self.program.record(plan)
        except DidNotComeBack as hung:  # before the first step
            hung.what = "what builds the training"
            return Trace(cut_short=str(hung))
        self.steps_spent += trace.steps
        return trace

    def run_and_judge(self, plan: RunPlan, trace: Trace | None = None) -> tuple[Trace, Judgement]:
        before = self.untreated
        trace = trace or (self._first(plan) if before is None else self.record(plan))
        self.untreated = before or trace
        cures = plan.treatment.cures
        controls: dict[str, Trace] = {} if before is None or not cures else {UNTREATED: before}
        judgement = self._judged(trace, controls)
        while isinstance(judgement, NeedsControl):
            wanted = judgement.control
            if not judgement.once or wanted.label not in self._controls:
                as_long = plan.untimed() if judgement.may_stop else plan.untimed().until(judgement.steps or trace.steps)
                if isinstance(wanted, OtherNumbers):
                    control_plan = replace(as_long, seed_offset=plan.seed_offset + wanted.seed_offset).curing(*cures)
                else:
                    control_plan = as_long.curing(*cures, wanted)
                control = self.record(control_plan)
                if control.cut_short:  # a comparison with half of a run shows nothing
                    reason = f"{control.cut_short} ({wanted.label})"
                    return replace(trace, cut_short=reason), CouldNotJudge(reason)
                self._controls[wanted.label] = control
            controls[wanted.label] = self._controls[wanted.label]
            judgement = self._judged(trace, controls)
        self._pairs.append((trace, controls))
        return trace, judgement

    def _first(self, plan: RunPlan) -> Trace:
        trace = self.record(plan if self.first_look is None else plan.looking(self.first_look))
        return trace if self.completed is None else self.completed(trace)

    def _judged(self, trace: Trace, controls: Mapping[str, Trace]) -> Judgement:
        """A run that was cut short can keep a promise or break down, but what it has not come to shows nothing."""
        if trace.cut_short and not trace.steps:
            return CouldNotJudge(trace.cut_short)
        unread = not_read(trace, self.check.signals)
        if unread and broke_down(trace) is None:
            return CouldNotJudge(unread)
        judgement = self.check.judge(self._without_accepted(trace), self.values, controls)
        if not trace.cut_short or isinstance(judgement, Passed) or broke_down(trace) is not None:
            return judgement
        figures = judgement.figures if isinstance(judgement, CouldNotJudge) else {}
        return CouldNotJudge(trace.cut_short, figures)

    def _without_accepted(self, trace: Trace) -> Trace:
        if not self.accepted:
            return trace
        left = {name: record for name, record in trace.wiring.parameters.items() if name not in self.accepted}
        return replace(trace, wiring=replace(trace.wiring, parameters=left))

    def with_controls(self, trace: Trace) -> Trace:
        """A run that was judged, together with the runs that it was compared with."""
        found = next((controls for run, controls in self._pairs if run is trace), {})
        return replace(trace, compared_with=dict(found))

    def run_with(self, *cures: Cure) -> tuple[Trace, bool]:
        """The trace of a re-run with these cures, and whether that run is healthy."""
        trace, judgement = self.run_and_judge(self.rerun.curing(*cures))
        return trace, isinstance(judgement, Passed) and trace.crash is None

    def try_cures(self, cures: Sequence[Cure], symptom: Symptom) -> Attempt:
        trace, healthy = self.run_with(*cures)
        if trace.cut_short and not healthy:
            return Attempt("", healthy=False, confirms=False, cut_short=True)
        failed_run = FailedRun(self.untreated or trace, symptom)
        confirms = healthy or _all(self.check.clearly_better, [trace], [failed_run])
        if confirms and row_of(symptom).comes_and_goes:
            return self._once_more(cures, trace, healthy, failed_run)
        distance = (trace.steps, trace.losses[-1] if trace.losses else math.inf)
        return Attempt(self._result(trace, failed_run), healthy, confirms, distance=distance, losses=_losses(trace))

    def _once_more(self, cures: Sequence[Cure], trace: Trace, healthy: bool, failed_run: FailedRun) -> Attempt:
        """The machine may have been busy before and quiet since. So the training runs once more without the cure,
        which has to be slow again, and once more with it, which has to be fast again. Every cured run is compared
        with every untreated one."""
        untreated, judgement = self.run_and_judge(self.rerun)
        again, healthy_again = self.run_with(*cures)
        if untreated.cut_short or again.cut_short:
            return Attempt("", healthy=False, confirms=False, cut_short=True)
        cured, before = [trace, again], [failed_run, replace(failed_run, trace=untreated)]
        both = healthy and healthy_again and not isinstance(judgement, Passed)
        healthy = both and _all(self.check.is_faster, cured, before)
        confirms = healthy or _all(self.check.clearly_better, cured, before)
        # show the fastest run of each kind or, if the cure is not confirmed, the run that speaks against it
        shown = (min if confirms else max)(cured, key=_seconds)
        result = self._result(shown, min(before, key=lambda each: _seconds(each.trace)))
        return Attempt(result, healthy, confirms, losses=_losses(shown))

    def _result(self, trace: Trace, failed_run: FailedRun) -> str:
        return f"raises {trace.crash.kind}" if trace.crash is not None else self.check.result(trace, failed_run)


def _all(better: Better | None, cured: Sequence[Trace], failed: Sequence[FailedRun]) -> bool:
    """Every cured run is better than every failed one. False if the check has no notion of better."""
    return better is not None and all(better(trace, each) for trace in cured for each in failed)


def _losses(trace: Trace) -> Curve | None:
    return curve("the re-run", trace.losses, RERUN_POINTS) if trace.loss_seen and trace.losses else None


def _seconds(trace: Trace) -> float:
    return fast_step(trace) or math.inf
