"""Masks of decoders, and ends of recurrent nets that read both ways."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..loops import Batch, Loop
from .clearing import letters


class Decoder(nn.Module):
    def __init__(self, mask: str, words: int = 12, width: int = 32) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(32, width)
        layer = nn.TransformerEncoderLayer(width, 2, 64, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, words)
        self.mask = mask

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        mask = torch.full((length, length), float("-inf")).triu(1)
        if self.mask == "transposed":
            mask = mask.T
        made = self.words(x) + self.places(torch.arange(length))
        return self.head(self.layers(made, mask=None if self.mask == "missing" else mask))


def decoder(fault: str) -> Loop:
    """A causal language model."""
    model = Decoder(fault)
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)

    def step(batch: Batch) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten())
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adamw": optimizer}, step, letters(8, 8), epochs=10)


class OwnAttention(nn.Module):
    """Heads, a `tril` buffer, and a softmax, all written out; True is where one may look."""

    def __init__(self, mask: str, width: int = 24, length: int = 16) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        mask_of = torch.ones(length, length).tril()
        if mask == "transposed":
            mask_of = mask_of.T
        elif mask == "missing":
            mask_of = torch.ones(length, length)
        self.register_buffer("tril", mask_of)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        scores = self.query(x) @ self.key(x).transpose(1, 2) / x.shape[2] ** 0.5
        scores = scores.masked_fill(self.tril[:length, :length] == 0, float("-inf"))
        return scores.softmax(2) @ self.value(x)


class OwnDecoder(nn.Module):
    def __init__(self, mask: str, words: int = 12, width: int = 24) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.randn(16, width) / 5)
        self.attention, self.mlp = (
            OwnAttention(mask),
            nn.Sequential(nn.Linear(width, 96), nn.ReLU(), nn.Linear(96, width)),
        )
        self.head = nn.Linear(width, words)

    def forward(self, x: Tensor) -> Tensor:
        x = self.words(x) + self.places[: x.shape[1]]
        x = x + self.attention(x)
        return self.head(x + self.mlp(x))


def own_decoder(fault: str) -> Loop:
    model = OwnDecoder(fault)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)

    def step(batch: Batch) -> Tensor:
        logits = model(batch[0])
        loss = F.cross_entropy(logits.reshape(-1, 12), batch[1].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, letters(8, 8), epochs=10)


class Translator(nn.Module):
    """Reads a text and writes it backwards."""

    def __init__(self, mask: str, width: int = 24) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(13, width), nn.Embedding(16, width)
        self.core = nn.Transformer(width, 2, 1, 1, 48, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, 13)
        self.mask = mask

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        def read(x: Tensor) -> Tensor:
            return self.words(x) + self.places.weight[: x.shape[1]]

        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        if self.mask == "transposed":
            mask = mask.T
        return self.head(self.core(read(source), read(target), tgt_mask=None if self.mask == "missing" else mask))


def translator(fault: str) -> Loop:
    model = Translator(fault)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)

    def step(batch: Batch) -> Tensor:
        source = batch[0][:, :10]
        wanted = source.flip(1)
        given = torch.cat((torch.full((len(source), 1), 12), wanted[:, :-1]), 1)
        loss = F.cross_entropy(model(source, given).transpose(1, 2), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, letters(8, 8), epochs=10)


def sums(batches: int, size: int = 16, length: int = 10) -> list[Batch]:
    """Which of two words comes more often; what the last word is does not decide."""
    found = []
    for _ in range(batches):
        words = torch.randint(0, 8, (size, length))
        found.append((words, ((words == 1).sum(1) > (words == 2).sum(1)).long()))
    return found


class BothWays(nn.Module):
    def __init__(self, end: str, kind: type[nn.RNNBase] = nn.LSTM) -> None:
        super().__init__()
        self.words = nn.Embedding(8, 12)
        self.rnn = kind(12, 24, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24 if end == "forward half" else 48, 2)
        self.end = end

    def forward(self, x: Tensor) -> Tensor:
        made, state = self.rnn(self.words(x))
        if self.end == "last":
            return self.head(made[:, -1, :])
        if self.end == "first":
            return self.head(made[:, 0])
        if self.end == "forward half":
            return self.head(made[:, -1, :24])
        if self.end == "mean":
            return self.head(made.mean(1))
        if self.end == "largest":
            return self.head(made.max(1).values)
        last = state[0] if isinstance(state, tuple) else state
        if self.end == "last state":
            return self.head(torch.cat((last[-1], last[-1].square()), 1))
        return self.head(torch.cat((last[-2], last[-1]), 1))


def both_ways(fault: str) -> Loop:
    model = BothWays(fault)
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)

    def step(batch: Batch) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, sums(8), epochs=10)


def both_ways_time_first(fault: str) -> Loop:
    """Two layers of GRUs that take time first; the last output, not the last state."""

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(8, 12)
            self.rnn = nn.GRU(12, 16, num_layers=2, bidirectional=True)
            self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 2)

        def forward(self, x: Tensor) -> Tensor:
            made, state = self.rnn(self.words(x.T))
            read = made[-1] if fault == "last" else torch.cat((state[-2], state[-1]), -1)
            return self.head(self.norm(read))

    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)

    def step(batch: Batch) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, sums(8), epochs=10)


PAIRS = {
    decoder: ("none", "missing", "transposed"),
    own_decoder: ("none", "missing", "transposed"),
    translator: ("none", "missing", "transposed"),
    both_ways: ("none", "forward half", "mean", "largest", "last", "first", "last state"),
    both_ways_time_first: ("none", "last"),
}
