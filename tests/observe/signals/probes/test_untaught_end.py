"""Sequences that are filled up with the token that ends them: does any label that counts say that they end?"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.source.end_tokens import called_the_end

WORDS = 12


class Writer(nn.Module):
    """Gives the next token, and where asked to, whether the sequence ends."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.rnn = nn.Embedding(WORDS, 16), nn.GRU(16, 24, batch_first=True)
        self.head, self.ends = nn.Linear(24, WORDS), nn.Linear(24, 1)

    def forward(self, tokens: Tensor) -> Any:
        hidden = self.rnn(self.words(tokens))[0]
        return self.head(hidden), self.ends(hidden)[..., 0]


def sequences(end: int, filling: int, *, inside: bool = False) -> Tensor:
    lengths = torch.randint(3, 8, (16, 1))
    position = torch.arange(10)
    tokens = (torch.randint(0, 9, (16, 1)) + 2 * position) % 9
    tokens = torch.where(position < lengths, tokens, filling).scatter(1, lengths, end)
    return tokens.index_fill(1, torch.tensor([1]), end) if inside else tokens


class Loop:
    """The loss of a class, with the numbers of tokens as attributes."""

    def __init__(self, eos_id: int, pad_id: int) -> None:
        self.eos_id, self.criterion = eos_id, nn.CrossEntropyLoss(ignore_index=pad_id)
        self.data = [sequences(eos_id, pad_id) for _ in range(4)]

    def __call__(self, model: nn.Module, tokens: Tensor) -> Tensor:
        return self.criterion(model(tokens[:, :-1])[0].transpose(1, 2), tokens[:, 1:])


def from_a_dictionary(eos: int, pad: int) -> tuple[Any, list[Tensor]]:
    cfg = {"eos_token_id": eos, "pad_token_id": pad}

    def loss(model: nn.Module, tokens: Tensor) -> Tensor:
        scores = model(tokens)[0][:, :-1].reshape(-1, WORDS)
        return F.cross_entropy(scores, tokens[:, 1:].reshape(-1), ignore_index=cfg["pad_token_id"])

    return loss, [sequences(eos, pad) for _ in range(4)]


def without_a_name(end: int, pad: int) -> tuple[Any, list[Tensor]]:
    def loss(model: nn.Module, tokens: Tensor) -> Tensor:
        return F.cross_entropy(model(tokens[:, :-1])[0].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=pad)

    return loss, [sequences(pad, pad) for _ in range(4)]


def with_a_head_for_it(eos: int) -> tuple[Any, list[Tensor]]:
    def loss(model: nn.Module, tokens: Tensor) -> Tensor:
        scores, ends = model(tokens[:, :-1])
        said = F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=eos)
        return said + F.binary_cross_entropy_with_logits(ends, (tokens[:, 1:] == eos).float())

    return loss, [sequences(eos, eos) for _ in range(4)]


def packed(eos: int) -> tuple[Any, list[Tensor]]:
    def loss(model: nn.Module, tokens: Tensor) -> Tensor:
        return F.cross_entropy(model(tokens[:, :-1])[0].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=eos)

    return loss, [sequences(eos, eos, inside=True) for _ in range(4)]


def found(made: Any) -> tuple[str, list[str]]:
    def training() -> Training:
        made_now = made()
        loss, data = made_now if isinstance(made_now, tuple) else (made_now, made_now.data)
        model = Writer()
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss, data)

    (verdict,) = diagnose(training, ["uses_its_input"]).verdicts
    return verdict.outcome, [finding.cause for finding in verdict.findings]


@pytest.mark.parametrize(
    "made", [lambda: Loop(9, 9), lambda: from_a_dictionary(9, 9)], ids=["an attribute", "an entry of a dictionary"]
)
def test_an_end_that_the_loss_ignores(made):
    assert found(made) == ("failed", ["invalid-labels"])


@pytest.mark.parametrize(
    "made",
    [
        lambda: Loop(9, 10),
        lambda: without_a_name(9, 10),
        lambda: with_a_head_for_it(9),
        lambda: packed(9),
    ],
    ids=["padding of its own", "nothing is called the end", "a head for it", "it stands elsewhere, too"],
)
def test_ignored_padding_is_no_alarm(made):
    assert found(made)[0] == "passed"


def test_names_that_mean_the_end():
    eos_token_id = 7
    assert called_the_end(7) == "eos_token_id"
    assert called_the_end(8) == ""
    other_eos = eos_token_id + 1
    assert called_the_end(7) == called_the_end(other_eos) == ""
