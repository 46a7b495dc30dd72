"""Re-runs with cures: none twice, none beyond the budget, and the report lists the cures that were left untried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .. import wording
from ..records.intervention import Cure
from ..records.verdict import Rerun, Symptom
from .examination import Examination

#: A diagnosis may take ten times the steps of the check that failed. Counted in steps, not seconds, so that a busy
#: machine comes to the same verdict. By judgement: nobody waits longer for a test.
_BUDGET = 10
#: The part of the budget reserved for trying cures together: two faults must not go unseen because the many cures for
#: one of them used up all the steps. By judgement: two pairs and one to spare.
_RESERVE = 3

#: A cure with the name of the cause that prescribes it.
Prescription = tuple[str, Cure]


@dataclass
class Reruns:
    examination: Examination
    #: How many steps the check took.
    steps: int
    symptom: Symptom
    #: Steps spent on judging, which do not count towards the budget of the diagnosis.
    spent_before: int = 0
    done: dict[str, Rerun] = field(default_factory=dict)
    untried: list[str] = field(default_factory=list)
    #: Whether the time budget ended: what is untried then was not ruled out.
    out_of_time: bool = False
    #: The cures that were not tried for lack of time, each by itself.
    late: list[str] = field(default_factory=list)
    _distances: dict[str, tuple[int, float]] = field(default_factory=dict)
    #: How many cures were tried each by itself.
    _alone: int = 0

    def __call__(self, *cures: Cure) -> Rerun | None:
        """The re-run with these cures. None if it cannot be tried."""
        budget = (_BUDGET if len(cures) > 1 else _BUDGET - _RESERVE) * self.steps
        label = ", ".join(cure.label for cure in cures)
        if label in self.done:
            return self.done[label]
        over = self.examination.steps_spent - self.spent_before > budget
        if not self.examination.program.repeatable or over:
            self._not_tried(label)
            return None
        self.out_of_time = self.out_of_time or self.examination.budget.over()
        attempt = None if self.out_of_time else self.examination.try_cures(cures, self.symptom)
        if attempt is None or attempt.cut_short:
            self.out_of_time = True
            self._not_tried(label)
            self.late += [label] if len(cures) == 1 and label not in self.late else []
            return None
        confirms = attempt.confirms and not attempt.healthy
        self.done[label] = Rerun(label, attempt.result, attempt.healthy, confirms, attempt.losses)
        self._distances[label] = attempt.distance
        self._alone += len(cures) == 1
        return self.done[label]

    def _not_tried(self, label: str) -> None:
        if label not in self.untried:
            self.untried.append(label)

    @property
    def left_undone(self) -> str:
        """What the time did not suffice for; empty if it did."""
        if not self.out_of_time:
            return ""
        if not self.late:
            return self.examination.budget.used_up("cures not tried together")
        alone = self._alone + len(self.late)
        return self.examination.budget.used_up(f"{len(self.late)} of {wording.plural(alone, 'cure')} not tried")

    def best(self, reruns: Sequence[Rerun]) -> Rerun:
        """Of several that heal: the one that keeps the promise soonest, or ends lowest."""
        return min(reruns, key=lambda rerun: self._distances[rerun.cure])

    def smallest_healing_set(self, group: Sequence[Prescription]) -> tuple[set[str], Rerun] | None:
        """The causes that have to be cured together, with the re-run that shows it. None if the whole group fails."""
        rerun = self(*(cure for _, cure in group))
        if rerun is None or not rerun.healthy:
            return None
        needed = list(group)
        for member in group:
            fewer = [each for each in needed if each is not member]
            if len(fewer) > 1 and (tried := self(*(cure for _, cure in fewer))) is not None and tried.healthy:
                needed, rerun = fewer, tried
        if self.out_of_time:  # perhaps fewer would do: that these are to blame was not shown
            return None
        return {name for name, _ in needed}, rerun
