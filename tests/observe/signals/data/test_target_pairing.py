"""Whether an input keeps its target: reported only if the same targets come back with other inputs."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth.programs.watched_program import watch

N = 96


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


class Sorting(nn.Module):
    """Puts its samples in the order of their first value."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 3)

    def forward(self, x):
        return self.fc(x[x[:, 0].argsort()])


def seen(epoch, model=None, epochs=3, size=16, loss=None, noise=0.0):
    """`epoch(x, y)` gives the inputs and targets of one epoch, in their order."""
    x, y = torch.randn(N, 6), torch.arange(N) % 3
    model = model or nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(("target_pairing",)) as trace:
        for _ in range(epochs):
            inputs, targets = epoch(x, y)
            for given, wanted in zip(inputs.split(size), targets.split(size), strict=True):
                optimizer.zero_grad()
                outputs = model(given + noise * torch.randn_like(given))
                (loss or F.cross_entropy)(outputs, wanted).backward()
                optimizer.step()
    return trace.data.repaired


def together(x, y):
    order = torch.randperm(N)
    return x[order], y[order]


def apart(x, y):
    return x[torch.randperm(N)], y[torch.randperm(N)]


def test_one_order_for_both():
    assert seen(together) is None


def test_two_orders():
    found = seen(apart)
    assert found.samples == N
    assert found.changed > N / 3
    assert found.place is not None
    assert "F.cross_entropy" in found.place.code


def test_inputs_shuffled_alone():
    assert seen(lambda x, y: (x[torch.randperm(N)], y)).changed > N / 3


def test_modules_that_call_the_function_are_seen():
    assert seen(apart, loss=nn.CrossEntropyLoss()) is not None


def test_labels_drawn_anew_are_no_labels_of_others():
    assert seen(lambda x, y: (x, torch.randint(3, (N,)))) is None


def test_one_epoch_says_nothing():
    assert seen(apart, epochs=1) is None


def test_few_samples_say_nothing():
    assert seen(lambda x, y: (x[:32], y[torch.randperm(32)])) is None


def test_one_small_batch_with_targets_shuffled_at_each_step():
    found = seen(lambda x, y: (x[:6], y[torch.randperm(6)]), epochs=20)
    assert (found.samples, found.later) == (6, 16)
    assert found.changed > 32
    assert found.place is not None


@pytest.mark.parametrize(
    "epoch",
    [
        lambda x, y: (x[:6], y[:6]),
        lambda x, y: (x[order := torch.randperm(6)], y[order]),
        lambda x, y: (x[:6], torch.randint(2, (6,))),
        lambda x, y: (x[torch.randperm(6)], torch.arange(6) // 2),
    ],
    ids=["kept", "shuffled together", "drawn anew", "places"],
)
def test_one_small_batch_that_is_paired_well(epoch):
    assert seen(epoch, epochs=40) is None


def test_fewer_epochs_of_a_small_batch_say_nothing():
    assert seen(lambda x, y: (x[:6], y[torch.randperm(6)]), epochs=10) is None


def test_augmented_inputs_are_never_the_same():
    assert seen(apart, noise=0.1) is None


def test_places_in_the_batch_are_no_labels():
    """A contrastive loss: the target of a sample is where it lies."""
    places = torch.arange(N) % 16
    assert seen(lambda x, y: (x[torch.randperm(N)], places), model=nn.Linear(6, 16)) is None
    assert seen(lambda x, y: (x[torch.randperm(N)], places // 2), model=nn.Linear(6, 8)) is None


def test_a_model_that_sorts_may_have_targets_sorted_like_it():
    def epoch(x, y):
        x, y = together(x, y)
        return x, torch.cat([t[g[:, 0].argsort()] for g, t in zip(x.split(16), y.split(16), strict=True)])

    assert seen(epoch, model=Sorting()) is None


def test_outputs_put_back_in_order():
    """The step sorts what it gives the model, and puts the outputs back: nothing is out of order."""
    x, y = torch.randn(N, 6), torch.arange(N) % 3
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(("target_pairing",)) as trace:
        for _ in range(3):
            chosen = torch.randperm(N)
            for given, wanted in zip(x[chosen].split(16), y[chosen].split(16), strict=True):
                order = given[:, 0].argsort()
                optimizer.zero_grad()
                F.cross_entropy(model(given[order])[order.argsort()], wanted).backward()
                optimizer.step()
    assert trace.data.repaired is None


def test_functions_are_as_before():
    before = F.cross_entropy
    seen(apart)
    assert F.cross_entropy is before
