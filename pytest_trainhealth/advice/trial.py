"""One change of the panel on its way: the pairs of runs that chose it, and those that had no part in the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..analysis import gains
from ..analysis.gains import Gain
from ..records.advice import PairOfRuns
from .panel import Change

#: A gain from the one start that there is. By judgement: twice what is worth an edit, 0.25, as its noise is unknown.
_FROM_ONE_START = 1.5


@dataclass
class Trial:
    change: Change
    #: On the seeds that choose, and on fresh ones.
    chosen_by: list[PairOfRuns] = field(default_factory=list)
    fresh: list[PairOfRuns] = field(default_factory=list)
    #: Why it was not tried, or not to its end.
    untried: str = ""
    #: Why it is not claimed, whatever it gains.
    refused: str = ""
    #: Seeds make no difference here: one start is all there is.
    one_start: bool = False

    def gains_of(self, pairs: Sequence[PairOfRuns]) -> list[Gain]:
        return [gains.gain(pair, learns=self.change.learns, timed=self.change.timed) for pair in pairs]

    def totals(self, pairs: Sequence[PairOfRuns]) -> list[float]:
        return [each.total for each in self.gains_of(pairs)]

    @property
    def broken(self) -> str:
        return next((pair.changed.broken for pair in self.pairs if pair.changed.broken), "")

    @property
    def pairs(self) -> list[PairOfRuns]:
        return [*self.chosen_by, *self.fresh]

    @property
    def no_difference(self) -> bool:
        """Every loss is what it was, to the last bit, and nothing else was to be gained."""
        same = all(pair.changed.losses == pair.unchanged.losses for pair in self.pairs)
        return bool(self.pairs) and same and not self.change.timed

    @property
    def hopeless(self) -> bool:
        """On a seed that chooses it is no better: the others need not be tried."""
        return bool(self.chosen_by) and min(self.totals(self.chosen_by)) <= 1

    @property
    def promising(self) -> bool:
        return not self.refused and gains.promising(self.totals(self.chosen_by))

    @property
    def shown(self) -> bool:
        if self.one_start and not self.change.timed:
            return self.promising and not self.untried and min(self.totals(self.chosen_by)) >= _FROM_ONE_START
        return self.promising and not self.untried and gains.shown(self.totals(self.fresh))

    @property
    def judged_by(self) -> list[PairOfRuns]:
        return self.chosen_by if self.one_start and not self.change.timed else self.fresh
