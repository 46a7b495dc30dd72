"""What a wiring cause advises names the user's own lines: the group that is missing, the line where the graph ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.causes._optimizer_source import adding
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Finding, Place
from pytest_trainhealth.records.wiring import OptimizerRecord


def finding(make: Callable[[], Training]) -> Finding:
    return examine(make, Request("gradients_flow", "help", 0, {})).findings[0]


def batches() -> list[tuple[Tensor, Tensor]]:
    return [(torch.randn(16, 6), torch.randint(3, (16,))) for _ in range(4)]


def loss_of(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    return F.cross_entropy(model(batch[0]), batch[1])


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone, self.neck, self.head = nn.Linear(6, 16), nn.Linear(16, 16), nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.neck(torch.relu(self.backbone(x)))))


# -- a head left out of the groups ------------------------------------------------------------------------------


def test_a_head_left_out_of_the_groups_gets_its_group() -> None:
    def make() -> Training:
        net = Network()
        optimizer = torch.optim.AdamW(
            [
                {"params": net.backbone.parameters(), "lr": 1e-4},
                {"params": net.neck.parameters()},
            ],
            lr=1e-3,
        )
        return Training(net, optimizer, loss_of, batches())

    found = finding(make)
    assert found.why == "they are in no parameter group"
    assert found.fix is not None
    assert found.fix.instruction.startswith("add them as a parameter group of the optimizer at ")
    assert found.fix.code == ('{"params": net.head.parameters()},',)


def test_a_head_replaced_later_is_still_told_to_come_first() -> None:
    def make() -> Training:
        model = Network()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        model.head = nn.Linear(16, 3)
        return Training(model, optimizer, loss_of, batches())

    found = finding(make)
    assert found.fix is not None
    assert found.fix.instruction == "make the optimizer after the last change to the model:"
    assert found.fix.code[0] == "model.head = nn.Linear(16, 3)"


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        (
            "opt = torch.optim.SGD(net.body.parameters(), lr=0.1)",
            "opt = torch.optim.SGD([*net.body.parameters(), *net.blocks[1].parameters()], lr=0.1)",
        ),
        ("opt = SGD([{'params': net.body.parameters()}], lr=0.1)", '{"params": net.blocks[1].parameters()},'),
        ("opt = SGD(trainable, lr=0.1)", 'opt.add_param_group({"params": model.blocks[1].parameters()})'),
        (
            "self.opt = SGD(params=self.net.a.parameters())",
            "self.opt = SGD(params=[*self.net.a.parameters(), *self.net.blocks[1].parameters()])",
        ),
        ("optimizer = SGD([", 'optimizer.add_param_group({"params": model.blocks[1].parameters()})'),
        ("", 'optimizer.add_param_group({"params": model.blocks[1].parameters()})'),
    ],
)
def test_in_the_words_of_the_users_statement(statement: str, code: str) -> None:
    record = OptimizerRecord("SGD", "SGD", statement=statement, place=Place("train.py", 3, statement))
    assert adding(record, ["blocks.1"]).code == (code,)


def test_the_variable_of_a_comprehension_is_no_model() -> None:
    record = OptimizerRecord("SGD", "SGD", statement="opt = SGD([p for q in critics for p in q.parameters()], lr=0.1)")
    assert adding(record, ["other"]).code == ('opt.add_param_group({"params": model.other.parameters()})',)


def test_a_model_that_makes_its_optimizer_itself() -> None:
    record = OptimizerRecord("SGD", "SGD", statement="return SGD(self.encoder.parameters(), lr=0.1)")
    fix = adding(record, ["decoder"], parts={"encoder", "decoder"})
    assert fix.code == ("return SGD([*self.encoder.parameters(), *self.decoder.parameters()], lr=0.1)",)


def test_a_parameter_of_the_loss() -> None:
    class Centres(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.Parameter(torch.randn(3, 16))

        def forward(self, hidden: Tensor) -> Tensor:
            return hidden @ self.rows.t()

    def make() -> Training:
        model, centres = nn.Sequential(nn.Linear(6, 16)), Centres()
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        return Training(model, optimizer, lambda m, b: F.cross_entropy(centres(m(b[0])), b[1]), batches())

    found = finding(make)
    assert (found.cause, found.statement) == (
        "parameters-not-in-optimizer",
        "the optimizer never updates centres.rows",
    )
    assert found.fix is not None
    assert found.fix.code == ("optimizer = torch.optim.Adam([*model.parameters(), *centres.parameters()], 0.01)",)


# -- where the graph ends ---------------------------------------------------------------------------------------


class NoGrad(nn.Module):
    """Its encoder runs without a graph, and its output is logged by `.item()`."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.head, self.log = nn.Linear(6, 16), nn.Linear(16, 3), [0.0]

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            hidden = torch.relu(self.encoder(x))
        output = self.head(hidden)
        self.log[0] = output.mean().item()
        return output


class TwoDetached(nn.Module):
    """The probe is rightly detached; the gate is not."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.probe = nn.Linear(6, 16), nn.Linear(16, 3)
        self.gate, self.head = nn.Linear(6, 16), nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.relu(self.encoder(x))
        probed = self.probe(hidden.detach())
        gate = torch.sigmoid(self.gate(x)).detach()
        return self.head(hidden * gate) + probed


class Listed(nn.Module):
    """Logged by `.item()` first, and cut off by a trip through a list."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.head, self.log = nn.Linear(6, 16), nn.Linear(16, 3), [0.0]

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.relu(self.encoder(x))
        self.log[0] = hidden.max().item()
        hidden = torch.tensor(hidden.tolist())
        return self.head(hidden)


@pytest.mark.parametrize(
    ("kind", "why", "line"),
    [
        (NoGrad, "it runs under no_grad()", "with torch.no_grad():"),
        (TwoDetached, ".detach() ends the graph", "gate = torch.sigmoid(self.gate(x)).detach()"),
        (Listed, ".tolist() ends the graph", "hidden = torch.tensor(hidden.tolist())"),
    ],
)
def test_the_line_that_ends_the_graph_of_the_cut_parameters(kind: type[nn.Module], why: str, line: str) -> None:
    def make() -> Training:
        model = kind()
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss_of, batches())

    found = finding(make)
    assert (found.cause, found.why) == ("disconnected-graph", why)
    assert [place.code for place in found.places] == [line]


def test_an_operation_without_a_derivative_is_named() -> None:
    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.head = nn.Linear(6, 16), nn.Linear(16, 3)

        def forward(self, x: Tensor) -> Tensor:
            ranks = self.encoder(x).argsort(1).argsort(1)
            return self.head(ranks.float() / 16)

    def make() -> Training:
        model = Counted()
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss_of, batches())

    assert finding(make).why == "argsort() ends the graph"
