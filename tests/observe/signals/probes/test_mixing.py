"""Samples that change each other's outputs: where it begins, and how it is known which dimension counts samples."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training, diagnose

from .trainings import Rows, Sequences, batches, probe, series, table, train


def pooled_over_the_batch(self: Sequences, x: Tensor) -> Tensor:
    hidden, _ = self.rnn(x)
    weights = F.softmax(hidden[..., :1], dim=0)
    return self.leave((weights * hidden).sum(1))


def the_last_sample_for_all(self: Sequences, x: Tensor) -> Tensor:
    hidden, _ = self.rnn(x)
    return self.leave(self.enter(x[:, -1]) + hidden[-1, -1])


def a_view_of_time_first(self: Sequences, x: Tensor) -> Tensor:
    hidden, _ = self.rnn(x.transpose(0, 1))
    return hidden.reshape(len(x), -1)[:, :3]


#: The width of 16 is also the number of samples: no shape may be taken for a table of all pairs.
MIXED = {
    "softmax": Sequences(pooled_over_the_batch, batch_first=True),
    "__getitem__": Sequences(the_last_sample_for_all, batch_first=True),
    "reshape": Sequences(a_view_of_time_first),
    "gru": Sequences(lambda self, x: self.leave(self.rnn(x)[0][:, -1])),
}


@pytest.mark.parametrize("operation", MIXED)
def test_the_first_operation_that_mixes_is_named(operation):
    (found,) = probe(train(MIXED[operation], series())).mixing
    assert found.operation == operation
    assert found.place is not None
    assert (found.for_all == 15) == (operation == "__getitem__")


def test_a_statistic_is_named_and_not_the_difference_from_it():
    def forward(self: Rows, x: Tensor) -> Tensor:
        hidden = self.enter(x)
        return self.leave(hidden - hidden.mean(0))

    (found,) = probe(train(Rows(forward), table())).mixing
    assert (found.operation, found.given) == ("mean", (16, 12))


def test_two_optimizers_are_no_excuse():
    model = Rows(lambda self, x: self.leave(self.enter(x).softmax(0)))
    optimizers = [torch.optim.SGD(part.parameters(), 0.01) for part in (model.enter, model.leave)]
    data = (table(), torch.randint(0, 3, (16,)))
    assert len(probe(Training(model, optimizers, criterion=nn.CrossEntropyLoss(), data=data)).mixing) == 1


class Tagger(nn.Module):
    """A label for each position, by an LSTM that takes the first dimension for time."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm, self.head = nn.Embedding(20, 8), nn.LSTM(8, 12), nn.Linear(12, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.lstm(self.embedding(tokens))[0])


def tagging(data: Any) -> Training:
    model = Tagger()

    def loss(model: nn.Module, batch: Any) -> Tensor:
        return F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten())

    return Training(model, torch.optim.SGD(model.parameters(), 0.01), loss=loss, data=data)


def tags(samples: int = 64, length: int = 10) -> tuple[Tensor, Tensor]:
    tokens = torch.randint(1, 20, (samples, length))
    return tokens, tokens % 3


def padded() -> tuple[Tensor, Tensor]:
    tokens, labels = tags(16)
    tokens[torch.arange(10) >= (torch.arange(16) % 7 + 3)[:, None]] = 0
    return tokens, labels


SAMPLES_FIRST = {
    "a loader stacks samples": DataLoader(TensorDataset(*tags()), batch_size=16),
    "a loader of its own makes them": DataLoader(
        TensorDataset(*tags()), 16, collate_fn=lambda rows: [torch.stack(t) for t in zip(*rows, strict=True)]
    ),
    "batches are cut along it": batches(*tags()),
    "padding fills up the other": padded(),
    "there is one length for each": (*tags(16), torch.full((16,), 10)),
}


@pytest.mark.parametrize("known_from", SAMPLES_FIRST)
def test_the_data_tell_that_samples_come_first(known_from):
    (found,) = probe(tagging(SAMPLES_FIRST[known_from])).mixing
    assert (found.operation, found.module_class) == ("lstm", "LSTM(batch_first=False)")


