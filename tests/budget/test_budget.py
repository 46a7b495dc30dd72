"""What counts towards a budget, and what is said when it is used up."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from pytest_trainhealth.budget.budget import MOST_FREE, Budget
from pytest_trainhealth.budget.one_time import FirstTimes

from .slow_machine import Clock


def imports(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, ModuleType(name))


def test_it_is_used_up_after_its_seconds(clock: Clock) -> None:
    budget = Budget(5.0)
    clock.passes(5.0)
    assert not budget.over()
    clock.passes(0.1)
    assert budget.over()
    assert budget.used_up("3 of 7 cures not tried") == "budget of 5 s used up: 3 of 7 cures not tried"


def test_a_lap_that_imports_does_not_count(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(5.0)
    clock.passes(20.0)
    imports(monkeypatch, "a_package_of_this_test")
    assert not budget.over()
    assert budget.left == 5.0
    clock.passes(4.0)  # the next lap counts again
    assert not budget.over()
    assert budget.left == 1.0
    assert not budget.remark


def test_a_lap_that_compiles_or_wakes_a_device_does_not_count(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    times: dict[str, list[float]] = {}
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", SimpleNamespace(compilation_time_metrics=times))
    cuda = SimpleNamespace(is_initialized=lambda: False)
    monkeypatch.setitem(sys.modules, "torch.cuda", cuda)
    budget = Budget(5.0)
    clock.passes(20.0)
    times["_compile.compile_inner"] = [19.0]
    assert not budget.over()
    clock.passes(20.0)
    cuda.is_initialized = lambda: True
    assert not budget.over()
    clock.passes(20.0)
    assert budget.over()


def test_what_imports_again_and_again_counts_in_the_end_and_is_told(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = Budget(5.0)
    for lap in range(3):
        clock.passes(MOST_FREE / 2)
        imports(monkeypatch, f"package_{lap}_of_this_test")
        assert budget.over() == (lap == 2)
    assert budget.remark == ("steps that imported or compiled took 90 s, of which 60 s do not count towards the budget")


def test_a_lap_as_long_as_the_whole_budget_hangs(clock: Clock) -> None:
    budget = Budget(5.0)
    clock.passes(4.0)
    budget.over()
    clock.passes(4.0)  # the budget is used up, but this lap is merely slow
    assert not budget.hangs()
    clock.passes(1.0)
    assert budget.hangs()


def test_who_imports_is_on_the_way(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(5.0)
    clock.passes(6.0)
    imports(monkeypatch, "a_package_of_this_test")
    assert not budget.hangs()
    assert budget.left == 5.0
    clock.passes(6.0)
    assert budget.hangs()


def test_torch_tells_when_it_compiles() -> None:
    """By a figure that is not documented: should torch drop it, compiling counts."""
    model, inputs = torch.compile(torch.nn.Linear(4, 2), backend="eager"), torch.randn(3, 4)
    model(inputs)  # imports what it takes to compile
    first_times = FirstTimes()
    model(inputs)
    assert not first_times.any_since()
    torch.compile(lambda x: x.sin() + 1, backend="eager")(inputs)
    assert first_times.any_since()
