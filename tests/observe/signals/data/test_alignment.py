"""Whether targets belong to their inputs: reported only if another order proves that they could."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training
from pytest_trainhealth.observe.source.creation_sites import CreationSites
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.training_program import _Loop, recorded

N = 256


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def blobs(classes=4, features=12):
    labels = torch.randint(classes, (N,))
    return torch.randn(classes, features)[labels] + 0.6 * torch.randn(N, features), labels


def seen(data, outputs=4, criterion=None, step=None):
    features = next(iter(data))[0].shape[1]
    model = nn.Linear(features, outputs)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if step is not None:
        training = Training(model, optimizer, step=lambda batch: step(model, optimizer, *batch), data=data)
    else:
        training = Training(model, optimizer, criterion=criterion or nn.CrossEntropyLoss(), data=data)
    plan = RunPlan(max_steps=20, look=Look(signals=("alignment",)), one_batch=False)
    with recorded(training, plan, CreationSites()) as run:
        loop = _Loop(run, training, plan)
        for _ in range(20):
            loop.once()
    return run.trace.data.alignment


def batches(inputs, targets):
    return list(zip(inputs.split(16), targets.split(16), strict=True))


def test_pairs_in_order():
    found = seen(batches(*blobs()))
    assert found.used > 0.9
    assert not found.order


def test_random_labels_fit_in_no_order():
    found = seen(batches(torch.randn(N, 12), torch.randint(4, (N,))))
    assert found.used < 0.4
    assert not found.order


@pytest.mark.parametrize(("moved", "order"), [(1, "the sample after it"), (-2, "the sample 2 before it")])
def test_shifted_targets(moved, order):
    inputs, targets = blobs()
    assert seen(batches(inputs, targets.roll(moved))).order == order


def test_shifted_before_the_loader_shuffles():
    inputs, targets = blobs()
    data = DataLoader(TensorDataset(inputs, targets.roll(1)), batch_size=16, shuffle=True)
    found = seen(data)
    assert (found.order, found.by) == ("the sample after it", "data")


def test_reversed_targets():
    inputs, targets = blobs()
    assert seen(batches(inputs, targets.flip(0))).order == "the sample at the other end"


def test_a_step_that_shuffles_its_inputs_alone():
    def step(model, optimizer, inputs, targets):
        loss = nn.functional.cross_entropy(model(inputs[torch.randperm(len(inputs))]), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    found = seen(batches(*blobs()), step=step)
    assert found.by == "step"
    assert found.place is not None
    assert "cross_entropy" in found.place.code


def parity(x):
    """Of signs: no linear or smooth function tells it."""
    return ((x > 0).sum(1) % 2).long()


def sorting(put_back, both=False):
    def step(model, optimizer, inputs, targets):
        order = inputs[:, 0].argsort()
        outputs = model(inputs[order])
        loss = nn.functional.cross_entropy(
            outputs[order.argsort()] if put_back else outputs, targets[order] if both else targets
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_a_step_that_sorts_its_inputs_alone_is_seen_though_nothing_can_be_told():
    inputs = torch.randn(N, 12)
    found = seen(batches(inputs, parity(inputs)), step=sorting(put_back=False), outputs=2)
    assert found.by == "step"
    assert found.crossed > N / 3
    assert found.place is not None
    assert "cross_entropy" in found.place.code


@pytest.mark.parametrize(("put_back", "both"), [(True, False), (False, True)])
def test_a_step_that_sorts_and_keeps_pairs_together(put_back, both):
    inputs = torch.randn(N, 12)
    assert not seen(batches(inputs, parity(inputs)), step=sorting(put_back, both), outputs=2).order


def test_shifted_values():
    inputs = torch.randn(N, 8)
    found = seen(batches(inputs, (inputs @ torch.ones(8, 1)).roll(1, 0)), outputs=1, criterion=nn.MSELoss())
    assert (found.kind, found.order) == ("values", "the sample after it")


@pytest.mark.parametrize("pieces", [1, 8])
def test_a_series_whose_next_value_cannot_be_told_is_in_order(pieces):
    """The target of one sample is a part of the next sample's input: no proof of anything."""
    series = torch.randn(8 * (N + 2))
    starts = range(0, pieces * N, pieces)
    inputs = torch.stack([series[i : i + 8] for i in starts])
    targets = torch.stack([series[i + 8] for i in starts])
    assert not seen(batches(inputs, targets[:, None]), outputs=1, criterion=nn.MSELoss()).order
    assert not seen(batches(inputs, (targets > 0).long()), outputs=2).order


def test_a_cure_does_not_change_what_the_probe_computes() -> None:
    """A cure standardises inputs where they meet weights: the kernels of the probe are not weights."""
    from pytest_trainhealth import Training, diagnose

    def factory() -> Training:
        centres, labels = 128 + 60 * torch.randn(4, 24), torch.randint(4, (256,))
        pixels = (centres[labels] + 40 * torch.randn(256, 24)).clamp(0, 255)
        model = torch.nn.Sequential(torch.nn.Linear(24, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))
        batches = list(zip(pixels.split(32), labels.split(32), strict=True))
        optimizer = torch.optim.SGD(model.parameters(), 0.5)
        return Training(model, optimizer, criterion=torch.nn.CrossEntropyLoss(), data=batches)

    for seed in range(3):
        report = diagnose(factory, ("learns_from_data", "overfits_one_batch"), seed=seed)
        assert {finding.cause for finding in report.findings} <= {"unnormalized-inputs"}
