"""A loss that stops or swings is a fault only if it does so again, with other random numbers and another order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth import Training
from pytest_trainhealth.budget.budget import Budget
from pytest_trainhealth.checks import check as find_check
from pytest_trainhealth.engine.conclude import conclude, confirm_with_other_seed
from pytest_trainhealth.engine.examination import Examination
from pytest_trainhealth.observe.run.feed import Feed
from pytest_trainhealth.programs.plan import RunPlan
from pytest_trainhealth.records.judgement import CouldNotJudge, FailIfConfirmed, Judgement, Passed
from pytest_trainhealth.records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom

STOPS = Symptom("loss 2.300 -> 1.100 in 80 steps", PLATEAU, 1.1, 0.2, "medium", "loss stops at 1.100")


class Program:
    """Runs nothing, and keeps the plans."""

    start = None
    siblings = ()
    repeatable, why_not, remarks, first_run = True, "", (), None

    def __init__(self) -> None:
        self.plans: list[RunPlan] = []

    def record(self, plan: RunPlan) -> Trace:
        self.plans.append(plan)
        return Trace.of([1.0] * 80)


def examined(second: Judgement, name: str = "learns_from_data") -> tuple[Program, Examination]:
    program = Program()
    check = replace(find_check(name), judge=lambda trace, settings, controls: second)
    plan = RunPlan(max_steps=80, one_batch=check.one_batch, budget=Budget())
    return program, Examination(program, check, {}, plan)  # type: ignore[arg-type]


@pytest.mark.parametrize("category", [PLATEAU, INSTABILITY])
def test_what_the_second_run_cannot_judge_is_no_fault(category: str) -> None:
    program, examination = examined(CouldNotJudge("the learning rate is still warming up"))
    shown = confirm_with_other_seed(examination, replace(STOPS, category=category))
    assert isinstance(shown, CouldNotJudge)
    assert "not confirmed by a second run" in shown.reason
    assert program.plans[0].begins_half_way
    assert program.plans[0].seed_offset


def test_what_the_second_run_shows_again_is_one() -> None:
    for again in (STOPS, replace(STOPS, category=INSTABILITY)):
        _, examination = examined(again)
        assert confirm_with_other_seed(examination, STOPS) == STOPS
    doubted = FailIfConfirmed(STOPS, Passed())
    assert confirm_with_other_seed(examined(doubted)[1], STOPS) == doubted


def test_what_the_second_run_does_not_show_is_none() -> None:
    shown = confirm_with_other_seed(examined(Passed())[1], STOPS)
    assert isinstance(shown, Passed)
    assert shown.notes == (f"with one of two seeds: {STOPS.summary}",)


def test_other_symptoms_and_a_single_batch_keep_their_order() -> None:
    flat = replace(STOPS, category=NOT_LEARNING)
    program, examination = examined(CouldNotJudge("too few steps"))
    assert confirm_with_other_seed(examination, flat) == flat
    assert not program.plans[0].begins_half_way
    program, examination = examined(CouldNotJudge("too few steps"), "overfits_one_batch")
    assert confirm_with_other_seed(examination, STOPS) == STOPS
    assert not program.plans[0].begins_half_way


def test_a_list_begins_in_its_middle_once() -> None:
    batches = [torch.full((2, 1), float(at)) for at in range(5)]
    assert first_values(batches, 8, half_way=True) == [2, 3, 4, 0, 1, 2, 3, 4]
    assert first_values(batches, 3, half_way=False) == [0, 1, 2]
    assert first_values(batches[:1], 2, half_way=True) == [0, 0]
    assert first_values(batches[0], 2, half_way=True) == [0, 0]


def first_values(data: Any, steps: int, *, half_way: bool) -> list[int]:
    model = nn.Linear(1, 1)

    def loss(model: nn.Module, batch: Tensor) -> Tensor:
        return model(batch).square().mean()  # type: ignore[no-any-return]

    training = Training(model, torch.optim.SGD(model.parameters(), 0.1), loss=loss, data=data)
    feed = Feed(training, one_batch=False, begins_half_way=half_way)
    return [int(feed.take()[0]) for _ in range(steps)]


def test_no_cause_is_named_for_a_curve_that_is_not_seen_again() -> None:
    program, examination = examined(STOPS)
    calls = iter([STOPS, Passed()])
    examination.check = replace(examination.check, judge=lambda trace, settings, controls: next(calls))
    verdict = conclude(examination, "made up", []).verdict
    assert verdict.outcome == "passed"
    assert len(program.plans) == 2
