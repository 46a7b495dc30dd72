"""A loader that is too slow is found with as many threads as torch has, also where these only get in the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pytest_trainhealth import Verdict
from pytest_trainhealth.analysis.timing import LEAST_WARM_UP
from pytest_trainhealth.budget.budget import Budget
from pytest_trainhealth.checks import check as find_check
from pytest_trainhealth.engine.conclude import conclude
from pytest_trainhealth.engine.examination import Examination
from pytest_trainhealth.engine.one_thread import with_one_thread
from pytest_trainhealth.programs.training_program import RunPlan
from pytest_trainhealth.records.speed import SpeedRecord
from pytest_trainhealth.records.trace import Trace

STEPS = LEAST_WARM_UP + 20


@dataclass
class Steps:
    """A program of which only the times are known: how long it waits, and computes with its threads and with one."""

    wait: float
    computes: float
    alone: float
    threads: int = 2
    repeatable: bool = True
    why_not: str = "it changes"
    remarks: tuple[str, ...] = ()
    plans: list[RunPlan] = field(default_factory=list)

    def record(self, plan: RunPlan) -> Trace:
        self.plans.append(plan)
        trace = Trace.of([1.0] * STEPS)
        waiting = 0.0 if any(cure.kind == "preloaded_batches" for cure in plan.treatment.cures) else self.wait
        one = any(each.kind == "threads" for each in (*plan.treatment.conditions, *plan.treatment.cures))
        trace.speed = SpeedRecord(threads=1 if one else self.threads, cores=2)
        trace.speed.waits, trace.speed.computes = [waiting] * STEPS, [self.alone if one else self.computes] * STEPS
        return trace

    @property
    def tried_one_thread(self) -> bool:
        return any(plan.treatment.conditions for plan in self.plans)


def judged(program: Steps, **values: Any) -> Verdict:
    plan = RunPlan(max_steps=STEPS, budget=Budget(60))
    examination = Examination(program, find_check("keeps_throughput"), {"steps": 20, **values}, plan)
    return with_one_thread(conclude(examination, "it", []).verdict, examination)


def test_threads_that_wait_for_one_another_hide_no_slow_loader() -> None:
    verdict = judged(Steps(wait=0.02, computes=0.04, alone=0.0005))
    assert [(f.cause, f.certainty) for f in verdict.findings] == [("data-loading-bottleneck", "confirmed")]
    assert verdict.symptom is not None
    assert verdict.symptom.summary == (
        "98 % of a step is waiting for data, at most 50 % allowed (waiting 20 ms, computing 0.5 ms), with one thread"
    )
    assert verdict.notes[0] == "2 threads hide it: with them a step computes for 40 ms, with one for 0.5 ms"


def test_figures_are_those_of_the_threads_that_there_are() -> None:
    verdict = judged(Steps(wait=0.02, computes=0.04, alone=0.0005))
    assert verdict.figures["step_seconds"] == 0.06
    assert round(verdict.figures["measured"] or 0, 3) == 0.976
    assert verdict.figures["limit"] == 0.5


def test_threads_that_help_are_left_alone() -> None:
    program = Steps(wait=0.02, computes=0.04, alone=0.07)
    assert judged(program).outcome == "passed"
    assert program.tried_one_thread


def test_one_thread_that_computes_for_longer_than_it_waits_passes() -> None:
    assert judged(Steps(wait=0.02, computes=0.04, alone=0.03)).outcome == "passed"


def test_what_any_loader_takes_is_not_looked_into() -> None:
    program = Steps(wait=0.001, computes=0.04, alone=0.0001)
    assert judged(program).outcome == "passed"
    assert not program.tried_one_thread


def test_a_share_that_was_asked_for_is_that_of_the_own_threads() -> None:
    program = Steps(wait=0.02, computes=0.04, alone=0.0005)
    assert judged(program, max_data_wait=0.6).outcome == "passed"
    assert not program.tried_one_thread


def test_other_limits_are_held_against_the_own_threads_alone() -> None:
    assert judged(Steps(wait=0.02, computes=0.04, alone=0.07), max_step_ms=65).outcome == "passed"


def test_a_failure_that_is_certain_stays_as_it_is() -> None:
    program = Steps(wait=0.06, computes=0.02, alone=0.0005)
    verdict = judged(program)
    assert verdict.findings[0].confirmed
    assert not program.tried_one_thread


def test_one_thread_is_all_there_is() -> None:
    program = Steps(wait=0.02, computes=0.04, alone=0.0005, threads=1)
    assert judged(program).outcome == "passed"
    assert not program.tried_one_thread


def test_what_cannot_be_repeated_is_not() -> None:
    program = Steps(wait=0.02, computes=0.04, alone=0.0005, repeatable=False)
    assert judged(program).outcome == "passed"
    assert len(program.plans) == 1
