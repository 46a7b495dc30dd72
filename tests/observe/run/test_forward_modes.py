"""Signals share one function mode, and neither they nor cures see what optimizers compute."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import _get_current_function_mode_stack

from pytest_trainhealth import Training
from pytest_trainhealth.observe.calls.torch_calls import Call, function_name
from pytest_trainhealth.observe.run.run import Run
from pytest_trainhealth.observe.signals.numbers.activations import Activations
from pytest_trainhealth.observe.signals.wiring.unused_passes import UnusedPasses
from pytest_trainhealth.observe.source.creation_sites import CreationSites
from pytest_trainhealth.programs.plan import Look, RunPlan, Treatment
from pytest_trainhealth.programs.training_program import _Loop, recorded
from pytest_trainhealth.records.intervention import Cure


class Lars(torch.optim.SGD):
    """Scales each step by the norm of the weights, as layer-wise rates do."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.norms: list[float] = []
        self.modes: list[int] = []

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self.modes.append(len(_get_current_function_mode_stack()))
        for group in self.param_groups:
            for parameter in group["params"]:
                norm = parameter.norm()
                self.norms.append(float(norm))
                parameter.sub_(group["lr"] * norm * parameter.grad)


def _training() -> tuple[Training, Lars]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = Lars(model.parameters(), lr=0.01)
    data = (torch.randn(8, 4), torch.randint(0, 3, (8,)))
    return Training(model, optimizer, criterion=F.cross_entropy, data=data), optimizer


def _run(training: Training, plan: RunPlan) -> list[int]:
    """How many modes stand on the stack in front of each step."""
    before = []
    with recorded(training, plan, CreationSites()) as run:
        loop = _Loop(run, training, plan)
        for _ in range(plan.max_steps):
            before.append(len(_get_current_function_mode_stack()))
            loop.once()
    return before


def test_cures_leave_optimizers_alone() -> None:
    cures = (Cure("no_regularization", "no regularisation"), Cure("standardised_inputs", "s", {"inputs": 3.0}))
    training, optimizer = _training()
    standing = _run(training, RunPlan(max_steps=3, treatment=Treatment(cures)))
    assert standing == [2, 2, 2]
    assert optimizer.modes == [0, 0, 0]
    assert min(optimizer.norms) > 0  # the norm of a weight is no penalty here
    assert not _get_current_function_mode_stack()


def test_signals_share_one_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    standing: list[int] = []
    seen: list[Call] = []

    def called(self: Activations, call: Call) -> None:
        seen.append(call)

    monkeypatch.setattr(Activations, "called", called)
    training, optimizer = _training()
    forward = training.model.forward

    def counting(inputs: Tensor) -> Any:
        standing.append(len(_get_current_function_mode_stack()))
        return forward(inputs)

    training.model.forward = counting  # type: ignore[method-assign,union-attr]
    left = _run(training, RunPlan(max_steps=4, look=Look(("activations", "loss_calls", "penalties", "scales"))))
    assert standing == [1, 1, 2, 0]  # step 2 has the mode of near_danger as well, step 3 is not sampled
    assert left == [0, 0, 0, 0]
    assert optimizer.modes == [0, 0, 0, 0]
    assert "relu" in {call.name for call in seen}
    assert not any(call.name == "norm" for call in seen)


def test_an_optimizer_that_raises_leaves_no_mode_behind() -> None:
    training, optimizer = _training()
    optimizer.norms = None  # type: ignore[assignment]  # so that its step raises, between the two events
    plan = RunPlan(max_steps=2, look=Look(("activations",)), treatment=Treatment((Cure("no_regularization", "n"),)))
    _run(training, plan)
    assert not _get_current_function_mode_stack()


def test_attributes_are_called_by_their_names() -> None:
    assert function_name(Tensor.data.__get__) == "data"
    assert function_name(Tensor.grad.__get__) == "grad"
    assert function_name(torch.relu) == "relu"


def test_the_operations_of_a_model_are_its_own() -> None:
    """Not what the hooks of other signals compute while it runs."""
    from pytest_trainhealth.observe.signals import close_signals

    training, _ = _training()
    plan = RunPlan(max_steps=2, look=Look(close_signals()))
    with recorded(training, plan, CreationSites()) as run:
        _Loop(run, training, plan).once()
    assert run.trace.numbers.operations == {"linear", "relu"}


def test_a_step_that_did_not_end_leaves_no_mode_behind() -> None:
    signal = UnusedPasses(Run())
    signal._suspicious = True
    before = len(_get_current_function_mode_stack())
    for _ in range(3):
        signal.step_begins(None)
    signal.run_ends()
    assert len(_get_current_function_mode_stack()) == before
