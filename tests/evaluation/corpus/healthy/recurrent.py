"""Recurrent networks."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

from pytest_trainhealth import Training

from . import healthy
from .toydata import loader, text


def ragged_text(n: int, vocab: int) -> tuple[list[Tensor], Tensor]:
    """Sentences of 3 to 10 tokens (0 is kept for padding); the label is the larger half of the first token."""
    tokens = text(n, 10, vocab, first=1)
    sentences = [row[: int(torch.randint(3, 11, ()))] for row in tokens]
    return sentences, (tokens[:, 0] > vocab // 2).long()


class Batch(NamedTuple):
    tokens: Tensor
    lengths: Tensor
    labels: Tensor


class PackedLSTM(nn.Module):
    def __init__(self, vocab: int = 20) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, 12, padding_idx=0)
        self.lstm = nn.LSTM(12, 24, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(24, 2)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
        _, (hidden, _) = self.lstm(packed)
        return self.head(hidden[-1])


@healthy
def lstm_packed_sequences() -> Training:
    """Packed sequences from a collate function, a NamedTuple as batch; the padding row never gets a gradient."""

    def collate(samples: list[tuple[Tensor, Tensor]]) -> Batch:
        sentences, labels = zip(*samples, strict=True)
        lengths = torch.tensor([len(s) for s in sentences])
        return Batch(pad_sequence(list(sentences), batch_first=True), lengths, torch.stack(labels))

    sentences, labels = ragged_text(64, 20)
    model = PackedLSTM()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: F.cross_entropy(model(batch.tokens, batch.lengths), batch.labels),
        data=DataLoader(list(zip(sentences, labels, strict=True)), batch_size=16, shuffle=True, collate_fn=collate),
    )


@healthy
def gru_ragged_lists() -> Training:
    """A batch is a list of tensors of different lengths and their labels; the model packs them itself."""

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(20, 12)
            self.gru = nn.GRU(12, 24)
            self.head = nn.Linear(24, 2)

        def forward(self, sentences: list[Tensor]) -> Tensor:
            _, hidden = self.gru(pack_sequence([self.embedding(s) for s in sentences], enforce_sorted=False))
            return self.head(hidden[-1])

    sentences, labels = ragged_text(48, 20)
    model = Classifier()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: F.cross_entropy(model(batch["sentences"]), batch["labels"]),
        data=[{"sentences": sentences[i : i + 12], "labels": labels[i : i + 12]} for i in range(0, 48, 12)],
    )


class StatefulTrainer:
    """Truncated back-propagation: the hidden state of the last step is carried over, without its graph."""

    def __init__(self) -> None:
        self.model = nn.ModuleDict({"gru": nn.GRU(1, 24, batch_first=True), "head": nn.Linear(24, 1)})
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=5e-3)
        self.hidden: Tensor | None = None
        self.history: list[float] = []

    def training_step(self, batch: Tensor) -> float:
        output, hidden = self.model["gru"](batch[:, :-1], self.hidden)
        loss = F.mse_loss(self.model["head"](output), batch[:, 1:])
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.hidden = hidden.detach()
        self.history.append(loss.item())
        return self.history[-1]


@healthy
def gru_hidden_state_carried_over() -> Training:
    """The step is a method with state: hidden state and a list of losses outlive each call."""
    time = torch.arange(6 * 17).float() / 4
    waves = torch.sin(time * (0.5 + torch.rand(8, 1)) + 6 * torch.rand(8, 1)).unsqueeze(-1)
    trainer = StatefulTrainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.training_step, data=list(waves.split(17, dim=1)))


class Tagger(nn.Module):
    def __init__(self, vocab: int = 20, tags: int = 5) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, 16, padding_idx=0)
        self.lstm = nn.LSTM(16, 16, batch_first=True, bidirectional=True)
        self.head = nn.Linear(32, tags)

    def forward(self, tokens: Tensor) -> Tensor:
        lengths = (tokens != 0).sum(1)
        packed = pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=tokens.shape[1])
        return self.head(hidden)


@healthy
def lstm_tagger_ignored_targets() -> Training:
    """A third of the targets are -100, which the loss leaves out."""
    sentences, _ = ragged_text(64, 20)
    tokens = pad_sequence(sentences, batch_first=True)
    tags = torch.where(tokens == 0, -100, tokens * 7 % 5)
    model = Tagger()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten()),
        data=[(tokens[i : i + 16], tags[i : i + 16]) for i in range(0, 64, 16)],
    )


@healthy
def rnn_ctc() -> Training:
    """CTC: frames are time-major, so the first dimension is not the batch; at first the blank wins everywhere."""

    class Recogniser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.GRU(6, 24, bidirectional=True)
            self.head = nn.Linear(48, 6)

        def forward(self, frames: Tensor) -> Tensor:
            return self.head(self.rnn(frames)[0]).log_softmax(-1)

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        log_probs = model(batch["frames"])
        lengths = torch.full((log_probs.shape[1],), log_probs.shape[0])
        return F.ctc_loss(log_probs, batch["targets"], lengths, batch["target_lengths"], zero_infinity=True)

    letters = torch.randn(6, 6)
    batches = []
    for _ in range(4):
        targets = torch.randint(1, 6, (8, 4))
        frames = letters[targets].repeat_interleave(3, dim=1).transpose(0, 1)
        frames = frames + 0.1 * torch.randn_like(frames)
        batches.append({"frames": frames, "targets": targets, "target_lengths": torch.full((8,), 4)})
    model = Recogniser()
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), loss, batches)


class Seq2Seq(nn.Module):
    """Reverses its input; while training the decoder is fed the right tokens most of the time."""

    def __init__(self, vocab: int = 12, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, vocab)

    def forward(self, source: Tensor, target: Tensor, forcing: float = 0.9) -> Tensor:
        _, hidden = self.encoder(self.embedding(source))
        hidden, token, logits = hidden[0], torch.zeros_like(source[:, 0]), []
        for t in range(target.shape[1]):
            hidden = self.cell(self.embedding(token), hidden)
            logits.append(self.head(hidden))
            forced = torch.rand(()) < forcing
            token = target[:, t] if forced else logits[-1].argmax(-1)
        return torch.stack(logits, 1)


@healthy
def seq2seq_teacher_forcing() -> Training:
    """Teacher forcing at random; the start token 0 is never a target."""
    source = torch.randint(1, 12, (64, 5))
    model = Seq2Seq()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: F.cross_entropy(model(*batch).flatten(0, 1), batch[1].flatten()),
        data=loader(source, source.flip(1)),
    )


@healthy
def rnn_tanh_clipped() -> Training:
    """A plain tanh RNN with gradients clipped at 0.5 and SGD: the clipping is active in most steps."""

    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.RNN(1, 32, batch_first=True)
            self.head = nn.Linear(32, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.rnn(x)[0][:, -1])

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss.detach()

    x = torch.randint(0, 2, (64, 8, 1)).float()
    model = Counter()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return Training(model, optimizer, step=step, data=loader(x, x.sum(1)))
