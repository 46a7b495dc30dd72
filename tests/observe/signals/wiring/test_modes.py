"""Dropout that is no layer of its own: a model that is trained in eval mode has it switched off all the same."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth.analysis.wiring import left_in_eval
from pytest_trainhealth.programs.watched_program import watch


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.two(F.dropout(torch.relu(self.one(x)), 0.5, training=self.training))


class Positional(Functional):
    def forward(self, x):
        return self.two(F.dropout(torch.relu(self.one(x)), 0.5, self.training))


class SwitchedOff(Functional):
    def forward(self, x):
        return self.two(F.dropout(torch.relu(self.one(x)), 0.5, training=False))


class OfItsOwn(Functional):
    def forward(self, x):
        drops = False
        return self.two(F.dropout(torch.relu(self.one(x)), 0.5, training=drops))


class OfNothing(Functional):
    def forward(self, x):
        return self.two(F.dropout(torch.relu(self.one(x)), 0.0, training=self.training))


class Attention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.attention, self.head = nn.MultiheadAttention(6, 2, dropout=dropout), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.attention(x, x, x)[0])


class Recurrent(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.rnn, self.head = nn.GRU(6, 8, num_layers=2, dropout=dropout), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.rnn(x)[0])


def record_of(model, training, steps=6):
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(16, 6), torch.arange(16) % 3
    with watch(("modes",)) as trace:
        for _ in range(steps):
            model.train(training)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    return left_in_eval(trace)


@pytest.mark.parametrize(
    ("model", "layer", "kind"),
    [
        (Functional, "dropout", "F.dropout"),
        (Positional, "dropout", "F.dropout"),
        (Attention, "attention", "MultiheadAttention"),
        (Recurrent, "rnn", "GRU"),
    ],
)
def test_trained_in_eval_mode(model, layer, kind):
    found = record_of(model(), False)
    assert found is not None
    assert found.layers == {layer: kind}
    assert record_of(model(), True) is None


@pytest.mark.parametrize("model", [SwitchedOff, OfItsOwn, OfNothing])
def test_what_the_mode_does_not_switch(model):
    assert record_of(model(), False) is None


@pytest.mark.parametrize("model", [Attention, Recurrent])
def test_without_dropout_the_mode_is_the_same(model):
    assert record_of(model(0.0), False) is None


def test_a_part_in_eval_mode_inside_a_model_in_training_mode():
    model = nn.Sequential(Functional(), nn.Linear(3, 3))

    class Kept(nn.Sequential):
        def train(self, mode=True):
            super().train(mode)
            self[0].eval()
            return self

    kept = Kept(*model)
    assert record_of(kept, True) is None
