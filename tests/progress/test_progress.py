"""How far a check has come: what is told, when, and in which words."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.budget.budget import Budget
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.progress import in_python
from pytest_trainhealth.progress.standing import Standing, line
from tests.budget.slow_machine import Clock

SLOW = Standing("overfits_one_batch", "test_it", "with learning rate / 10", 12, 200, 1.2034, 14.2, 300.0)


class Noted:
    after, every = 2.0, 1.0

    def __init__(self) -> None:
        self.told: list[Standing] = []
        self.ended = False

    def tell(self, standing: Standing) -> None:
        self.told.append(standing)

    def over(self) -> None:
        self.ended = True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_the_line() -> None:
    assert line(SLOW) == (
        "overfits_one_batch on test_it: with learning rate / 10, step 12 of at most 200, loss 1.203, 14 s, "
        "up to 5 min left"
    )


@pytest.mark.parametrize("width", range(20, 130, 10))
def test_it_fits_and_loses_whole_parts(width: int) -> None:
    text = line(SLOW, width)
    assert len(text) <= width
    parts = text.partition(": ")[2].split(", ")
    assert width < 50 or all(part in line(SLOW) for part in parts)


def test_which_run_it_is_stays_longer_than_the_name_of_the_test() -> None:
    """With each run the count of steps begins again, which is a riddle where nobody says why."""
    assert line(SLOW._replace(training="test_captioner_of_images"), 80) == (
        "overfits_one_batch: with learning rate / 10, step 12 of at most 200, 14 s"
    )


def test_a_closer_look_says_so() -> None:
    assert RunPlan(max_steps=64).looking(Look(("gradients",), closer=True)).described == "closer look"
    assert RunPlan(max_steps=64).described == ""


def test_the_most_steps_are_those_of_a_loop_that_updates_in_each() -> None:
    plan = RunPlan(max_steps=3200, usual_steps=400)
    assert plan.shown_steps == 400
    assert plan.until(30).shown_steps == 30
    assert RunPlan(max_steps=50).shown_steps == 50


def test_survives_the_way_from_a_worker() -> None:
    assert Standing.from_json(SLOW.to_json()) == SLOW


def test_told_at_intervals_with_steps_loss_and_time_left(clock: Clock) -> None:
    show, losses = Noted(), []
    budget = Budget(100.0)
    budget.shown_on(show, "gradients_flow", "test_it")
    budget.next_run("closer look")
    budget.follows(losses, 10)
    for step in range(10):
        clock.passes(0.5)
        losses.append(2.0 - 0.1 * step)
        budget.over()
    assert [told.step for told in show.told] == [4, 6, 8, 10]
    assert show.told[0] == Standing("gradients_flow", "test_it", "closer look", 4, 10, 1.7, 2.0, 3.0)


def test_no_more_time_is_left_than_the_budget_has(clock: Clock) -> None:
    show, losses = Noted(), [1.0]
    budget = Budget(10.0)
    budget.shown_on(show, "gradients_flow", "test_it")
    budget.follows(losses, 1000)
    clock.passes(4.0)
    budget.over()
    assert show.told[0].left == pytest.approx(6.0)


def test_a_loop_of_the_user_takes_as_many_steps_as_before(clock: Clock) -> None:
    show = Noted()
    budget = Budget(100.0)
    budget.shown_on(show, "gradients_flow", "test_it")
    for losses in ([1.0] * 8, [1.0] * 2):
        budget.next_run("")
        budget.follows(losses)
        clock.passes(5.0)
        budget.over()
    assert [(told.step, told.steps) for told in show.told] == [(8, None), (2, 8)]


def test_a_display_that_cannot_is_not_asked_again(clock: Clock) -> None:
    show = Noted()
    show.tell = lambda standing: 1 / 0  # type: ignore[assignment, method-assign]
    budget = Budget(100.0)
    budget.shown_on(show, "gradients_flow", "test_it")
    clock.passes(5.0)
    assert not budget.over()
    show.tell = show.told.append  # type: ignore[method-assign]
    clock.passes(5.0)
    assert not budget.over()
    assert show.told == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def training() -> Training:
    model = nn.Linear(4, 2)
    data = (torch.randn(8, 4), torch.tensor([0, 1] * 4))
    return Training(model, torch.optim.SGD(model.parameters(), 0.1), criterion=nn.CrossEntropyLoss(), data=data)


def test_diagnose_tells_the_terminal_and_leaves_nothing_there(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(in_python.ErrorLine, "after", 0.0)
    monkeypatch.setattr(in_python.ErrorLine, "every", 0.0)
    diagnose(training, checks="gradients_flow", steps=4)
    assert "gradients_flow on training: step 4 of at most " in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_nothing_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert in_python.show_in_python() is None


def test_a_notebook_gets_one_output_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    handle = SimpleNamespace(update=lambda content, raw: shown.append(content["text/plain"]))

    def display(content: dict[str, str], raw: bool, display_id: bool) -> Any:
        shown.append(content["text/plain"])
        return handle

    shell = SimpleNamespace(kernel=object())
    notebook = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", notebook)  # type: ignore[arg-type]
    show = in_python.show_in_python()
    assert isinstance(show, in_python.NotebookCell)
    show.tell(SLOW)
    show.tell(SLOW._replace(step=13))
    show.over()
    assert [text[:20] for text in shown] == ["overfits_one_batch o", "overfits_one_batch o", ""]
