"""What a watched test trains is found by what its optimizers hold and its losses reach."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.programs.watched_program import watch
from pytest_trainhealth.records.trace import Trace

MADE_BEFORE = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def learn(loss: Tensor, *optimizers: torch.optim.Optimizer) -> None:
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()


@contextmanager
def recorded() -> Iterator[Trace]:
    with watch() as trace:
        yield trace


def test_a_model_that_was_made_before_and_is_never_called() -> None:
    model = copy.deepcopy(MADE_BEFORE)
    with recorded() as trace:
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            learn(F.linear(torch.ones(2, 4), model[0].weight).sum(), optimizer)
    assert list(trace.wiring.parameters) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert trace.wiring.parameters["0.weight"].has_gradient


def test_a_copy_has_owners_of_its_own() -> None:
    with recorded() as trace:
        model = copy.deepcopy(MADE_BEFORE)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            learn(model(torch.ones(2, 4)).sum(), optimizer)
    assert all(record.moved for record in trace.wiring.parameters.values())


def test_a_teacher_in_eval_mode_is_not_trained_and_one_that_is_not_counts() -> None:
    for mode in (True, False):
        with recorded() as trace:
            student, teacher = nn.Linear(4, 4), nn.Linear(4, 2).train(mode)
            optimizer = torch.optim.SGD(student.parameters(), 0.1)
            for _ in range(3):
                learn(teacher(student(torch.ones(2, 4))).sum(), optimizer)
        assert ("teacher.weight" in trace.wiring.parameters) == mode


def test_an_input_whose_gradient_is_taken_is_no_parameter() -> None:
    with recorded() as trace:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            learn(model(torch.ones(2, 4, requires_grad=True)).sum(), optimizer)
    assert list(trace.wiring.parameters) == ["weight", "bias"]


def test_plain_tensors_that_an_optimizer_holds_have_the_names_of_their_variables() -> None:
    with recorded() as trace:
        slope, offset = torch.ones(4, requires_grad=True), nn.Parameter(torch.zeros(()))
        optimizer = torch.optim.SGD([slope, offset], 0.1)
        for _ in range(3):
            learn((torch.ones(2, 4) @ slope + offset).sum(), optimizer)
    assert list(trace.wiring.parameters) == ["slope", "offset"]
    assert all(record.moved for record in trace.wiring.parameters.values())


def test_tensors_that_are_trained_by_hand_and_belong_to_nobody() -> None:
    with recorded() as trace:
        weight = torch.ones(4, requires_grad=True)
        for _ in range(3):
            (torch.ones(2, 4) @ weight).sum().backward()
            assert weight.grad is not None
            weight.data -= 0.1 * weight.grad
            weight.grad = None
    assert trace.wiring.parameters["weight"].has_gradient
    assert trace.wiring.parameters["weight"].moved


def test_a_collection_is_no_model_but_a_layer_belongs_to_its_model() -> None:
    class Agent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.online = nn.Sequential(nn.Linear(4, 2))
            self.frozen = nn.Linear(4, 2).requires_grad_(False)

    with recorded() as trace:
        agent = Agent()
        optimizer = torch.optim.SGD(agent.online.parameters(), 0.1)
        for _ in range(3):
            learn(agent.online(torch.ones(2, 4)).sum(), optimizer)
    assert "online.0.weight" in trace.wiring.parameters


@pytest.mark.parametrize("whole", [False, True])
def test_what_was_replaced_after_the_optimizer_was_made(whole: bool) -> None:
    def body() -> None:
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        if whole:
            model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        else:
            model[2] = nn.Linear(8, 2)
        for _ in range(40):
            learn(F.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,))), optimizer)

    verdict = examine(body, Request("gradients_flow", "replaced", 0, {}))
    assert verdict.findings[0].cause == "parameters-not-in-optimizer"
    assert any("that the model does not have" in each.text for each in verdict.findings[0].evidence)


def test_several_losses_of_a_step_are_added_up() -> None:
    with recorded() as trace:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.0)
        for _ in range(3):
            optimizer.zero_grad()
            made = model(torch.ones(1, 4))
            (made.sum() * 0 + 2).backward(retain_graph=True)
            (made.sum() * 0 + 3).backward()
            optimizer.step()
    assert trace.losses == [5.0, 5.0, 5.0]
    assert trace.backwards == [2, 2, 2]


def test_accumulated_losses_of_one_line_are_not() -> None:
    with recorded() as trace:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            for _ in range(4):
                (model(torch.ones(1, 4)).sum() * 0 + 2).backward()
            optimizer.step()
    assert trace.losses[-1] == 2.0


def test_what_was_noted_is_not_kept_alive() -> None:
    """The optimizer holds the tensors of a model that is gone: they belong to no model."""
    with recorded() as trace:
        gone = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(gone.parameters(), 0.1)
        del gone
        model = nn.Linear(4, 2)
        for _ in range(3):
            learn(model(torch.ones(2, 4)).sum(), optimizer)
    assert trace.wiring.optimizers["SGD"].foreign_tensors == 2


class Scaling(nn.Module):
    """Constants of a loader, kept as parameters by somebody who did not think of gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        return x - self.mean


class Scaled(torch.utils.data.Dataset[Tensor]):
    def __init__(self) -> None:
        self.scaling = Scaling()

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Tensor:
        found: Tensor = self.scaling(torch.full((4,), float(index)))
        return found


@pytest.mark.parametrize("held", [False, True])
def test_what_a_loader_calls_is_trained_only_if_an_optimizer_says_so(held: bool) -> None:
    with recorded() as trace:
        model, data = nn.Linear(4, 2), Scaled()
        optimizer = torch.optim.SGD([*model.parameters(), *(data.scaling.parameters() if held else ())], 0.1)
        for batch in torch.utils.data.DataLoader(data, batch_size=2):
            learn(model(batch).pow(2).sum(), optimizer)
    assert any("mean" in name for name in trace.wiring.parameters) is held
    assert trace.steps == 4
