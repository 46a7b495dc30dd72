"""What tests/reliability found left behind, each in its smallest form."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.parameter import is_lazy

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.state.process_settings import process_settings_kept
from pytest_trainhealth.state.snapshot import Snapshot


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(6, 4), torch.randint(0, 3, (6,))


def test_lazy_layers_are_lazy_again() -> None:
    """The first data make ordinary layers of them: another class, and parameters with values."""
    model = nn.Sequential(nn.LazyLinear(3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    training = Training(model, optimizer, criterion=F.cross_entropy, data=batch())
    diagnose(training, ["trains_without_nan"], steps=2)
    assert type(model[0]) is nn.LazyLinear
    assert all(is_lazy(p) for p in model.parameters())
    model(torch.randn(2, 7))  # still open to any width
    assert model[0].weight.shape == (3, 7)


def test_hooks_that_a_step_puts_on_a_tensor_are_taken_off() -> None:
    weight, seen = nn.Parameter(torch.ones(2)), []
    first = weight.register_hook(lambda gradient: seen.append("first"))
    other = nn.Parameter(torch.ones(2))
    snapshot = Snapshot([[weight, other]])
    for parameter in (weight, other):
        parameter.register_hook(lambda gradient: seen.append("late"))
        parameter.register_post_accumulate_grad_hook(lambda tensor: seen.append("after"))
    assert snapshot.restore() == []
    (weight.sum() + other.sum()).backward()
    assert seen == ["first"]
    first.remove()


def test_what_a_generator_has_come_to_know_is_restored() -> None:
    log: list[int] = []

    def stepping(log: list[int]) -> Iterator[None]:
        weight = torch.zeros(2)
        kept.append(weight)
        while True:
            yield
            weight += 1
            log.append(1)

    kept: list[torch.Tensor] = []
    steps = stepping(log)
    next(steps)
    weight = kept.pop()
    snapshot = Snapshot([steps.__next__])
    next(steps)
    assert snapshot.give_back() == []
    assert log == []
    assert torch.equal(weight, torch.zeros(2))
    assert snapshot.one_way  # it stands elsewhere itself, and is named


def test_the_keywords_of_a_partial_stay_the_same_dictionary() -> None:
    call = functools.partial(dict, [], count=1)
    keywords, arguments = call.keywords, call.args
    snapshot = Snapshot([call])
    keywords["count"] = 2
    assert snapshot.restore() == []
    assert call.keywords is keywords
    assert call.args is arguments
    assert keywords == {"count": 1}


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mask = nn.Parameter(torch.ones(4, dtype=torch.bool), requires_grad=False)
        self.head = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x * self.mask)  # type: ignore[no-any-return]


def test_nobody_tries_to_unfreeze_a_mask() -> None:
    model = Masked()
    training = Training(model, torch.optim.SGD(model.parameters(), 1e-6), criterion=F.cross_entropy, data=batch())
    report = diagnose(training, ["overfits_one_batch"], steps=24)
    assert not report.healthy
    assert all(finding.cause != "frozen-parameters" for finding in report.findings)


class Silent(RuntimeError):
    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize("at", [1, 80])
def test_an_error_without_words_is_not_replaced_by_another(at: int) -> None:
    """At the first step it comes out as it is; in the run of a cure it is recorded."""
    model, calls = nn.Linear(4, 3), pytest.Stash()
    key = pytest.StashKey[int]()
    calls[key] = 0  # not put back with everything else

    def loss(model: Any, batch: Any) -> torch.Tensor:
        calls[key] += 1
        if calls[key] >= at:
            raise Silent
        return F.cross_entropy(model(batch[0]), batch[1])

    training = Training(model, torch.optim.SGD(model.parameters(), 1e-6), loss=loss, data=batch())
    with pytest.raises(Silent):
        diagnose(training, ["overfits_one_batch"], steps=24)


@pytest.mark.parametrize("watched", [False, True])
def test_every_run_begins_with_the_same_defaults(watched: bool) -> None:
    """A second run that found the default dtype of the first would build another model."""
    seen: list[torch.dtype] = []

    def factory() -> Training | None:
        seen.append(torch.get_default_dtype())
        model, data = nn.Linear(4, 3), batch()
        optimizer = torch.optim.SGD(model.parameters(), 1e-6)

        def step(batch: Any) -> torch.Tensor:
            torch.set_default_dtype(torch.float64)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            return loss

        if not watched:
            return Training(model, optimizer, step=step, data=data)
        for _ in range(24):
            step(data)
        return None

    diagnose(factory, ["overfits_one_batch"], steps=24)
    assert len(seen) > 1
    assert set(seen) == {torch.float32}
    assert torch.get_default_dtype() is torch.float32


def test_the_environment_and_filters_of_warnings_are_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELIABILITY_THERE", "before")
    before = dict(os.environ), list(warnings.filters), os.getcwd(), np.geterr()

    def interrupted() -> None:
        with process_settings_kept():
            os.environ["RELIABILITY_THERE"], os.environ["RELIABILITY_NEW"] = "after", "new"
            warnings.simplefilter("ignore")
            os.chdir(os.path.dirname(os.getcwd()))
            np.seterr(all="raise")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (dict(os.environ), list(warnings.filters), os.getcwd(), np.geterr()) == before


def test_a_lazy_layer_whose_first_pass_raises_leaves_everything_as_it_was() -> None:
    """It needs a batch before the first run begins."""

    class Counting(torch.utils.data.Dataset[Any]):
        read = 0

        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            self.read += 1
            return torch.randn(4), torch.tensor(0)

    def raises(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        raise OSError("the first pass")

    model, data = nn.Sequential(nn.LazyLinear(3)), Counting()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    loader = torch.utils.data.DataLoader(data, 3)
    with pytest.raises(OSError, match="the first pass"):
        diagnose(Training(model, optimizer, criterion=raises, data=loader), ["overfits_one_batch"])
    assert data.read == 0
    assert type(model[0]) is nn.LazyLinear
