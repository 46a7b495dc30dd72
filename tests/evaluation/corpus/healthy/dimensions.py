"""Samples, time and features in unusual places; models and losses that look at more than one sample on purpose."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy
from .toydata import blobs, loader


def bags(n: int = 64, features: int = 6) -> list[Tensor]:
    """Random walks of 4 to 11 steps; every eighth has 8, as many as there are in a batch."""
    lengths = [8 if i % 8 == 0 else int(torch.randint(4, 12, ())) for i in range(n)]
    return [torch.randn(length, features).cumsum(0) for length in lengths]


class Bags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(6, 32), nn.Linear(32, 2)

    def forward(self, bags: list[Tensor]) -> Tensor:
        return self.leave(torch.stack([F.relu(self.enter(bag)).mean(0) for bag in bags]))


@healthy
def ragged_bags_as_a_list() -> Training:
    """A list of bags of different sizes is one batch. One of them has as many rows as there are bags."""
    data = bags()
    labels = torch.stack([(bag[:, 0].mean() > 0).long() for bag in data])
    model = Bags()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        loss=lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]),
        data=[(data[i : i + 8], labels[i : i + 8]) for i in range(0, 64, 8)],
    )


class OneByOne(nn.Module):
    """Each step is centred by its own sequence, and read in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(6, 16, batch_first=True, bidirectional=True), nn.Linear(32, 2)

    def forward(self, sequences: list[Tensor]) -> list[Tensor]:
        return [self.head(self.gru((each - each.mean(0))[None])[0][0]) for each in sequences]


@healthy
def ragged_sequences_tagged_one_by_one() -> Training:
    """A list in, a list out: the rows of each are time steps, and no sample sees another."""
    data = bags()
    tags = [(each[:, 0] > each[:, 0].mean()).long() for each in data]
    model = OneByOne()

    def loss(model: nn.Module, batch: tuple[list[Tensor], list[Tensor]]) -> Tensor:
        return torch.stack([F.cross_entropy(o, t) for o, t in zip(model(batch[0]), batch[1], strict=True)]).mean()

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, loss=loss, data=[(data[i : i + 8], tags[i : i + 8]) for i in range(0, 64, 8)])


class MaskedLinear(nn.Linear):
    def __init__(self, mask: Tensor) -> None:
        super().__init__(mask.shape[1], mask.shape[0])
        self.register_buffer("mask", mask.float())

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.mask * self.weight, self.bias)


def made(order: Tensor, each: int = 1, width: int = 64) -> nn.Sequential:
    """Output d depends on the inputs that come before d in the order: nothing depends on the last."""
    hidden = torch.arange(width) % (len(order) - 1)
    return nn.Sequential(
        MaskedLinear(hidden[:, None] >= order), nn.ReLU(), MaskedLinear((order[:, None] > hidden).repeat(each, 1))
    )


@healthy
def made_next_bits() -> Training:
    """A masked autoregressive network on strings of bits that mostly stay as they are."""
    bits = (torch.rand(128, 10) < 0.5).float()
    for n in range(1, 10):
        bits[:, n] = torch.where(torch.rand(128) < 0.95, bits[:, n - 1], bits[:, n])
    model = made(torch.arange(10))
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        loss=lambda model, x: F.binary_cross_entropy_with_logits(model(x), x),
        data=list(bits.split(16)),
    )


@healthy
def made_density_in_random_order() -> Training:
    """The same with a Gaussian for each number, in an order that was drawn; the negative log-likelihood may be any."""
    x = torch.randn(128, 6) @ torch.randn(6, 6)
    x = (x - x.mean(0)) / x.std(0)
    model = made(torch.randperm(6), each=2)

    def loss(model: nn.Module, x: Tensor) -> Tensor:
        mean, spread = model(x).chunk(2, 1)
        spread = spread.clamp(-2, 2)
        return (0.5 * (x - mean) ** 2 * (-2 * spread).exp() + spread).mean()

    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-2), loss=loss, data=list(x.split(16)))


