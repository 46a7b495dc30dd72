"""A step with a closure is an ordinary one to whoever listens: the pass, then the update."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from pytest_trainhealth.observe.run.events import Listener
from pytest_trainhealth.observe.run.hooks import listening
from pytest_trainhealth.observe.run.run import Run


class Heard(Listener):
    def __init__(self) -> None:
        self.events: list[object] = []

    def backward_ends(self) -> None:
        self.events.append("pass")

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self.events.append(("begins", has_closure))

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self.events.append(("ends", has_closure))


def heard(make: Callable[[nn.Module], Optimizer], by_name: bool = False) -> list[object]:
    model, run, heard = nn.Linear(4, 1), Run(), Heard()
    run.subscribe(heard)
    optimizer = make(model)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = model(torch.ones(2, 4)).pow(2).mean()
        loss.backward()
        return loss

    with listening(run):
        result = optimizer.step(closure=closure) if by_name else optimizer.step(closure)
    assert isinstance(result, Tensor)
    return heard.events


def test_the_update_begins_when_the_closure_is_done() -> None:
    expected = ["pass", ("begins", False), ("ends", False)]
    for by_name in (False, True):
        assert heard(lambda model: SGD(model.parameters(), 0.1), by_name) == expected


def test_an_optimizer_that_asks_several_times() -> None:
    found = heard(lambda model: torch.optim.LBFGS(model.parameters(), max_iter=3))
    assert (found[0], found[-1]) == (("begins", True), ("ends", True))
    assert found[1:-1] == ["pass"] * (len(found) - 2)


class Ignores(SGD):
    def step(self, closure: object = None) -> Tensor:  # type: ignore[override]
        return torch.zeros(())


def test_an_optimizer_of_ones_own_may_do_anything() -> None:
    assert heard(lambda model: Ignores(model.parameters(), 0.1)) == [("begins", True), ("ends", True)]
