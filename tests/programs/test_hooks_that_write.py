"""A watched loop whose model has a hook of the user's that writes to its weights, while the model is called again."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import diagnose
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.watched_program import watching

STEPS = 14


def loop(when: str) -> None:
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    kept = {name: value.clone() for name, value in model.state_dict().items()}

    def reloads(module: nn.Module, args: object) -> None:
        if when == "always" or not module.training:
            module.load_state_dict(kept)

    model.register_forward_pre_hook(reloads)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    inputs = torch.randn(32, 6)
    for _ in range(STEPS):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), inputs[:, :3].argmax(1)).backward()
        optimizer.step()


@pytest.mark.parametrize("when", ["always", "in eval mode"])
def test_what_it_writes_during_a_probe_reaches_no_backward_pass(when):
    report = diagnose(lambda: loop(when), ["uses_its_input"], seed=0)
    assert report.verdicts[0].outcome == "passed"


def test_a_call_of_ours_begins_no_step_of_the_loop():
    with watching(RunPlan(max_steps=0, look=Look(("probes",)))) as run:
        loop("in eval mode")
    assert run.trace.probe is not None
    assert (run.trace.steps, run.trace.updates) == (STEPS, [1] * STEPS)
