"""resumes_exactly where `save()` returns a state that `load(state)` takes, or where both know the place themselves."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training

from .test_resumes_exactly import batches, complete, verdict


class Following:
    """A step that follows an average of its own weights, with a `state_dict()` as people write them."""

    def __init__(self, *, tells: bool) -> None:
        self.model, self.tells = nn.Linear(4, 3), tells
        self.average = copy.deepcopy(self.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1, momentum=0.9)

    def step(self, batch):
        pull = sum(
            (a - b).square().sum() for a, b in zip(self.model.parameters(), self.average.parameters(), strict=True)
        )
        loss = F.cross_entropy(self.model(batch[0]), batch[1]) + pull
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            for old, new in zip(self.average.parameters(), self.model.parameters(), strict=True):
                old.lerp_(new, 0.1)
        return loss

    def state_dict(self):
        """Not copied: it goes on changing with the training."""
        told = {"average": self.average.state_dict()} if self.tells else {}
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), **told}

    def load_state_dict(self, state):
        for name, values in state.items():
            getattr(self, name).load_state_dict(values)


def handed_over(*, tells: bool = True, **other) -> Training:
    made = Following(tells=tells)
    own = {"save": made.state_dict, "load": made.load_state_dict, **other}
    return Training(made.model, made.optimizer, step=made.step, data=batches(), **own)


def test_a_state_is_handed_from_save_to_load():
    assert verdict(handed_over).passed
    assert verdict(handed_over()).passed  # a training, and no function that makes it
    found = verdict(lambda: handed_over(tells=False))
    assert found.failed
    assert (found.findings[0].cause, found.findings[0].certainty) == ("checkpoint-incomplete", "confirmed")


def test_the_state_dict_of_a_module_takes_no_path():
    def training():
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        ways = {"save": model.state_dict, "load": model.load_state_dict}
        return Training(model, optimizer, criterion=F.cross_entropy, data=batches(), **ways)

    assert verdict(training).passed


def test_both_may_know_where_the_checkpoint_lies(tmp_path):
    def training():
        made = complete(dropout=0.3)
        save, load = made.save, made.load
        made.save, made.load = lambda: save(tmp_path / "last.pt"), lambda: load(tmp_path / "last.pt")
        return made

    assert verdict(training).passed


def test_a_state_that_cannot_be_handed_over_shows_nothing():
    found = verdict(lambda: handed_over(save=lambda: {"mapped": lambda x: x}))
    assert found.outcome == "could not judge"
    assert found.reason.startswith("what save() returns cannot be written to a file: ")
    found = verdict(lambda: handed_over(save=lambda: None))
    assert found.outcome == "could not judge"
    assert "returns nothing" in found.reason


def test_a_state_that_load_does_not_take_is_a_failure():
    found = verdict(lambda: handed_over(load=lambda state: state["modle"]))
    assert found.failed
    assert "load(state) raises KeyError" in found.symptom.summary