def swapped(batch: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(t.T if t.ndim > 1 else t for t in batch)


TIME_FIRST = {
    "a loader of its own puts time first": DataLoader(
        TensorDataset(*tags()), 16, collate_fn=lambda rows: [torch.stack(t, 1) for t in zip(*rows, strict=True)]
    ),
    "batches are cut along the second": [swapped(batch) for batch in batches(*tags())],
    "padding fills up the first": swapped(padded()),
    "there is one length for each": swapped((*tags(16), torch.full((16,), 10))),
    "nothing tells": swapped(tags(16)),
}


@pytest.mark.parametrize("known_from", TIME_FIRST)
def test_time_first_is_left_alone(known_from):
    assert probe(tagging(TIME_FIRST[known_from])).mixing == []


def test_a_stream_that_is_cut_along_time_is_left_alone():
    """Each target is the next token along the first dimension: words of a text in columns."""
    text = torch.randint(1, 3, (65, 16))
    parts = [(text[i : i + 16], text[i + 1 : i + 17]) for i in range(0, 64, 16)]
    assert probe(tagging(parts)).mixing == []


class OneSequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(4, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.gru(x)[0])  # (rows, features): one sequence without a batch


def test_rows_of_a_table_are_one_sequence_only_if_they_have_an_order():
    rows, labels = torch.randn(64, 4), torch.randint(0, 3, (64,))
    walk = rows.cumsum(0)

    def training(x: Tensor, **settings: Any) -> Training:
        model = OneSequence()
        data = DataLoader(TensorDataset(x, labels), 16, **settings) if settings else batches(x, labels)
        return Training(model, torch.optim.SGD(model.parameters(), 0.01), criterion=nn.CrossEntropyLoss(), data=data)

    shuffled = probe(training(rows, shuffle=True))
    assert [record.operation for record in shuffled.mixing] == ["gru"]
    (verdict,) = diagnose(lambda: training(walk), "uses_its_input").verdicts
    assert (verdict.outcome, len(verdict.notes)) == ("passed", 1)
    (verdict,) = diagnose(lambda: training(rows), "uses_its_input").verdicts
    assert verdict.outcome == "could not judge"
    assert "one sequence for gru" in verdict.reason


class Bag(nn.Module):
    """Reads each sample of a list by itself, or from the whole list."""

    def __init__(self, centred: bool) -> None:
        super().__init__()
        self.enter, self.leave, self.centred = nn.Linear(4, 8), nn.Linear(8, 3), centred

    def forward(self, bags: list[Tensor]) -> Tensor:
        hidden = torch.stack([self.enter(bag).relu().mean(0) for bag in bags])
        return self.leave(hidden - hidden.mean(0) if self.centred else hidden)


def bags(model: nn.Module) -> Training:
    """The first bag has as many rows as there are bags: these are not samples."""
    ragged = [torch.randn(8 if n == 0 else 3 + n, 4) for n in range(8)]
    data = [{"bags": ragged, "labels": torch.randint(0, 3, (8,))}]

    def loss(model: nn.Module, batch: dict[str, Any]) -> Tensor:
        return F.cross_entropy(model(batch["bags"]), batch["labels"])

    return Training(model, torch.optim.SGD(model.parameters(), 0.01), loss=loss, data=data)


def test_members_of_a_ragged_list_are_samples():
    found = probe(bags(Bag(centred=False)))
    assert (found.mixing, found.judged["mixing"]) == ([], 1)
    (mixed,) = probe(bags(Bag(centred=True))).mixing
    assert (mixed.samples, mixed.others) == (8, 7)


def test_rows_of_a_member_are_not_samples():
    """Each sequence is centred by its own mean, and the first has as many steps as there are sequences."""

    class Centred(Bag):
        def forward(self, bags: list[Tensor]) -> list[Tensor]:
            return [self.leave(self.enter(bag - bag.mean(0))) for bag in bags]

    model = Centred(centred=True)
    ragged = [torch.randn(8 if n == 0 else 3 + n, 4) for n in range(8)]
    tags = [torch.randint(0, 3, (len(each),)) for each in ragged]

    def loss(model: nn.Module, batch: Any) -> Tensor:
        return torch.stack([F.cross_entropy(o, t) for o, t in zip(model(batch[0]), batch[1], strict=True)]).mean()

    training = Training(model, torch.optim.SGD(model.parameters(), 0.01), loss=loss, data=[(ragged, tags)])
    found = probe(training)
    assert (found.mixing, found.judged["mixing"]) == ([], 1)


class Slope(nn.Module):
    """Its outputs are the slopes of an energy: a call needs a graph of its own."""

    def __init__(self, mixes: bool) -> None:
        super().__init__()
        self.energy, self.mixes = nn.Sequential(nn.Linear(10, 12), nn.Tanh(), nn.Linear(12, 1)), mixes

    def forward(self, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        energy = self.energy(x - x.mean(0) if self.mixes else x).square().sum()
        return torch.autograd.grad(energy, x, create_graph=True)[0][:, :3]


@pytest.mark.parametrize("mixes", [False, True])
def test_a_call_that_differentiates_is_repeated_with_a_graph(mixes):
    found = probe(train(Slope(mixes), table()))
    assert found.reasons == []
    assert found.judged["mixing"] == 1
    assert len(found.mixing) == mixes


def test_a_scripted_model_with_buffers_can_be_repeated():
    model = torch.jit.script(nn.Sequential(nn.Linear(10, 12), nn.BatchNorm1d(12), nn.Linear(12, 3)))
    found = probe(train(model, table()))
    assert found.reasons == []
    assert found.judged["mixing"] == 1


class Told(nn.Module):
    """As Keras has it: the mode is an argument, which layers hand on."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(5, 8), nn.Linear(8, 3)

    def normalised(self, x: Tensor, training: bool) -> Tensor:
        hidden = torch.relu(self.enter(x))
        if training:
            hidden = (hidden - hidden.mean(0)) / (hidden.std(0) + 1e-3)
        return self.leave(hidden)


class ToldByName(Told):
    def forward(self, x: Tensor, training: bool = False) -> Tensor:
        return self.normalised(x, training)


class ToldByWhateverComes(Told):
    def forward(self, *inputs: Tensor, **more: Any) -> Tensor:
        return self.normalised(*inputs, **more)


@pytest.mark.parametrize("kind", [ToldByName, ToldByWhateverComes])
@pytest.mark.parametrize("told", [{"training": True}, {"training": 1}])
def test_a_model_that_is_told_its_mode_is_told_that_it_is_evaluated(kind: type[Told], told: dict[str, Any]) -> None:
    def training() -> Training:
        torch.manual_seed(0)
        model = kind()
        inputs = torch.randn(16, 5)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        batch = (inputs, inputs.argmax(1) % 3)
        return Training(model, optimizer, lambda m, b: F.cross_entropy(m(b[0], **told), b[1]), [batch])

    verdict = diagnose(training, checks=["uses_its_input"]).verdicts[0]
    assert verdict.failed is (told["training"] is not True)  # what is no mode is left as it was given
