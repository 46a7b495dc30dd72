"""The closer look after a failure takes every signal, and must get along with whatever the step does."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.observe.signals import close_signals
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram


def test_gradients_of_single_samples_by_vmap() -> None:
    """Differentially private training: inside vmap no value can be read, which a signal has to know."""
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def sample_loss(parameters: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(functional_call(model, parameters, (x[None],)), y[None])

    def step(batch: Any) -> torch.Tensor:
        parameters = {name: p.detach() for name, p in model.named_parameters()}
        each = vmap(grad(sample_loss), in_dims=(None, 0, 0))(parameters, *batch)
        for name, parameter in model.named_parameters():
            parameter.grad = each[name].mean(0)
        optimizer.step()
        return F.cross_entropy(model(batch[0]), batch[1])

    batch = (torch.randn(8, 4), torch.randint(0, 3, (8,)))
    program = TrainingProgram(Start(Training(model, optimizer, data=batch, step=step), seed=0))
    trace = program.record(RunPlan(max_steps=3, look=Look(signals=close_signals())))
    assert trace.steps == 3
    assert [a.function for a in trace.numbers.activations.values()] == ["relu"]
