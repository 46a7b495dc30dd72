"""What the battery's processor time on one training goes into: each run with its check, its purpose and its steps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pytest_trainhealth.observe.signals import close_signals
from pytest_trainhealth.programs.plan import RunPlan
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.trace import Trace

#: What is not part of a run: building the training, remembering its state, judging.
AROUND = "(around the runs)"


@dataclass(frozen=True)
class RunCost:
    check: str
    purpose: str
    steps: int
    seconds: float


@dataclass(frozen=True)
class Account:
    """Of one training: the whole battery, the bare loop over the steps of its longest check, and the runs."""

    case: str
    seconds: float
    bare: float
    steps: int
    runs: tuple[RunCost, ...] = field(default=())

    @property
    def ratio(self) -> float:
        return self.seconds / self.bare

    @property
    def work(self) -> float:
        """Steps taken, in steps of the longest check: the ratio of a battery that costs nothing itself."""
        return sum(run.steps for run in self.runs) / self.steps

    def parts(self) -> dict[tuple[str, str], tuple[float, float]]:
        """By check and purpose: processor time and steps, both in those of the bare loop."""
        found: dict[tuple[str, str], tuple[float, float]] = {}
        for run in self.runs:
            time_so_far, steps_so_far = found.get((run.check, run.purpose), (0.0, 0.0))
            key = (run.check, run.purpose)
            found[key] = (time_so_far + run.seconds / self.bare, steps_so_far + run.steps / self.steps)
        around = self.seconds - sum(run.seconds for run in self.runs)
        return {**found, (AROUND, ""): (around / self.bare, 0.0)}


def purpose_of(plan: RunPlan) -> str:
    """Why a run is made, in two words: most of the time goes into runs that not every training needs."""
    if plan.treatment.cures:
        cures = {cure.kind for cure in plan.treatment.cures}
        return next((kind for kind in ("reference_recipe", "zeroed_inputs") if kind in cures), "a cure")
    if plan.treatment.conditions:
        return "a condition"
    if plan.seed_offset:
        return "another seed"
    return "the closer look" if set(close_signals()) <= set(plan.look.signals) else "the check's own run"


@contextmanager
def counted() -> Iterator[list[RunCost]]:
    """The runs of every `Training` that is examined meanwhile."""
    runs: list[RunCost] = []
    original = TrainingProgram.record

    def record(self: TrainingProgram, plan: RunPlan) -> Trace:
        began = time.process_time()
        trace = original(self, plan)
        check = plan.purpose.partition(" ")[0]
        runs.append(RunCost(check, purpose_of(plan), trace.steps, time.process_time() - began))
        return trace

    TrainingProgram.record = record  # type: ignore[method-assign]
    try:
        yield runs
    finally:
        TrainingProgram.record = original  # type: ignore[method-assign]
