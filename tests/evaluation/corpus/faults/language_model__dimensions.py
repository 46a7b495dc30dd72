"""Language models whose loss or mask counts the wrong positions."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from ..healthy.toydata import text
from . import fault


class NextWord(nn.Module):
    def __init__(self, words: int = 20) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, 16, padding_idx=0)
        self.gru, self.head = nn.GRU(16, 32, batch_first=True), nn.Linear(32, words)

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.gru(self.embedding(words))[0])


def padded_text() -> Tensor:
    words = text(192, 14, 20, first=1)
    words[torch.arange(14) >= torch.randint(4, 15, (192, 1))] = 0
    return words


@fault("mask-ignored", hard=True)
def padding_counted_by_the_loss(broken: bool) -> Training:
    """`ignore_index` is missing: a third of the targets are padding, and the loss falls by predicting them."""
    model = NextWord()

    def loss(model: nn.Module, words: Tensor) -> Tensor:
        scores, target = model(words[:, :-1]), words[:, 1:]
        return F.cross_entropy(scores.flatten(0, 1), target.flatten(), ignore_index=-100 if broken else 0)

    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-2), loss=loss, data=list(padded_text().split(16)))


class Causal(nn.Module):
    """Attention that drops some of its links, as a regulariser."""

    def __init__(self, in_place: bool, length: int = 12, width: int = 24) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(20, width), nn.Parameter(0.3 * torch.randn(length, width))
        self.qkv, self.head, self.in_place = nn.Linear(width, 3 * width), nn.Linear(width, 20), in_place
        self.register_buffer("links", torch.ones(length, length).tril())

    def forward(self, words: Tensor) -> Tensor:
        x = self.embedding(words) + self.positions
        q, k, v = self.qkv(x).chunk(3, -1)
        links = self.links if self.in_place else self.links.clone()
        if self.training:
            links[torch.rand_like(links) < 0.02] = 0
            links.fill_diagonal_(1)
        weights = (q @ k.transpose(1, 2) / 5).masked_fill(links == 0, -1e9).softmax(-1)
        return self.head(x + weights @ v)


@fault("in-place-modification", hard=True)
def causal_mask_wears_out(broken: bool) -> Training:
    """Links are dropped in the buffer itself: after some hundred steps no position sees any other."""
    model = Causal(in_place=broken)

    def loss(model: nn.Module, words: Tensor) -> Tensor:
        return F.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())

    data = list(text(128, 13, 20).split(16))
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), loss=loss, data=data)
