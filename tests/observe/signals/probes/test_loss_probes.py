"""What the loss depends on: a softmax over the batch, padding, and losses that compare samples on purpose."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose

from .trainings import probe, table


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(10, 12), nn.ReLU(), nn.Linear(12, 4))


def training(loss: Any, data: Any = None, model: nn.Module | None = None) -> Training:
    model = model or net()
    data = (table(), torch.randint(0, 4, (16,))) if data is None else data
    return Training(model, torch.optim.SGD(model.parameters(), 0.01), loss=loss, data=data)


def with_nll(model: nn.Module, batch: Any, dim: int = 0) -> Tensor:
    return F.nll_loss(F.log_softmax(model(batch[0]), dim=dim), batch[1])


def by_hand(model: nn.Module, batch: Any) -> Tensor:
    chosen = torch.softmax(model(batch[0]), 0)[torch.arange(len(batch[0])), batch[1]]
    return -chosen.log().mean()


def gathered(model: nn.Module, batch: Any) -> Tensor:
    return -model(batch[0]).log_softmax(0).gather(1, batch[1][:, None]).mean()


@pytest.mark.parametrize("loss", [with_nll, by_hand, gathered])
def test_a_softmax_over_the_batch_before_the_loss(loss):
    (found,) = probe(training(loss)).mixing
    assert found.in_loss
    assert found.given == (16, 4)
    assert found.place is not None
    assert "0" in found.place.code


def test_in_a_step_of_ones_own():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step(batch: Any) -> Tensor:
        optimizer.zero_grad()
        loss = with_nll(model, batch)
        loss.backward()
        optimizer.step()
        return loss

    data = (table(), torch.randint(0, 4, (16,)))
    (finding,) = diagnose(lambda: Training(model, optimizer, step=step, data=data), "uses_its_input").findings
    assert finding.cause == "batch-mixing"
    assert finding.statement == "log_softmax() before the loss runs over 16 samples, not over classes"


def contrastive(model: nn.Module, batch: Any) -> Tensor:
    """The second direction of CLIP: over the samples, and each pair has its place on the diagonal."""
    one, other = (F.normalize(model(batch[0] + 0.1 * torch.randn_like(batch[0])), dim=-1) for _ in range(2))
    return F.nll_loss((one @ other.T).log_softmax(0), torch.arange(len(one)))


def listwise(model: nn.Module, batch: Any) -> Tensor:
    return -(batch[1].float().softmax(0) * model(batch[0])[:, 0].log_softmax(0)).sum()


def root_of_all(model: nn.Module, batch: Any) -> Tensor:
    return with_nll(model, batch, dim=1).sqrt()


@pytest.mark.parametrize("loss", [contrastive, listwise, root_of_all])
def test_losses_over_the_batch_are_meant(loss):
    assert probe(training(loss)).mixing == []


class Words(nn.Module):
    """The next word, or a tag for each."""

    def __init__(self, padding_idx: int | None = 0, classes: int = 20) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 12, padding_idx=padding_idx)
        self.gru, self.head = nn.GRU(12, 16, batch_first=True), nn.Linear(16, classes)

    def forward(self, words: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.head(self.gru(self.embedding(words))[0])


def text(length: int = 12) -> tuple[Tensor, Tensor]:
    words = torch.randint(1, 20, (16, length))
    mask = torch.arange(length) < (torch.arange(16) % (length - 4) + 3)[:, None]
    return words * mask, mask


def next_word(model: nn.Module, batch: Any, **settings: Any) -> Tensor:
    return F.cross_entropy(model(batch[0][:, :-1]).flatten(0, 1), batch[0][:, 1:].flatten(), **settings)


def test_padding_that_the_loss_counts():
    (found,) = probe(training(next_word, text(), Words())).paddings
    assert (found.in_loss, found.known_from, found.function, found.filling) == (True, "padding_idx", "cross_entropy", 0)
    judged = probe(training(lambda m, b: next_word(m, b, ignore_index=0), text(), Words()))
    assert judged.paddings == []
    assert judged.judged["padding"] > 0


def test_a_mask_shows_where_the_padding_of_numbers_is():
    def error(model: nn.Module, batch: Any, masked: bool) -> Tensor:
        squares = F.mse_loss(model(batch[0], batch[1]).squeeze(-1), batch[2], reduction="none")
        return (squares * batch[1]).sum() / batch[1].sum() if masked else squares.mean()

    words, mask = text()
    data = (words, mask, torch.randn(words.shape) * mask)
    (found,) = probe(training(lambda m, b: error(m, b, False), data, Words(None, 1))).paddings
    assert (found.in_loss, found.mask, found.function) == (True, "mask", "mse_loss")
    assert probe(training(lambda m, b: error(m, b, True), data, Words(None, 1))).paddings == []


def test_the_end_of_a_sequence_may_be_predicted():
    def until_the_end(model: nn.Module, batch: Any) -> Tensor:
        target = batch[0][:, 1:].clone()
        target[~batch[1][:, :-1]] = -100  # the first 0 counts, those behind it do not
        return F.cross_entropy(model(batch[0][:, :-1]).flatten(0, 1), target.flatten())

    assert probe(training(until_the_end, text(), Words())).paddings == []


def test_zeros_that_nothing_marks_are_not_padding():
    assert probe(training(next_word, text(), Words(padding_idx=None))).paddings == []


def test_an_autoencoder_restores_the_padding_too():
    class Restores(Words):
        def forward(self, words: Tensor, mask: Tensor | None = None) -> Tensor:
            _, summary = self.gru(self.embedding(words))
            return self.head(summary[-1][:, None] + self.gru(self.embedding(words))[0])

    def restored(model: nn.Module, batch: Any) -> Tensor:
        return F.cross_entropy(model(batch[0]).flatten(0, 1), batch[0].flatten())

    assert not any(record.in_loss for record in probe(training(restored, text(), Restores())).paddings)
