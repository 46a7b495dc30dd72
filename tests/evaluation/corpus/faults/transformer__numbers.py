"""Attention with an operation that leaves its domain."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training

from ..healthy.toydata import loader, text
from . import fault
from .transformer import sentences


class Attention(nn.Module):
    """One head by hand; `hide` turns scores and the places to hide into masked scores."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def hide(self, scores: Tensor, hidden: Tensor) -> Tensor:
        return scores.masked_fill(hidden, torch.finfo(scores.dtype).min)

    def weights(self, scores: Tensor) -> Tensor:
        return scores.softmax(-1)

    def forward(self, h: Tensor, hidden: Tensor) -> Tensor:
        q, k, v = self.qkv(h).chunk(3, -1)
        scores = self.hide(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), hidden)
        return self.out(self.weights(scores) @ v)


class Reader(nn.Module):
    """A sentence by one block of attention, its words averaged."""

    def __init__(self, attention: nn.Module | None = None, vocab: int = 24, width: int = 24, outputs: int = 3) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab, width, padding_idx=0)
        self.positions = nn.Parameter(0.5 * torch.randn(10, width))
        self.attention = attention or Attention(width)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, outputs)

    def pooled(self, h: Tensor, kept: Tensor) -> Tensor:
        return (h * kept).sum(1) / kept.sum(1).clamp(min=1)

    def forward(self, tokens: Tensor) -> Tensor:
        padding = tokens == 0
        h = self.tokens(tokens) + self.positions
        h = self.norm(h + self.attention(h, padding[:, None]))
        return self.head(self.pooled(h, (~padding).unsqueeze(-1)))


def with_empty_lines(count: int) -> tuple[Tensor, Tensor]:
    """Some of the sentences are nothing but padding."""
    tokens, label = sentences()
    empty = torch.randperm(len(tokens))[:count]
    tokens[empty], label[empty] = 0, 0
    return tokens, label


@fault("unstable-operation", operation="softmax")
def attention_of_an_empty_line(broken: bool) -> Training:
    """Padding is hidden with -inf, and two of 192 lines of the file are empty: a softmax over nothing but -inf is
    NaN."""

    class Masked(Attention):
        def hide(self, scores: Tensor, hidden: Tensor) -> Tensor:
            return scores.masked_fill(hidden, -torch.inf if broken else torch.finfo(scores.dtype).min)

        def weights(self, scores: Tensor) -> Tensor:
            return scores.softmax(-1)  # guilty

    model = Reader(Masked())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    data = loader(*with_empty_lines(2), batch_size=16)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)


@fault("unstable-operation", operation="div")
def mean_over_no_words(broken: bool) -> None:
    """Watched. The mean over the words that are not padding, by a model that met lines without any: 0 by 0."""

    class MeanReader(Reader):
        def pooled(self, h: Tensor, kept: Tensor) -> Tensor:
            count = kept.sum(1)
            total = (h * kept).sum(1)
            return total / (count if broken else count.clamp(min=1))  # guilty

    model = MeanReader()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    data = DataLoader(TensorDataset(*with_empty_lines(4)), batch_size=16, shuffle=True)
    for _ in range(4):
        for tokens, label in data:
            loss = F.cross_entropy(model(tokens), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@fault("unstable-operation", operation="mul")
def mask_times_minus_infinity(broken: bool) -> Training:
    """An additive mask made as `hidden * -inf`, after code that had -1e9 there: where nothing is hidden, 0 times
    infinity is NaN."""

    class Additive(Attention):
        def hide(self, scores: Tensor, hidden: Tensor) -> Tensor:
            bias = hidden.float() * (-torch.inf if broken else -1e9)  # guilty
            return scores + bias

    model = Reader(Additive())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*sentences(), batch_size=16))


class Tied(nn.Module):
    """A small causal language model whose last layer is its embedding."""

    def __init__(self, vocab: int = 40, width: int = 128) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.attention = Attention(width)
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        h = self.tokens(tokens)
        future = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
        return self.norm(h + self.attention(h, future)) @ self.tokens.weight.t()


