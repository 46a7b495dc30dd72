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


class Coder(nn.Module):
    """Whose parts are called, and which never is itself."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(6, 8)
        self.decoder = nn.Sequential(nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))

    def loss(self, x, y):
        return F.cross_entropy(self.decoder(self.encoder(x)), y)


def of_parts(model, before=None):
    torch.manual_seed(0)
    x, y = torch.randn(16, 6), torch.arange(16) % 3
    with watch(("modes",)) as trace:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(6):
            if before is not None:
                before(model, step)
            model.zero_grad()
            model.loss(x, y).backward()
            optimizer.step()
    return left_in_eval(trace)


def test_a_part_that_is_trained_in_eval_mode():
    model = Coder()
    model.decoder.eval()
    found = of_parts(model)
    assert found.model == found.part == "decoder"
    assert found.layers == {"decoder.1": "Dropout"}
    assert found.evaluated == list(range(6))


def test_a_function_inside_of_a_part():
    model = Coder()
    model.decoder = Functional()
    model.encoder = nn.Linear(6, 6)
    model.decoder.eval()
    assert of_parts(model).layers == {"decoder.dropout": "F.dropout"}


def partly_frozen(model):
    model.decoder[2].bias.requires_grad_(False)
    model.decoder.eval()


def frozen(model):
    model.decoder.eval().requires_grad_(False)


def dropout_alone(model):
    model.decoder[1].eval()


def normalised(model):
    model.decoder[1] = nn.BatchNorm1d(8)
    model.decoder.eval()


@pytest.mark.parametrize("change", [partly_frozen, frozen, dropout_alone, normalised])
def test_a_part_whose_mode_may_be_meant(change):
    model = Coder()
    change(model)
    assert of_parts(model) is None


@pytest.mark.parametrize("evaluated", [[0, 1, 2], [2, 3, 4, 5], [0, 2, 4]])
def test_a_part_whose_dropout_is_on_at_some_steps(evaluated):
    assert of_parts(Coder(), before=lambda model, step: model.decoder.train(step not in evaluated)) is None


def test_a_frozen_model_in_an_optimizer_is_not_trained():
    model = Functional().eval().requires_grad_(False)
    head = nn.Linear(3, 3)
    torch.manual_seed(0)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.01)
    with watch(("modes",)) as trace:
        for _ in range(6):
            optimizer.zero_grad()
            F.cross_entropy(head(model(torch.randn(16, 6))), torch.arange(16) % 3).backward()
            optimizer.step()
    assert left_in_eval(trace) is None
