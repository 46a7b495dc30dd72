"""Attention written by hand, and dimensions that come in the wrong order."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pytest_trainhealth import Training

from ..healthy.toydata import images, loader, text
from . import fault


class Attention(nn.Module):
    def __init__(self, merge: str = "transpose", over: int = -1, heads: int = 3, width: int = 24) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(20, width), nn.Parameter(0.3 * torch.randn(10, width))
        self.qkv, self.head = nn.Linear(width, 3 * width), nn.Linear(width, 4)
        self.heads, self.merge, self.over = heads, merge, over

    def forward(self, words: Tensor) -> Tensor:
        samples, length = words.shape
        x = self.embedding(words) + self.positions
        q, k, v = (t.view(samples, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        weights = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=self.over)
        mixed = weights @ v
        if self.merge == "transpose":
            mixed = mixed.transpose(1, 2)
        return self.head((x + mixed.reshape(samples, length, -1)).mean(1))


def sentences() -> tuple[Tensor, Tensor]:
    words = text(192, 10, 20)
    return words, words[:, 0] % 4


@fault("batch-mixing", hard=True)
def heads_joined_without_a_transpose(broken: bool) -> Training:
    """(samples, heads, positions, width) is reshaped to (samples, positions, heads * width): positions are torn apart.

    Samples stay separate, and the mean over positions hides the rest.
    """
    model = Attention(merge="forgotten" if broken else "transpose")
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*sentences()))


@fault("batch-mixing", hard=True)
def attention_weights_over_the_batch(broken: bool) -> Training:
    """`softmax(dim=0)`: the weights of a position sum to one over the samples."""
    model = Attention(over=0 if broken else -1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*sentences()))


class Patches(nn.Module):
    """A convolution makes patches of an image, a transformer layer reads them."""

    def __init__(self, viewed: bool) -> None:
        super().__init__()
        self.cut, self.viewed = nn.Conv2d(1, 16, 4, 4), viewed
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.cut(images)
        patches = patches.view(len(images), -1, 16) if self.viewed else patches.flatten(2).transpose(1, 2)
        return self.head(self.layer(patches).mean(1))


@fault("batch-mixing", hard=True)
def patches_viewed_not_transposed(broken: bool) -> Training:
    """(samples, channels, rows, columns) viewed as (samples, patches, channels): a token is made of several patches."""
    model = Patches(viewed=broken)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader(*images(n=128)))