@fault("unstable-operation", operation="log")
def tied_scores_underflow(broken: bool) -> Training:
    """The last layer is tied to an embedding of standard normals, so a word scores its own repetition about 128 above
    all others. The softmax of those is 0 in float32, and its log is taken by hand. (In the twin the embedding starts
    small enough for the layer it is tied to: a first loss of 119 is a fault of its own.)"""
    model = Tied()
    if not broken:
        nn.init.normal_(model.tokens.weight, std=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

    def perplexity(model: nn.Module, tokens: Tensor) -> Tensor:
        scores = model(tokens[:, :-1])
        if broken:
            probability = torch.softmax(scores, dim=-1)
            logs = torch.log(probability)  # guilty
        else:
            logs = torch.log_softmax(scores, dim=-1)
        return -logs.gather(-1, tokens[:, 1:, None]).mean()

    return Training(model, optimizer, perplexity, list(text(160, 12, 40).split(16)))


@fault("unstable-operation", operation="log")
def entropy_of_masked_attention(broken: bool) -> Training:
    """A bonus for attention that spreads: the entropy is the sum of p log p, and p is 0 wherever padding is hidden.
    0 times minus infinity."""

    class Spreading(Attention):
        def weights(self, scores: Tensor) -> Tensor:
            p = scores.softmax(-1)
            logs = torch.log(p if broken else p + 1e-6)  # guilty
            self.entropy = -(p * logs).sum(-1).mean()
            return p

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        tokens, label = batch
        return F.cross_entropy(model(tokens), label) - 0.01 * model.attention.entropy

    model = Reader(Spreading())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Training(model, optimizer, loss, loader(*sentences(), batch_size=16))


@fault("unstable-operation", operation="acos")
def angle_of_a_duplicate(broken: bool) -> Training:
    """Similarity as an angle. Pairs that are word for word the same have a cosine of 1 and, by rounding, at times
    1.0000001, which has no arc cosine."""
    first, _ = sentences()
    second = torch.where(torch.rand(192, 1) < 0.5, first, first[torch.randperm(192)])
    wanted = (first != second).float().mean(1)

    class Angle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.reader = Reader(outputs=16)

        def forward(self, first: Tensor, second: Tensor) -> Tensor:
            one, other = self.reader(first), self.reader(second)
            cosine = (one / one.norm(dim=-1, keepdim=True) * (other / other.norm(dim=-1, keepdim=True))).sum(-1)
            if not broken:
                cosine = cosine.clamp(-1 + 1e-4, 1 - 1e-4)
            return torch.acos(cosine) / math.pi  # guilty

    model = Angle()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def step(batch: list[Tensor]) -> Tensor:
        first, second, wanted = batch
        loss = F.mse_loss(model(first, second), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=loader(first, second, wanted, batch_size=16))


@fault("unstable-operation", operation="log1p")
def epsilon_of_another_precision(broken: bool) -> Training:
    """Tags by scaled cosines, cross-entropy by hand, probabilities kept from 0 and 1 by 1e-12. That is an epsilon for
    float64: in float32, 1 - 1e-12 is 1, and as soon as the model is sure, log1p(-1) is infinite."""
    tokens = text(192, 10, 24, first=1)
    tags = torch.stack([(tokens == word).any(1) for word in (3, 8, 13, 21)], 1).float()
    eps = 1e-12 if broken else 1e-6

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.reader = Reader(outputs=24)
            self.tags = nn.Parameter(torch.randn(4, 24))

        def forward(self, tokens: Tensor) -> Tensor:
            return torch.sigmoid(40 * F.normalize(self.reader(tokens), dim=-1) @ F.normalize(self.tags, dim=-1).t())

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        tokens, tags = batch
        p = model(tokens).clamp(eps, 1 - eps)
        absent = torch.log1p(-p)  # guilty
        return -(tags * torch.log(p) + (1 - tags) * absent).mean()

    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return Training(model, optimizer, loss, loader(tokens, tags, batch_size=16))
