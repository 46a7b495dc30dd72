"""Recurrent networks whose numbers leave the finite range."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from ..healthy.toydata import loader, text
from . import fault
from .rnn import waves


class AttentivePooling(nn.Module):
    """A GRU whose states are weighed by attention; padding is masked with a large negative number."""

    def __init__(self, vocab: int = 24, width: int = 24) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, 16, padding_idx=0)
        self.gru = nn.GRU(16, width, batch_first=True)
        self.score = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
        self.head = nn.Linear(width, 2)

    def forward(self, words: Tensor, half: bool) -> Tensor:
        states, _ = self.gru(self.embedding(words))
        with torch.autocast("cpu", dtype=torch.float16, enabled=half):
            scores = self.score(states).squeeze(-1)
            absent = (words == 0).to(scores.dtype)
            weights = (scores + absent * -1e9).softmax(1)  # guilty
            return self.head((weights.unsqueeze(-1) * states).sum(1)).float()


@fault("low-precision-overflow", operation="mul")
def rnn_mask_of_minus_a_billion_in_half(broken: bool) -> Training:
    """-1e9 as a mask is -Inf in float16, so the softmax over a review without any word is NaN; in float32 it is a plain
    mean over its padding."""
    words = text(192, 12, 24, first=1)
    label = (words[:, 0] > 12).long()
    words[torch.arange(12) >= torch.randint(3, 13, (192, 1))] = 0
    words[::16] = 0
    model = AttentivePooling()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        loss=lambda model, batch: F.cross_entropy(model(batch[0], half=broken), batch[1]),
        data=loader(words, label, batch_size=24),
    )


class Demand(Dataset):
    """A series of sales, the weather of the same days, and the sales of the day after."""

    def __init__(self, n: int = 512, length: int = 12) -> None:
        series = waves(n, length + 1)
        self.weather = torch.randn(n, length, 1)
        self.sales = series[:, :-1]
        self.next = series[:, -1] + 0.5 * self.weather[:, -1]

    def __len__(self) -> int:
        return len(self.next)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"sales": self.sales[index], "weather": self.weather[index], "next": self.next[index]}


class DemandNet(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2, width, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, sales: Tensor, weather: Tensor) -> Tensor:
        return self.head(self.lstm(torch.cat([sales, weather], -1))[0][:, -1])


@fault("nan-in-data")
def rnn_weather_station_was_off(broken: bool) -> Training:
    """One reading of the weather is missing, far back in the data, which is read in order: 29 batches go well, the
    thirtieth spoils every weight."""
    demand = Demand()
    if broken:
        demand.weather[470, 5] = float("nan")
    model = DemandNet()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        loss=lambda model, batch: F.mse_loss(model(batch["sales"], batch["weather"]), batch["next"]),
        data=DataLoader(demand, batch_size=16),
    )


class Speech(Dataset):
    """Each sound lasts three frames; the transcript names the sounds in order (0 is the blank)."""

    def __init__(self, n: int = 160, sounds: int = 4, kinds: int = 6) -> None:
        codes = torch.randn(kinds + 1, 8)
        self.transcript = torch.randint(1, kinds + 1, (n, sounds))
        self.transcript_length = torch.full((n,), sounds)
        self.frames = codes[self.transcript].repeat_interleave(3, 1) + 0.3 * torch.randn(n, 3 * sounds, 8)
        self.frame_count = torch.full((n,), 3 * sounds)

    def __len__(self) -> int:
        return len(self.frames)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {
            "frames": self.frames[index],
            "frame_count": self.frame_count[index],
            "transcript": self.transcript[index],
            "transcript_length": self.transcript_length[index],
        }


class Recogniser(nn.Module):
    def __init__(self, kinds: int = 6, width: int = 32) -> None:
        super().__init__()
        self.gru = nn.GRU(8, width, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, kinds + 1)

    def forward(self, frames: Tensor) -> Tensor:
        return self.head(self.gru(frames)[0]).log_softmax(-1)


@fault("invalid-labels")
def rnn_transcript_longer_than_its_recording(broken: bool) -> Training:
    """Some recordings were cut short and their transcripts were not: with fewer frames than letters no alignment
    exists, and CTC's loss is Inf."""
    speech = Speech()
    speech.frame_count[::20] = 3  # one sound and no more
    if not broken:
        speech.transcript_length[::20] = 1
    model = Recogniser()
    criterion = nn.CTCLoss()

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        likelihood = model(batch["frames"]).transpose(0, 1)
        return criterion(likelihood, batch["transcript"], batch["frame_count"], batch["transcript_length"])

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, loss, DataLoader(speech, batch_size=16, shuffle=True))


