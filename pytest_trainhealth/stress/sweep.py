"""Searches for circumstances under which a training does not stay finite, and keeps the least unusual of them.

Without a request, the sweep tries only what the data make plausible: other random numbers, the incomplete batch at the
end of an epoch, a sample made of the extremes of a batch. Everything else has to be requested. Hypothesis chooses among
the requested circumstances and shrinks what it finds; it draws the same ones each time and keeps no database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory

from ..analysis.run_failures import in_short
from ..engine.examination import Examination
from ..programs.plan import RunPlan
from ..records.trace import Trace
from .circumstances import Circumstances, RequestedSweep

#: Plausible circumstances are tried for a few steps only, because every healthy training pays for it. By judgement: a
#: bad sample shows in the very step that gets it.
_PLAUSIBLE_STEPS = 6
#: Requested circumstances are tried for longer. By judgement: 20 steps show a learning rate that is too high.
_REQUESTED_STEPS = 20
#: Runs. Hypothesis needs some thirty to find and shrink (two dimensions of seven values); by judgement twice that.
_MOST_RUNS = 60


def under(plan: RunPlan, circumstances: Circumstances, steps: int) -> RunPlan:
    plan = plan.untimed().until(steps).under(*circumstances.conditions)
    return replace(plan, seed_offset=circumstances.seed, catch_errors=True)


@dataclass
class Sweep:
    """Runs the training under circumstances, never twice under the same ones."""

    examination: Examination
    runs: int = 0
    #: Circumstances under which the user's code raises, with the error.
    refused: dict[str, str] = field(default_factory=dict)
    traces: dict[Circumstances, Trace] = field(default_factory=dict)
    #: Why a run did not come to its end: what it would have shown is not known.
    cut_short: str = ""

    def run(self, circumstances: Circumstances, steps: int) -> Trace:
        if circumstances not in self.traces:
            self.runs += 1
            trace = self.examination.record(under(self.examination.plan, circumstances, steps))
            self.traces[circumstances] = trace
            self.cut_short = self.cut_short or trace.cut_short
            if trace.crash is not None:
                self.refused.setdefault(
                    circumstances.describe(), f"{trace.crash.kind}: {in_short(trace.crash.message)}"
                )
        return self.traces[circumstances]

    def fails(self, circumstances: Circumstances, steps: int) -> bool:
        trace = self.run(circumstances, steps)
        return trace.crash is None and not trace.finite

    def plausible(self, last_batch: int | None) -> Circumstances | None:
        """Needs no request. Tries all but the last batch in one run, because every healthy training pays for it."""
        together = Circumstances(seed=1, sample="extreme")
        trace = self.run(together, _PLAUSIBLE_STEPS)
        if trace.crash is not None or not trace.finite:
            for single in (Circumstances(seed=1), Circumstances(sample="extreme")):
                if self.fails(single, _PLAUSIBLE_STEPS):
                    return single
            if trace.crash is None:
                return together
        at_the_end = Circumstances(batch_size=last_batch or 0)
        return at_the_end if last_batch and self.fails(at_the_end, _PLAUSIBLE_STEPS) else None

    def requested(self, requested: RequestedSweep) -> Circumstances | None:
        from hypothesis import HealthCheck, Phase, Verbosity, find, settings
        from hypothesis import strategies as st
        from hypothesis.errors import NoSuchExample

        quiet = settings(
            max_examples=_MOST_RUNS,
            derandomize=True,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )
        choices = {name: st.sampled_from(values) for name, values in requested.choices().items()}
        strategy = st.builds(Circumstances, **choices)
        for single in _one_by_one(requested):  # enough for most weaknesses, and nothing needs shrinking then
            if self.fails(single, _REQUESTED_STEPS):
                return single
        with _own_folder():
            try:
                return find(strategy, self._within_budget(_REQUESTED_STEPS), settings=quiet)
            except NoSuchExample:
                return None

    def _within_budget(self, steps: int) -> Callable[[Circumstances], bool]:
        def fails(circumstances: Circumstances) -> bool:
            spent = self.runs >= _MOST_RUNS or bool(self.cut_short)
            return (not spent or circumstances in self.traces) and self.fails(circumstances, steps)

        return fails


@contextmanager
def _own_folder() -> Iterator[None]:
    """Hypothesis writes files into the current folder even if it is told to keep no database: give it another one."""
    from hypothesis import configuration

    before = vars(configuration).get("__hypothesis_home_directory")
    with TemporaryDirectory() as folder:
        configuration.set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            configuration.set_hypothesis_home_dir(before)


def _one_by_one(requested: RequestedSweep) -> Iterator[Circumstances]:
    for name, values in requested.choices().items():
        for value in values[1:]:
            yield Circumstances(**{name: value})
