"""What the checks of one training share: the causes found so far, and the runs that more than one of them can judge.

All runs of a training start from the same point with the same random numbers, so a run that one check has recorded is,
step for step, the run that another check would record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..checks import Check
from ..records.intervention import Cure
from ..records.trace import Trace
from ..records.verdict import Finding

if TYPE_CHECKING:
    from ..programs.program import Program


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
    _runs: list[tuple[Check, Trace]] = field(default_factory=list)

    def add(self, program: Program, check: Check, trace: Trace | None) -> None:
        """Keeps only the run of a `Training` that came to its end: each check looks at a broken run for itself."""
        if trace is None or program.start is None:
            return
        if trace.finite and trace.loss_connected and trace.crash is None and not trace.cut_short:
            self._runs.append((check, trace))

    def reusable_run(self, check: Check, values: Mapping[str, Any]) -> Trace | None:
        """A run over the same batches that is long enough and has every signal this check reads."""
        for other, trace in self._runs:
            alike = other.one_batch == check.one_batch and set(check.signals) <= set(other.signals)
            if alike and trace.steps >= check.max_steps(values):
                return trace
        return None
