"""Data for `huggingface.py`: fields by the names that transformers' models call them. Learnable, from torch's seed."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from .toydata import images, text

#: Tokens from 3 on are words: 0 pads, 1 begins, 2 ends.
VOCAB, WORDS = 40, 3
SAMPLES = 32

Fields = dict[str, Tensor]


def loader(fields: Fields) -> DataLoader[Fields]:
    """Batches of 8 as dicts that fit a model's own signature, like those of transformers' collators."""
    rows = [dict(zip(fields, row, strict=True)) for row in zip(*fields.values(), strict=True)]
    return DataLoader(rows, batch_size=8, shuffle=True)  # type: ignore[arg-type]


def next_token() -> Fields:
    tokens = text(SAMPLES, 12, VOCAB, first=WORDS)
    return {"input_ids": tokens, "labels": tokens.clone()}


def masked() -> Fields:
    """Every sixth token is hidden (as token 1), and only those count."""
    tokens = text(SAMPLES, 12, VOCAB, first=WORDS)
    hidden = torch.rand(tokens.shape) < 1 / 6
    hidden[:, 5] = True
    return {"input_ids": tokens.masked_fill(hidden, 1), "labels": tokens.masked_fill(~hidden, -100)}


def sentences() -> Fields:
    """Of different lengths; the class is told by the first word."""
    tokens = text(SAMPLES, 12, VOCAB, first=WORDS)
    mask = (torch.arange(12) < torch.randint(6, 13, (SAMPLES, 1))).long()
    return {"input_ids": tokens * mask, "attention_mask": mask, "labels": tokens[:, 0] % 3}


def tagged() -> Fields:
    """A class for every word."""
    tokens = text(SAMPLES, 12, VOCAB, first=WORDS)
    return {"input_ids": tokens, "labels": tokens % 3}


def translation() -> Fields:
    source = text(SAMPLES, 10, VOCAB, first=WORDS)
    return {"input_ids": source, "labels": (source[:, :8] - WORDS + 5) % (VOCAB - WORDS) + WORDS}


def pictures(size: int = 16) -> Fields:
    pixels, labels = images(SAMPLES, 4, channels=3, size=size)
    return {"pixel_values": pixels, "labels": labels}


def large_pictures() -> Fields:
    return pictures(32)


def unlabelled() -> Fields:
    """Pictures of one colour each, with little noise: what is hidden of one can be told from the rest."""
    colours = 2 * torch.randn(SAMPLES, 3, 1, 1)
    return {"pixel_values": colours + 0.1 * torch.randn(SAMPLES, 3, 16, 16)}


def outlined() -> Fields:
    """A class for every pixel: bright in the first channel, or not."""
    pixels = images(SAMPLES, 4, channels=3, size=32)[0]
    return {"pixel_values": pixels, "labels": (pixels[:, 0] > 0).long()}


def captioned() -> Fields:
    """Four kinds of picture, each with the word for its kind first."""
    pixels, labels = images(SAMPLES, 4, channels=3, size=16)
    words = text(SAMPLES, 6, VOCAB, first=WORDS + 4)
    words[:, 0] = WORDS + labels
    words[:, -1] = 2
    return {"input_ids": words, "pixel_values": pixels}


def tones() -> Fields:
    """Waves of one of three pitches, with noise."""
    labels = torch.arange(SAMPLES) % 3
    waves = torch.sin(torch.linspace(0, 30, 240) * (labels[:, None] + 1) + 6.28 * torch.rand(SAMPLES, 1))
    return {"input_values": waves + 0.1 * torch.randn(SAMPLES, 240), "labels": labels}


def spoken() -> Fields:
    """Tones with a word of three letters for each pitch, to be spelled (CTC)."""
    waves = tones()
    return {"input_values": waves["input_values"], "labels": waves["labels"][:, None] + torch.tensor([1, 2, 3])}


def spectrograms() -> Fields:
    """Four frames of eight frequencies for each word."""
    words = text(SAMPLES, 6, VOCAB, first=WORDS)
    frames = torch.randn(VOCAB, 8, 4)[words].permute(0, 2, 1, 3).reshape(SAMPLES, 8, 24)
    return {"input_features": frames, "labels": words}


def series() -> Fields:
    """Noisy sines of 24 points, of which the last 8 are to be foretold."""
    phase = 6.28 * torch.rand(SAMPLES, 1, 1)
    curve = torch.sin(torch.arange(24)[:, None] / 3 + phase) + 0.05 * torch.randn(SAMPLES, 24, 1)
    return {"past_values": curve[:, :16], "future_values": curve[:, 16:]}
