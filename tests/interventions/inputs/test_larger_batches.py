"""Several batches joined into one: what BatchNorm then sees."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from pytest_trainhealth import Training
from pytest_trainhealth.observe.source.creation_sites import CreationSites
from pytest_trainhealth.programs.plan import Look, RunPlan, Treatment
from pytest_trainhealth.programs.training_program import _Loop, recorded
from pytest_trainhealth.records.intervention import Cure

CURE = Cure("larger_batches", "4 batches joined into one", {"count": 4})


def values_per_channel(data, cures=(), one_batch=False, steps=3):
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    training = Training(model, torch.optim.SGD(model.parameters(), lr=0.1), criterion=nn.MSELoss(), data=data)
    plan = RunPlan(
        max_steps=steps,
        look=Look(signals=("batch_norms",)),
        treatment=Treatment(cures=tuple(cures)),
        one_batch=one_batch,
    )
    with recorded(training, plan, CreationSites()) as run:
        loop = _Loop(run, training, plan)
        for _ in range(steps):
            loop.once()
    return run.trace


def batches(*sizes):
    return [(torch.randn(size, 4), torch.randn(size, 1)) for size in sizes]


@pytest.mark.parametrize("one_batch", [True, False])
def test_joined(one_batch):
    assert values_per_channel(batches(2, 2, 2, 2), one_batch=one_batch).numbers.values_per_channel == {"1": 2}
    assert values_per_channel(batches(2, 2, 2, 2), [CURE], one_batch).numbers.values_per_channel == {"1": 8}


def test_the_small_one_at_the_end_is_joined_with_the_next_epoch():
    trace = values_per_channel(batches(4, 4, 1), [CURE], steps=6)
    assert trace.crash is None
    assert trace.numbers.values_per_channel["1"] >= 9


def test_batches_that_do_not_fit_together():
    data = [(torch.randn(2, 4), torch.randn(2, 1)), (torch.randn(2, 3), torch.randn(2, 1))]
    assert values_per_channel(data, [CURE], steps=1).applied.without_effect


def test_eval_mode_is_not_counted():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8).eval(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch):
        model[1].eval()
        loss = model(batch[0]).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    training = Training(model, optimizer, step=step, data=batches(2, 2))
    plan = RunPlan(max_steps=1, look=Look(signals=("batch_norms",)), one_batch=False)
    with recorded(training, plan, CreationSites()) as run:
        _Loop(run, training, plan).once()
    assert run.trace.numbers.values_per_channel == {}