class WithSpread(nn.Module):
    """How unlike the samples of a batch are is a feature of each, as in the critics of some GANs."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(16, 32), nn.Linear(33, 4)

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.relu(self.enter(x))
        spread = hidden.std(0).mean().expand(len(x), 1)
        return self.leave(torch.cat([hidden, spread], 1))


@healthy
def spread_of_the_batch_as_a_feature() -> Training:
    """Samples see each other, by way of one number."""
    model = WithSpread()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


class BatchTopK(nn.Module):
    """A sparse autoencoder: over the whole batch the largest codes are kept, some samples get more than others."""

    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, x: Tensor) -> Tensor:
        codes = F.relu(self.encode(x))
        least = codes.flatten().topk(12 * len(x)).values[-1]
        return self.decode(codes * (codes >= least))


@healthy
def sparse_codes_chosen_over_the_batch() -> Training:
    x, _ = blobs()
    model = BatchTopK()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, loss=lambda model, x: F.mse_loss(model(x), x), data=list(x.split(16)))


class Thresholds(nn.Module):
    """One column is an alarm that is never on in these data."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(torch.cat([x[:, :15], (x[:, 15:] > 40).float()], 1))


@healthy
def a_threshold_that_no_sample_reaches() -> Training:
    """Other values of that column would change the output; those of other samples do not."""
    model = Thresholds()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*blobs()))


class TimeFirst(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 24, bidirectional=True), nn.Linear(48, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0])


@healthy
def time_first_with_as_many_steps_as_samples() -> Training:
    """(time, samples, features), as recurrent layers take it; both sizes are 16."""
    x = torch.randn(16, 128, 4).cumsum(0)
    tags = (x[..., 0] > x[..., 0].mean(0)).long()
    model = TimeFirst()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        loss=lambda model, batch: F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten()),
        data=[(x[:, i : i + 16], tags[:, i : i + 16]) for i in range(0, 128, 16)],
    )


class Series(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(1, 24), nn.Linear(24, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.gru(x)[0])


@healthy
def one_series_without_a_batch() -> Training:
    """Rows are the steps of one series: a recurrent layer takes a table for a sequence without a batch."""
    time = torch.arange(401.0)
    values = (torch.sin(time / 4) + 0.5 * torch.sin(time / 11))[:, None]
    model = Series()
    data = [(values[i : i + 50], values[i + 1 : i + 51]) for i in range(0, 400, 50)]
    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-2), criterion=nn.MSELoss(), data=data)


class NeuralProcess(nn.Module):
    """Guesses a line from some of its points: each batch is one line."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32))
        self.leave = nn.Sequential(nn.Linear(33, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x: Tensor, y: Tensor, wanted: Tensor) -> Tensor:
        context = self.enter(torch.cat([x, y], 1)).mean(0)
        return self.leave(torch.cat([wanted, context.expand(len(wanted), -1)], 1))


@healthy
def points_of_one_line_as_a_batch() -> Training:
    """The rows are points of one set, and what they have in common is the point."""
    data = []
    for slope in torch.linspace(-2, 2, 24):
        x, wanted = torch.rand(12, 1) * 2 - 1, torch.rand(12, 1) * 2 - 1
        data.append((x, slope * x, wanted, slope * wanted))
    model = NeuralProcess()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        loss=lambda model, batch: F.mse_loss(model(*batch[:3]), batch[3]),
        data=data,
    )


@healthy
def partial_likelihood_of_survival() -> Training:
    """Cox: who has died is compared with all who were still alive; the loss sorts the batch."""
    x = torch.randn(128, 8)
    times, died = torch.rand(128).log().neg() * torch.exp(-2 * x[:, 0]), (torch.rand(128) < 0.8).float()
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        x, times, died = batch
        order = times.argsort(descending=True)
        risk = model(x)[order, 0]
        return -((risk - risk.logcumsumexp(0)) * died[order]).sum() / died.sum()

    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-2), loss=loss, data=loader(x, times, died))


@healthy
def convolutions_that_see_part_of_the_window():
    """The causal convolutions see 15 of 24 hours; the window was cut generously, and that is nobody's fault."""
    series = torch.sin(torch.arange(400.0) / 4) + 0.1 * torch.randn(400)
    windows = series.unfold(0, 25, 3)[:64]
    first, second = nn.Conv1d(1, 16, 3, dilation=1), nn.Conv1d(16, 16, 3, dilation=2)
    third, head = nn.Conv1d(16, 16, 3, dilation=4), nn.Linear(16, 1)

    class Forecaster(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.head = nn.ModuleList([first, second, third]), head

        def forward(self, hours):
            seen = hours[:, None]
            for layer in self.layers:
                seen = torch.relu(layer(nn.functional.pad(seen, (2 * layer.dilation[0], 0))))
            return self.head(seen[:, :, -1])

    model = Forecaster()
    data = [(each[:, :-1], each[:, -1:]) for each in windows.split(16)]
    return Training(model, torch.optim.Adam(model.parameters(), 3e-3), criterion=nn.MSELoss(), data=data)
