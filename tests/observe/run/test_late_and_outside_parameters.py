"""Parameters that appear in the first forward pass, that are plain tensors, or that lie outside of the model."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Verdict

Batch = tuple[Tensor, Tensor]


def flow(subject: Callable[[], Training] | Training) -> Verdict:
    return examine(subject, Request("gradients_flow", "outside", 0, {}))


def batches() -> list[Batch]:
    return [(torch.randn(16, 6), torch.randint(3, (16,))) for _ in range(4)]


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    return F.cross_entropy(model(batch[0]), batch[1])


class MakesItsHead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(6, 16), None

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.relu(self.body(x))
        if self.head is None:
            self.head = nn.Linear(16, 3)
        return self.head(hidden)


def made_late() -> Training:
    model = MakesItsHead()
    return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss_of, batches())


@pytest.mark.parametrize("subject", [made_late, lambda: made_late()], ids=["test", "lambda"])
def test_a_head_made_in_the_first_forward_pass(subject: Callable[[], Training]) -> None:
    finding = flow(subject).findings[0]
    assert (finding.cause, finding.certainty) == ("parameters-not-in-optimizer", "confirmed")
    assert finding.why == "they are made in the first forward pass, after the optimizer"
    assert finding.places[-1].code == "self.head = nn.Linear(16, 3)"


def test_without_a_factory_too() -> None:
    assert [f.cause for f in flow(made_late()).findings] == ["parameters-not-in-optimizer"]


class Shifted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(6, 3)
        self.shift = torch.zeros(3, requires_grad=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x) + self.shift


def test_a_plain_tensor_on_the_model() -> None:
    def make() -> Training:
        model = Shifted()
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss_of, batches())

    finding = flow(make).findings[0]
    assert (finding.cause, finding.certainty) == ("parameters-not-in-optimizer", "confirmed")
    assert finding.fix is not None
    assert finding.fix.code == ("self.shift = nn.Parameter(self.shift.detach())",)


def test_a_plain_tensor_that_the_optimizer_holds_is_trained() -> None:
    def make() -> Training:
        model = Shifted()
        return Training(model, torch.optim.Adam([*model.parameters(), model.shift], 1e-2), loss_of, batches())

    verdict = flow(make)
    assert verdict.passed
    assert verdict.figures["parameters"] == 3


def test_a_tensor_in_the_optimizer_that_the_loss_does_not_depend_on() -> None:
    def make() -> Training:
        model, shift = nn.Linear(6, 3), torch.zeros(3, requires_grad=True)
        optimizer = torch.optim.Adam([*model.parameters(), shift], 1e-2)
        return Training(model, optimizer, lambda m, b: F.cross_entropy(m(b[0]) + shift.detach(), b[1]), batches())

    finding = flow(make).findings[0]
    assert (finding.cause, finding.statement) == ("unused-parameters", "shift is made but never used")


def with_part(part: nn.Module, use: Callable[[nn.Module, Tensor], Tensor]) -> Callable[[], Training]:
    def make() -> Training:
        model, other = nn.Linear(6, 3), copy.deepcopy(part)
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        return Training(model, optimizer, lambda m, b: F.cross_entropy(use(other, m(b[0])), b[1]), batches())

    return make


def without_graph(part: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        part(x)
    return x


def test_a_part_that_only_the_loss_knows() -> None:
    verdict = flow(with_part(nn.Linear(3, 3), lambda part, x: part(x)))
    assert [f.cause for f in verdict.findings] == ["parameters-not-in-optimizer"]
    assert verdict.findings[0].statement == "the optimizer never updates other.weight and other.bias"


@pytest.mark.parametrize(
    "make",
    [
        with_part(nn.Linear(3, 3).eval(), lambda part, x: part(x)),
        with_part(nn.Linear(3, 3).requires_grad_(False), lambda part, x: part(x)),
        with_part(nn.Linear(3, 3), without_graph),
    ],
    ids=["in eval mode", "frozen", "a teacher"],
)
def test_what_the_loss_only_looks_at(make: Callable[[], Training]) -> None:
    verdict = flow(make)
    assert verdict.passed
    assert verdict.figures["parameters"] == 2
