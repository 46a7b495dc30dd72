"""A factory that starts elsewhere each time is noticed by name, and not where what it depends on is held still."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from pytest_trainhealth import Training
from pytest_trainhealth.programs.start import Start, build


def factory() -> Training:
    model = nn.Linear(2, 1)
    with torch.no_grad():
        model.bias.fill_(float(np.random.default_rng().normal()))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=(torch.zeros(2, 2), torch.zeros(2, 1)))


def test_parameters_that_start_elsewhere_are_named():
    made, _ = build(factory, 1)
    assert isinstance(made, Training)
    start = Start(made, seed=1, factory=factory)
    start.begin()
    assert start.differing == ()
    start.begin()
    assert start.differing == ("bias",)
    assert "starts differently each time" in start.remark
    start.begin(7919)
    assert start.differing == ("bias",)  # it is known by now


def test_what_is_held_still_is_compared_with_its_own_first_build(monkeypatch):
    made, _ = build(factory, 1)
    assert isinstance(made, Training)
    start = Start(made, seed=1, factory=factory)
    start.begin()
    held = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda: held(5))
    first, second = start.begin(0, "held"), start.begin(0, "held")
    assert start.differing == ()
    assert torch.equal(first.model.bias, second.model.bias)
    monkeypatch.setattr(np.random, "default_rng", held)
    start.begin(0, "held")
    assert start.differing == ("bias",)