class Dynamics(nn.Module):
    """How fast a state changes, learnt from whole trajectories that it rolls out itself in small steps."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.change = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, start: Tensor, steps: int) -> Tensor:
        states = [start]
        for _ in range(steps):
            states.append(states[-1] + 0.25 * self.change(states[-1]))
        return torch.stack(states[1:], 1)


def pendulum(n: int = 192, steps: int = 40) -> tuple[Tensor, Tensor]:
    """Angle and speed of pendulums at the start, and along the way."""
    state = 3 * torch.rand(n, 2) - 1.5
    start, path = state, []
    for _ in range(steps):
        angle, speed = state.unbind(1)
        speed = speed - 0.25 * torch.sin(angle) - 0.02 * speed
        state = torch.stack([angle + 0.25 * speed, speed], 1)
        path.append(state)
    return start, torch.stack(path, 1)


@fault("exploding-gradients")
def rnn_rollout_without_clipping(broken: bool) -> Training:
    """A model of a pendulum is trained through 40 steps of its own rollout, without clipping: what one step adds too
    much the next ones multiply, the gradient grows from update to update, and the rollout overflows."""
    model = Dynamics()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch: list[Tensor]) -> Tensor:
        optimizer.zero_grad()
        start, path = batch
        loss = F.mse_loss(model(start, path.shape[1]), path)
        loss.backward()
        if not broken:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=loader(*pendulum(), batch_size=24))


class EventRate(nn.Module):
    """The log of the rate at which events will come next."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.gru = nn.GRU(1, width, batch_first=True)
        self.head = nn.Sequential(
            nn.Linear(width, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1)
        )

    def forward(self, series: Tensor) -> Tensor:
        return self.head(self.gru(series)[0][:, -1])


@fault("lr-too-high")
def rnn_event_counts_at_the_rate_of_adadelta(broken: bool) -> Training:
    """Adadelta, whose rate is 1.0, was replaced by Adam and the rate was kept. The Poisson likelihood grows with the
    exp of the output: a few steps of this size throw it beyond its range."""
    x = waves(length=13)
    counts = torch.poisson(torch.exp(1 + x[:, -1]))
    model = EventRate()
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0 if broken else 1e-2)
    return Training(model, optimizer, criterion=nn.PoissonNLLLoss(), data=loader(x[:, :-1], counts, batch_size=24))


class NextNote(nn.Module):
    """The probabilities of the next note of a melody."""

    def __init__(self, notes: int = 12, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(notes, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, notes)

    def forward(self, notes: Tensor) -> Tensor:
        return self.head(self.gru(self.embedding(notes))[0]).softmax(-1)


@fault("unstable-operation", operation="log")
def rnn_log_of_a_product_of_probabilities(broken: bool) -> Training:
    """The likelihood of a melody is the product over its 48 notes, as the formula says, and then its log is taken: the
    product of 48 times a twelfth is 0 in float32."""
    melodies = text(96, 49, 12)
    model = NextNote()

    def loss(model: nn.Module, notes: Tensor) -> Tensor:
        probability = model(notes[:, :-1]).gather(-1, notes[:, 1:, None]).squeeze(-1)
        if broken:
            probability = probability.prod(1, keepdim=True)
        likelihood = torch.log(probability).sum(1)  # guilty
        return -likelihood.mean() / 48

    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-2), loss, list(melodies.split(16)))
