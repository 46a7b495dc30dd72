"""The compiler is reset if a training has something compiled, and otherwise keeps the graphs of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth import Training
from pytest_trainhealth.observe.signals.speed.compilations import Compilations
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram

PLAN = RunPlan(max_steps=3, look=Look(signals=("compilations",)))


def as_it_is(graph: Any, inputs: Any) -> Any:
    return graph.forward


def compiled(function: Any) -> Any:
    return torch.compile(function, backend=as_it_is)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    torch.compiler.reset()
    Compilations.left = False
    yield
    torch.compiler.reset()
    Compilations.left = False


def compilations(model: nn.Module, loss: Callable[..., Any] | None = None, runs: int = 2) -> list[dict[int, int]]:
    """Of runs of the same training: how many graphs were made, by step."""
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    loss = loss or (lambda model, batch: model(batch).square().mean())
    start = Start(Training(model, optimizer, loss=loss, data=torch.randn(8, 4)), seed=0, factory=None)
    found = [dict(TrainingProgram(start).record(PLAN).speed.compiled) for _ in range(runs)]
    start.close()
    return found


def test_what_others_have_compiled_stays() -> None:
    made: list[int] = []

    def noted(graph: Any, inputs: Any) -> Any:
        made.append(1)
        return graph.forward

    other = torch.compile(lambda x: x.sin() + 1, backend=noted)
    other(torch.ones(3))
    assert compilations(nn.Linear(4, 2)) == [{}, {}]
    other(torch.ones(3))
    assert made == [1]


class Own(nn.Linear):
    """`compile()` leaves torch's own modules alone."""

    def __init__(self) -> None:
        super().__init__(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).sin()


def in_place(model: nn.Module) -> nn.Module:
    model.compile(backend=as_it_is)
    return model


def its_forward(model: nn.Module) -> nn.Module:
    model.forward = compiled(model.forward)
    return model


def in_its_class(model: nn.Module) -> nn.Module:
    own = type(model)
    model.__class__ = type("Own", (own,), {"forward": compiled(own.forward)})
    return model


@pytest.mark.parametrize("way", [compiled, in_place, its_forward, in_its_class])
def test_a_compiled_model_is_compiled_in_every_run(way: Callable[[nn.Module], nn.Module]) -> None:
    model = way(Own())
    model(torch.randn(8, 4)).sum().backward()  # as a check before this one might have done
    assert compilations(model) == [{0: 1}, {0: 1}]


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_scripted_model_is_none() -> None:
    compiled(torch.sin)(torch.ones(3))
    assert compilations(torch.jit.trace(nn.Linear(4, 2), torch.randn(8, 4))) == [{}, {}]


def test_a_compiled_loss_is_compiled_in_every_run() -> None:
    assert compilations(nn.Linear(4, 2), compiled(lambda model, batch: model(batch).square().mean()))[1] == {0: 1}
