"""Where the battery's time goes: counted on a small training, and laid out from accounts that are made up."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.signals import close_signals
from pytest_trainhealth.programs.plan import Look, RunPlan, Treatment
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.intervention import Condition, Cure

from .__main__ import most_cost
from .accounting import AROUND, Account, RunCost, counted, purpose_of
from .battery import table

OWN = "the check's own run"


@pytest.mark.parametrize(
    ("plan", "purpose"),
    [
        (RunPlan(5), OWN),
        (RunPlan(5, look=Look(close_signals())), "the closer look"),
        (RunPlan(5, seed_offset=3), "another seed"),
        (RunPlan(5, treatment=Treatment(conditions=(Condition("batch_size", "one", {"size": 1}),))), "a condition"),
        (RunPlan(5).curing(Cure("learning_rate", "lower")), "a cure"),
        (RunPlan(5).curing(Cure("learning_rate", "lower"), Cure("zeroed_inputs", "zeroes")), "zeroed_inputs"),
        (RunPlan(5).curing(Cure("reference_recipe", "plain")), "reference_recipe"),
    ],
)
def test_each_run_has_a_purpose(plan: RunPlan, purpose: str) -> None:
    assert purpose_of(plan) == purpose


def test_the_parts_add_up_to_the_ratio() -> None:
    runs = (RunCost("a", OWN, 80, 1.0), RunCost("a", "a cure", 40, 0.5), RunCost("a", "a cure", 40, 0.5))
    made = Account("healthy/x", seconds=2.5, bare=1.0, steps=80, runs=runs)
    assert made.ratio == 2.5
    assert made.work == 2.0
    assert made.parts() == {("a", OWN): (1.0, 1.0), ("a", "a cure"): (1.0, 1.0), (AROUND, ""): (0.5, 0.0)}


def test_the_table_has_both_ratios_and_the_dearest_part_first() -> None:
    accounts = [
        Account(f"healthy/{n}", 2.0 + n, 1.0, 80, (RunCost("a", OWN, 80, 0.5), RunCost("b", OWN, 40, 1.0)))
        for n in range(10)
    ]
    lines = table(accounts).splitlines()
    assert lines[1].split()[-3:] == ["3.00", "6.50", "11.00"]
    assert lines[2].split()[-3:] == ["1.50", "1.50", "1.50"]
    assert [line.split()[0] for line in lines[5:]] == ["(around", "b", "a", "all"]


def test_the_runs_of_a_battery_are_counted() -> None:
    def make() -> Training:
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        data = [(torch.randn(8, 4), torch.randint(0, 2, (8,))) for _ in range(3)]
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), criterion=F.cross_entropy, data=data)

    original = TrainingProgram.record
    with counted() as runs:
        diagnose(make, checks=["gradients_flow", "trains_without_nan"])
    assert TrainingProgram.record is original
    assert [(run.check, run.purpose) for run in runs][:2] == [("gradients_flow", OWN), ("trains_without_nan", OWN)]
    assert {run.purpose for run in runs[2:]} == {"a condition"}
    assert [run.steps for run in runs][:2] == [4, 50]


def test_short_steps_may_cost_more() -> None:
    assert (most_cost(1.0), most_cost(2.0), most_cost(20.0)) == (1.10, 1.05, 1.05)
