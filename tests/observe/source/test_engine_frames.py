"""The search for a place stops at our functions that run a training: the line that called those is not to blame."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
import torch
from torch import nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.engine import examination
from pytest_trainhealth.examine.program_of import program_of
from pytest_trainhealth.observe.run import feed, stepper
from pytest_trainhealth.observe.source import engine_frames
from pytest_trainhealth.observe.source.engine_frames import engine_frame, is_engine_frame
from pytest_trainhealth.observe.source.places import user_place
from pytest_trainhealth.programs import start, training_program, watched_program

#: Whoever calls the user's step, loss, factory, test or data.
ENGINE: tuple[Callable[..., Any], ...] = (
    feed.Feed.take,
    stepper.Stepper.take,
    stepper.Stepper._loss,
    training_program.TrainingProgram.record,
    watched_program.WatchedProgram.record,
    examination.Examination.record,
    start.build,
    program_of,
)


class _Frame:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.f_code = inspect.unwrap(function).__code__


@pytest.mark.parametrize("function", ENGINE, ids=lambda function: function.__qualname__)
def test_whoever_runs_a_training_is_marked(function: Callable[..., Any]) -> None:
    assert is_engine_frame(_Frame(function))  # type: ignore[arg-type]


def take(here: Callable[[], Any]) -> Any:
    return here()


def test_a_function_of_the_user_may_have_the_same_name() -> None:
    frame: FrameType = take(lambda: sys._getframe(1))
    assert frame.f_code.co_name == "take"
    assert not is_engine_frame(frame)


def test_no_line_above_one_that_is_marked_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_frames, "_CODES", {})
    ours: dict[str, Any] = {}
    exec(compile("def run(inner):\n    return inner()", "<ours>", "exec"), ours)
    assert user_place() is not None
    assert ours["run"](user_place) is not None
    engine_frame(ours["run"])
    assert ours["run"](user_place) is None


def test_a_context_manager_is_marked_below_its_decorator() -> None:
    @contextmanager
    @engine_frame
    def entered() -> Any:
        yield sys._getframe()

    with entered() as frame:
        assert is_engine_frame(frame)


def _ends_in_softmax() -> Training:
    centres, kinds = torch.randn(5, 8) * 2, torch.randint(5, (64,))
    data = list(zip((centres[kinds] + torch.randn(64, 8)).split(16), kinds.split(16), strict=True))
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 5))
    model.append(nn.Softmax(-1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)


def test_the_line_that_made_the_layer_is_shown_and_not_the_one_that_asked() -> None:
    """The built-in step calls the model: no line of the user's is inside the training when the softmax is applied."""
    report = diagnose(_ends_in_softmax, "overfits_one_batch")
    (finding,) = [finding for finding in report.findings if finding.cause == "double-softmax"]
    assert finding.certainty == "confirmed"
    assert [place.code for place in finding.places] == ["model.append(nn.Softmax(-1))"]
