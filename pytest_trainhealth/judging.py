"""A check on a program: record, judge, and where the trace alone cannot decide, judge beside a control."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from .checks import UNCURED, Check, Judgement, NeedsControl, Passed
from .checks import check as find_check
from .facts import Cure
from .observe.recording import Plan, never
from .records.comparison import Comparison
from .trace import Trace


class Program(Protocol):
    """What can be run again from the same start: a `Training`, or a watched test."""

    @property
    def repeatable(self) -> bool: ...

    @property
    def why_not(self) -> str: ...

    @property
    def remarks(self) -> tuple[str, ...]: ...

    def record(self, plan: Plan) -> Trace: ...


@dataclass
class Examination:
    """One check on one program, with the steps spent on it so far."""

    program: Program
    check_name: str
    values: Mapping[str, Any]
    plan: Plan
    steps_spent: int = 0
    #: The run that decided, before any cure.
    first: Trace | None = None
    #: What was measured against another revision, where that was asked for.
    comparison: Comparison | None = None
    _controls: dict[str, Trace] = field(default_factory=dict)

    @property
    def check(self) -> Check:
        return find_check(self.check_name)

    def record(self, plan: Plan) -> Trace:
        trace = self.program.record(plan)
        trace.comparison = self.comparison
        self.steps_spent += trace.steps
        return trace

    def judged(self, plan: Plan, trace: Trace | None = None) -> tuple[Trace, Judgement]:
        trace = trace or self.record(plan)
        uncured = self.first
        self.first = self.first or trace
        controls: dict[str, Trace] = {} if uncured is None or not plan.cures else {UNCURED: uncured}
        judgement = self.check.judge(trace, self.values, controls)
        while isinstance(judgement, NeedsControl):
            wanted = judgement.control
            if not judgement.once or wanted.label not in self._controls:
                alone = replace(plan, cures=(*plan.cures, wanted), longest=trace.steps, enough=never, drive=None)
                self._controls[wanted.label] = self.record(alone)
            controls[wanted.label] = self._controls[wanted.label]
            judgement = self.check.judge(trace, self.values, controls)
        return trace, judgement

    def with_cures(self, *cures: Cure) -> tuple[Trace, bool]:
        """The trace of a re-run with these cures, and whether it is healthy."""
        trace, judgement = self.judged(replace(self.plan, cures=cures, drive=None))
        return trace, isinstance(judgement, Passed) and trace.crash is None

    def result(self, trace: Trace) -> str:
        if trace.crash is not None:
            return f"raises {trace.crash.kind}"
        return self.check.result(trace, self.first)

    def clearly_better(self, trace: Trace) -> bool:
        """Of a re-run that does not pass: it shows what was the matter all the same, where that is one of degree."""
        better = getattr(self.check, "clearly_better", None)
        return better is not None and self.first is not None and bool(better(trace, self.first))
