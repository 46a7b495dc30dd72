"""Small data with something to learn in it. Everything comes from torch's global generator, which the caller seeds."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset


def blobs(n: int = 128, features: int = 16, classes: int = 4) -> tuple[Tensor, Tensor]:
    """One Gaussian cloud per class, equally many samples of each."""
    labels = torch.arange(n)[torch.randperm(n)] % classes
    centres = torch.randn(classes, features)
    return centres[labels] + 0.7 * torch.randn(n, features), labels


def images(n: int = 64, classes: int = 4, channels: int = 1, size: int = 12) -> tuple[Tensor, Tensor]:
    """A noisy pattern per class, about standardised."""
    labels = torch.arange(n)[torch.randperm(n)] % classes
    patterns = torch.randn(classes, channels, size, size)
    return 0.8 * patterns[labels] + 0.6 * torch.randn(n, channels, size, size), labels


def curve(n: int = 128, features: int = 8) -> tuple[Tensor, Tensor]:
    """A smooth function of the inputs with a little noise; targets are of shape (n, 1)."""
    x = torch.randn(n, features)
    y = torch.sin(x @ torch.randn(features, 1)) + 0.5 * x[:, :1] * x[:, 1:2] + 0.05 * torch.randn(n, 1)
    return x, y


def text(n: int = 64, length: int = 16, vocab: int = 20, first: int = 0) -> Tensor:
    """Token sequences of a noisy chain: the next token is a fixed function of the last one nine times in ten."""
    follows = torch.randperm(vocab - first) + first
    tokens = torch.randint(first, vocab, (n, length))
    for t in range(1, length):
        regular = torch.rand(n) < 0.9
        tokens[:, t] = torch.where(regular, follows[tokens[:, t - 1] - first], tokens[:, t])
    return tokens


def loader(*tensors: Tensor, batch_size: int = 16) -> DataLoader:
    return DataLoader(TensorDataset(*tensors), batch_size=batch_size, shuffle=True)
