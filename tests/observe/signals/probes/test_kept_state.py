"""What a call leaves for the next one: states of samples that are not there any more, and masks that wear out."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training, diagnose

from .trainings import batches, probe


class Stateful(nn.Module):
    """Goes on where the batch before has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head, self.state = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 3), None

    def forward(self, x: Tensor) -> Tensor:
        hidden, state = self.lstm(x, self.state)
        self.state = tuple(t.detach() for t in state)
        return self.head(hidden[:, -1])


def stateful(shuffle: bool) -> Training:
    model = Stateful()
    data = TensorDataset(torch.randn(64, 6, 4), torch.randint(0, 3, (64,)))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=DataLoader(data, 16, shuffle=shuffle))


def test_a_state_is_carried_into_batches_drawn_at_random():
    (found,) = probe(stateful(shuffle=True)).mixing
    assert found.carried == "state[0]"
    (finding,) = diagnose(lambda: stateful(shuffle=True), "uses_its_input").findings
    assert finding.cause == "batch-mixing"


def test_streams_may_go_on():
    (verdict,) = diagnose(lambda: stateful(shuffle=False), "uses_its_input").verdicts
    assert verdict.outcome == "passed"
    assert verdict.notes == ("Stateful keeps state[0] from one batch to the next",)


class Pooled(nn.Module):
    """Takes the mean over unmasked words, and leaves out some of them on the way."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.embedding, self.head, self.how = nn.Embedding(20, 8), nn.Linear(8, 3), how
        self.register_buffer("kept", torch.ones(10, 8).tril())

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        if self.how == "copy":
            mask = mask & (torch.rand(mask.shape) > 0.1)
        elif self.how == "in place":
            mask &= torch.rand(mask.shape) > 0.1
        elif self.how == "once":
            mask[:, -1] = False
        elif self.how == "buffer":
            self.kept[torch.rand(self.kept.shape) < 0.1] = 0
        hidden = self.embedding(words) * self.kept * mask[..., None]
        return self.head(hidden.sum(1) / mask.sum(1, keepdim=True).clamp(min=1))


def pooled(how: str) -> Training:
    torch.manual_seed(0)
    words, mask = torch.randint(0, 20, (64, 10)), torch.rand(64, 10) < 0.8
    model = Pooled(how)

    def loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        return F.cross_entropy(model(batch[0], batch[1]), batch[2])

    data = batches(words, mask, torch.randint(0, 3, (64,)))
    return Training(model, torch.optim.SGD(model.parameters(), 0.01), loss=loss, data=data)


def test_a_mask_that_wears_out():
    for how, name in (("in place", "mask"), ("buffer", "kept")):
        (edit,) = probe(pooled(how)).mask_edits
        assert edit.name == name
        assert edit.after < edit.before
        assert edit.place is not None
        findings = diagnose(lambda how=how: pooled(how), "uses_its_input").findings
        assert findings[0].cause == "in-place-modification"


def test_a_copy_and_an_edit_that_is_always_the_same_do_no_harm():
    for how in ("copy", "once"):
        assert probe(pooled(how)).mask_edits == []
