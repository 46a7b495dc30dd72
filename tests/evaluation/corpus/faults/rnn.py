"""Recurrent networks."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from ..healthy.toydata import loader, text
from . import fault


def waves(n: int = 192, length: int = 12) -> Tensor:
    """Damped and undamped oscillations of unlike frequency, (n, length, 1)."""
    time = torch.arange(length).float()
    frequency, phase = 0.3 + 0.5 * torch.rand(n, 1), 6.283 * torch.rand(n, 1)
    return (torch.sin(frequency * time + phase) + 0.03 * torch.randn(n, length)).unsqueeze(-1)


class Reviews(Dataset):
    """Sentences of 3 to 12 words (0 is padding); the sentiment is that of the first word."""

    def __init__(self, n: int = 192, vocab: int = 24) -> None:
        words = text(n, 12, vocab, first=1)
        lengths = torch.randint(3, 13, (n,)).tolist()
        self.samples = [
            {"words": row[:length], "label": (row[0] > vocab // 2).long()}
            for row, length in zip(words, lengths, strict=True)
        ]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return self.samples[index]


def collate(samples: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    words = [sample["words"] for sample in samples]
    return {
        "words": pad_sequence(words, batch_first=True),
        "lengths": torch.tensor([len(w) for w in words]),
        "labels": torch.stack([sample["label"] for sample in samples]),
    }


class Sentiment(nn.Module):
    def __init__(self, packed: bool, vocab: int = 24) -> None:
        super().__init__()
        self.packed = packed
        self.embedding = nn.Embedding(vocab, 12, padding_idx=0)
        self.gru = nn.GRU(12, 24, batch_first=True)
        self.head = nn.Linear(24, 2)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        embedded = self.embedding(words)
        if self.packed:
            embedded = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        _, hidden = self.gru(embedded)
        return self.head(hidden[-1])


@fault("mask-ignored", hard=True)
def last_state_after_the_padding(broken: bool) -> Training:
    """The GRU runs on over the padding, so a sentence is read differently beside a longer one. The loss still falls.

    The lengths are in the batch and are not used.
    """
    model = Sentiment(packed=not broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(
        model,
        optimizer,
        loss=lambda model, batch: F.cross_entropy(model(batch["words"], batch["lengths"]), batch["labels"]),
        data=DataLoader(Reviews(), batch_size=16, shuffle=True, collate_fn=collate),
    )


class Forecaster(nn.Module):
    """Says the next value of each series from its past."""

    def __init__(self, batch_first: bool = True, hidden: int = 20) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=batch_first)
        self.head = nn.Linear(hidden, 1)

    def forward(self, series: Tensor) -> Tensor:
        output, _ = self.lstm(series)
        return self.head(output[:, -1])


@fault("batch-mixing", hard=True)
def lstm_without_batch_first(broken: bool) -> Training:
    """Batches of shape (N, T, F) into an LSTM that takes (T, N, F): it runs along the samples, one leaks into the next.

    A forecast then depends on who else is in the batch, and sees only its own last value besides. The loss still falls.
    """
    x = waves()
    model = Forecaster(batch_first=not broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x[:, :-1], x[:, -1], batch_size=24))


class Accumulator(nn.Module):
    """Adds up what it reads: a plain recurrent net with ReLU that starts at the identity."""

    def __init__(self, hidden: int = 24) -> None:
        super().__init__()
        self.rnn = nn.RNN(2, hidden, nonlinearity="relu", batch_first=True)
        self.head = nn.Linear(hidden, 1)
        with torch.no_grad():
            self.rnn.weight_hh_l0.copy_(torch.eye(hidden))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.rnn(x)[0][:, -1])


@fault("exploding-gradients")
def relu_rnn_without_clipping(broken: bool) -> Training:
    """An identity RNN (ReLU) over 24 steps, trained without the clipping it needs: gradients grow until all is NaN."""
    x = torch.randn(256, 24, 2)
    y = (x[..., 0] + 0.5 * x[..., 1]).sum(1, keepdim=True) / 5
    model = Accumulator()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)

    def step(batch: list[Tensor]) -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        if not broken:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=loader(x, y, batch_size=32))


class Translator(nn.Module):
    """An encoder and a decoder: reverses a short sequence of symbols."""

    def __init__(self, symbols: int = 8, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, symbols)

    def forward(self, target: Tensor, context: Tensor) -> Tensor:
        given = F.pad(target[:, :-1], (1, 0))
        output, _ = self.decoder(self.embedding(given), context)
        return self.head(output)


@fault("disconnected-graph", hard=True)
def context_made_a_new_tensor(broken: bool) -> Training:
    """`torch.tensor(state)` around the encoder's last state copies the figures without their graph: the encoder never
    learns, and the decoder makes do with random codes. Seq2seq code of older tutorials does this."""
    source = torch.randint(0, 8, (192, 5))
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def step(batch: Tensor) -> Tensor:
        optimizer.zero_grad()
        _, context = model.encoder(model.embedding(batch))
        if broken:
            context = torch.tensor(context.tolist())
        target = batch.flip(1)
        loss = F.cross_entropy(model(target, context).flatten(0, 1), target.flatten())
        loss.backward()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=list(source.split(24)))


@fault("bad-gradient-clipping")
def clipped_to_nothing(broken: bool) -> Training:
    """Gradients clipped to a norm of 1e-4 (1.0 was meant; somebody wrote the learning rate twice): SGD stands still."""
    max_norm = 1e-4 if broken else 1.0
    x = waves()
    model = Forecaster()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(batch: list[Tensor]) -> float:
        loss = F.mse_loss(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        return loss.item()

    return Training(model, optimizer, step=step, data=loader(x[:, :-1], x[:, -1], batch_size=24))


class SpreadPooling(nn.Module):
    """The last state and the spread over time, as in speaker recognition (statistics pooling)."""

    def __init__(self, safe: bool) -> None:
        super().__init__()
        self.safe = safe
        self.frame = nn.Linear(1, 16)
        self.gru = nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(32, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.frame(x))
        variance = (h - h.mean(1, keepdim=True)).square().mean(1)
        spread = torch.sqrt(variance + 1e-5 if self.safe else variance)  # guilty
        return self.head(torch.cat([self.gru(h)[0][:, -1], spread], 1))


@fault("unstable-operation", operation="sqrt (backward)")
def square_root_of_zero_variance(broken: bool) -> Training:
    """Spread of a series from a sensor that was off: its variance is 0, and the slope of the root there is infinite."""
    x = waves(length=16)
    x[::16] = 0
    frequency = (x[:, 1:] - x[:, :-1]).square().mean(1).sqrt()
    model = SpreadPooling(safe=not broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    data = loader(x, 4 * (frequency - frequency.mean()), batch_size=24)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=data)


@fault("lr-decayed-too-early", also=("scheduler-misuse",))
def milestones_of_another_dataset(broken: bool) -> Training:
    """MultiStepLR with the milestones of a far smaller dataset: a hundredth of the rate after 20 steps, while the loss
    was still falling fast.

    Milestones of 10 and 20 that are counted in batches may as well be epochs, with `step()` in the wrong place.
    """
    x = waves()
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    milestones = [10, 20] if broken else [300, 600]
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones, gamma=0.1)
    data = loader(x[:, :-1], x[:, -1], batch_size=24)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=data, scheduler=scheduler, scheduler_every="batch")


@fault("scheduler-misuse")
def rate_grows_by_gamma(broken: bool) -> None:
    """ExponentialLR with a gamma above 1 (1.05 for 0.995): the rate grows for ever, what was learnt is lost again."""
    x = waves()
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=1.05 if broken else 0.995)
    data = loader(x[:, :-1], x[:, -1], batch_size=24)
    for _ in range(20):
        for series, value in data:
            loss = F.mse_loss(model(series), value)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()


class ReadOut(nn.Module):
    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, 24, batch_first=True)
        self.head = nn.Sequential(nn.Linear(24, 1), activation)

    def forward(self, series: Tensor) -> Tensor:
        return self.head(self.lstm(series)[0][:, -1])


@fault("wrong-output-activation", hard=True)
def forecast_ends_in_sigmoid(broken: bool) -> Training:
    """A sigmoid after the last layer: no forecast can be negative, half of the values are. The other half is learnt."""
    x = waves()
    model = ReadOut(nn.Sigmoid() if broken else nn.Identity())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x[:, :-1], x[:, -1], batch_size=24))


@fault("missing-optimizer-step")
def accumulation_counter_made_anew(broken: bool) -> Training:
    """The counter of accumulated batches is set to 0 in every call, so the second never comes: no step is taken."""
    x = waves()
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    accumulated = 0

    def step(batch: list[Tensor]) -> Tensor:
        nonlocal accumulated
        if broken:
            accumulated = 0
        loss = F.mse_loss(model(batch[0]), batch[1])
        (loss / 2).backward()
        accumulated += 1
        if accumulated % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    return Training(model, optimizer, step=step, data=loader(x[:, :-1], x[:, -1], batch_size=24))
