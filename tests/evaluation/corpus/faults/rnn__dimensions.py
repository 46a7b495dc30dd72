"""Recurrent networks that take one dimension for another."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training

from ..healthy.toydata import loader, text
from . import fault


def walks(n: int = 192, length: int = 12, features: int = 5) -> tuple[Tensor, Tensor]:
    """Random walks; the class is which of the first three features is largest on average."""
    x = torch.randn(n, length, features).cumsum(1) / 2
    return x, x[..., :3].mean(1).argmax(1)


class WordTagger(nn.Module):
    def __init__(self, batch_first: bool, words: int = 20) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, 12)
        self.lstm = nn.LSTM(12, 24, bidirectional=True, batch_first=batch_first)
        self.head = nn.Linear(48, 4)

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.lstm(self.embedding(words))[0])


@fault("batch-mixing", hard=True)
def tagger_without_batch_first(broken: bool) -> Training:
    """A tag for each word, from a slice of a larger tensor: the LSTM reads the first words of all sentences, then the
    second ones. All shapes fit.
    """
    words = text(192, 10, 20)
    tags = (words + words.roll(1, 1)) % 4
    model = WordTagger(batch_first=not broken)
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        loss=lambda model, batch: F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten()),
        data=[(words[i : i + 16], tags[i : i + 16]) for i in range(0, 192, 16)],
    )


class BothEnds(nn.Module):
    """Joins the last states of both directions, which come as (directions, samples, hidden)."""

    def __init__(self, viewed: bool) -> None:
        super().__init__()
        self.gru = nn.GRU(5, 16, bidirectional=True, batch_first=True)
        self.head, self.viewed = nn.Linear(32, 3), viewed

    def forward(self, x: Tensor) -> Tensor:
        _, last = self.gru(x)
        joined = last.view(-1, 32) if self.viewed else last.transpose(0, 1).flatten(1)
        return self.head(joined)


@fault("batch-mixing", hard=True)
def last_states_viewed_into_rows(broken: bool) -> Training:
    """`view(-1, 32)` joins the states of two neighbours, not those of both directions."""
    model = BothEnds(viewed=broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*walks()))


class Summary(nn.Module):
    """Each step beside a summary of its sequence."""

    def __init__(self, of_the_last_sample: bool) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(5, 24, batch_first=True), nn.Linear(24 + 5, 3)
        self.of_the_last_sample = of_the_last_sample

    def forward(self, x: Tensor) -> Tensor:
        hidden, _ = self.gru(x)
        summary = hidden[-1, -1].expand(len(x), -1) if self.of_the_last_sample else hidden[:, -1]
        return self.head(torch.cat([summary, x.mean(1)], 1))


@fault("batch-mixing", hard=True)
def last_sample_instead_of_last_step(broken: bool) -> Training:
    """`hidden[-1, -1]` is the last step of the last sample, for all of them; the raw values beside it still teach."""
    model = Summary(of_the_last_sample=broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*walks()))


class State(nn.Module):
    def __init__(self, step: int) -> None:
        super().__init__()
        self.gru, self.head, self.step = nn.GRU(5, 24, batch_first=True), nn.Linear(24, 3), step

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.gru(x)[0][:, self.step])


@fault("ignores-input")
def state_after_the_first_step(broken: bool) -> Training:
    """The answer is read from the state after the first step: the rest of the sequence is read and thrown away."""
    model = State(0 if broken else -1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*walks()))


class Remembers(nn.Module):
    def __init__(self, between_batches: bool) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(5, 24, batch_first=True), nn.Linear(24, 3)
        self.between_batches, self.hidden = between_batches, None

    def forward(self, x: Tensor) -> Tensor:
        output, hidden = self.gru(x, self.hidden)
        if self.between_batches:
            self.hidden = hidden.detach()
        return self.head(output[:, -1])


@fault("batch-mixing", hard=True)
def state_kept_between_shuffled_batches(broken: bool) -> Training:
    """Each walk starts in the state in which another one ended: the loader draws them at random."""
    model = Remembers(between_batches=broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    data = DataLoader(TensorDataset(*walks()), batch_size=16, shuffle=True, drop_last=True)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)
