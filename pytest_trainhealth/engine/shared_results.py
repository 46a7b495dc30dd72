"""What the checks of one training share: the causes found so far, and the runs that more than one of them can judge.

All runs of a training start from the same point with the same random numbers, so a run that one check has recorded is,
step for step, the run that another check would record. And what was seen of the data is the same in each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..checks import Check
from ..checks import check as find_check
from ..records.intervention import Cure
from ..records.survey import SurveyRecord
from ..records.trace import Trace
from ..records.verdict import Finding

if TYPE_CHECKING:
    from ..programs.plan import Look
    from ..programs.program import Program

#: The signal that looks at the data alone, whatever the steps.
_OF_THE_DATA = "survey"


@dataclass(frozen=True)
class KnownCause:
    """A cause that a check of this training has found, with the cure that confirmed it, if there is one."""

    finding: Finding
    cure: Cure | None = None


@dataclass
class SharedResults:
    known: list[KnownCause] = field(default_factory=list)
    #: Whether the training has `val_data`; None before the first check has seen it.
    has_val_data: bool | None = None
    #: The checks of a battery, in the order in which they run.
    wanted: tuple[str, ...] = ()
    #: What a look through the data has shown.
    survey: SurveyRecord | None = None
    #: Each run, with the signals that it was looked at with.
    _runs: list[tuple[Check, frozenset[str], Trace]] = field(default_factory=list)

    def add(self, program: Program, check: Check, trace: Trace | None) -> None:
        """Keeps only the run of a `Training` that came to its end: each check looks at a broken run for itself."""
        if trace is None or program.start is None:
            return
        if trace.finite and trace.loss_connected and trace.crash is None and not trace.cut_short:
            riding = [signal for signal in self.riding_on(check, program) if signal not in trace.not_read]
            self._runs.append((check, frozenset((*check.signals, *riding)), trace))
            if _OF_THE_DATA in check.signals and not trace.not_read:
                self.survey = self.survey or trace.data.survey

    def reusable_run(self, check: Check, values: Mapping[str, Any]) -> Trace | None:
        """A run over the same batches that is long enough and has every signal this check reads."""
        for other, signals, trace in self._runs:
            if other.one_batch != check.one_batch or not set(self.still_to_record(check)) <= signals:
                continue
            rides = check.as_its_own is not None and check.rides_on == other.name
            own = check.as_its_own(trace, values) if rides and check.as_its_own is not None else trace
            if own is not None and (rides or own.steps >= check.max_steps(values)):
                return self.with_data(own, check)
        return None

    def riding_on(self, check: Check, program: Program) -> tuple[str, ...]:
        """The signals of later checks that judge the run of this one, too, where that does not change the run."""
        from ..programs.evaluated_beside import evaluates_beside  # imports torch, which nobody needs who only collects

        training = None if program.start is None or program.siblings else program.start.training
        if training is None or not evaluates_beside(training):
            return ()
        found = [signal for rider in self._riders(check) for signal in rider.signals if signal != _OF_THE_DATA]
        return tuple(signal for signal in found if signal not in check.signals)

    def first_look(self, check: Check, program: Program, look: Look) -> Look:
        """With the signals of checks that come later, until they have seen enough, and without what is known."""
        own = [each.as_its_own for each in self._riders(check) if each.as_its_own is not None]
        return replace(
            look,
            signals=(*self.still_to_record(check), *self.riding_on(check, program)),
            evaluated_enough=lambda trace: bool(own) and all(rider(trace, {}) is not None for rider in own),
        )

    def _riders(self, check: Check) -> Iterator[Check]:
        """Of those that need a look through the data, the ones that come after a check that takes it."""
        looked = False
        for each in map(find_check, self.wanted):
            if each.rides_on == check.name and (looked or _OF_THE_DATA not in each.signals):
                yield each
            looked = looked or _OF_THE_DATA in each.signals

    def still_to_record(self, check: Check) -> tuple[str, ...]:
        return tuple(signal for signal in check.signals if signal != _OF_THE_DATA or self.survey is None)

    def with_data(self, trace: Trace, check: Check) -> Trace:
        """With what a run before has seen of the data."""
        if self.survey is None or _OF_THE_DATA not in check.signals or trace.data.survey is not None:
            return trace
        return replace(trace, data=replace(trace.data, survey=self.survey))
