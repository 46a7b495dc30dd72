"""Whoever calls the constructor made it: the user's own code, or that of an installed package."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.observe.source.authorship import made_by
from pytest_trainhealth.observe.source.creation_sites import record_creation_sites
from pytest_trainhealth.records.verdict import Verdict

PACKAGE = """
import torch
from torch import nn

class Graph(nn.Module):
    'Has a spare weight, and positions that its forward pass does not read.'
    def __init__(self, width):
        super().__init__()
        self.used, self.pooler = nn.Linear(width, width), nn.Linear(width, width)
        self.spare = nn.Parameter(torch.randn(width, width))
        self.positions = nn.Embedding(10, width)

    def forward(self, x):
        return torch.relu(self.used(x))

def stack(width):
    return nn.ModuleList(nn.Linear(width, width) for _ in range(2))
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """An installed package: that it lies in site-packages is what tells."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "graphs_for_all.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module("graphs_for_all")
    del sys.modules["graphs_for_all"]


class Holder(nn.Module):
    """Reads its input with a Linear, goes through a part, and ends in a head."""

    def __init__(self, part: nn.Module, use: Callable[[nn.Module, Tensor], Tensor]) -> None:
        super().__init__()
        self.entry, self.head = nn.Linear(6, 8), nn.Linear(8, 3)
        self.part, self._use = part, use

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self._use(self.part, torch.tanh(self.entry(x))))


def flow(subject: Callable[[], Training] | Training) -> Verdict:
    return examine(subject, Request("gradients_flow", "made", 0, {}))


def training(part: Callable[[], nn.Module], use: Callable[[nn.Module, Tensor], Tensor]) -> Callable[[], Training]:
    def make() -> Training:
        model = Holder(part(), use)
        data = [(torch.randn(16, 6), torch.randint(3, (16,))) for _ in range(4)]
        return Training(model, torch.optim.Adam(model.parameters(), 1e-3), criterion=nn.CrossEntropyLoss(), data=data)

    return make


def through(part: nn.Module, x: Tensor) -> Tensor:
    return part(x)


def around(part: nn.Module, x: Tensor) -> Tensor:
    return x


def last_only(part: nn.Module, x: Tensor) -> Tensor:
    """The loop throws the outputs of all layers but the last away."""
    hidden = x[:, None]
    for layer in part.children():
        hidden = layer(x[:, None])
    return hidden[:, 0]


def encoder_layers() -> nn.Module:
    return nn.ModuleList(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True) for _ in range(3))


def test_outputs_of_the_users_layers_thrown_away() -> None:
    verdict = flow(training(encoder_layers, last_only))
    assert verdict.symptom is not None
    assert verdict.symptom.summary.startswith("24 of 40 trainable parameters got no gradient")
    assert [f.cause for f in verdict.findings] == ["unused-parameters"]
    assert verdict.findings[0].statement == "part.0 and part.1 run, but their output is thrown away"


def test_without_a_factory_classes_of_torch_belong_to_whoever_composed_them() -> None:
    verdict = flow(training(encoder_layers, last_only)())
    assert [f.cause for f in verdict.findings] == ["unused-parameters"]


def test_a_layer_of_torch_that_is_never_called() -> None:
    verdict = flow(training(lambda: nn.TransformerEncoderLayer(8, 2, 16), around))
    assert [f.cause for f in verdict.findings] == ["unused-parameters"]
    assert verdict.findings[0].statement == "part is made but never used"


def test_what_a_package_makes_and_does_not_read_is_a_note(package: ModuleType) -> None:
    verdict = flow(training(lambda: package.Graph(8), through))
    assert verdict.passed
    assert "got no gradient" in verdict.notes[0]


def test_what_a_package_makes_is_its_own_also_without_a_factory(package: ModuleType) -> None:
    assert flow(training(lambda: package.Graph(8), through)()).passed


def test_a_module_of_a_package_that_the_user_puts_in_and_never_calls(package: ModuleType) -> None:
    verdict = flow(training(lambda: package.Graph(8), around))
    assert [f.cause for f in verdict.findings] == ["unused-parameters"]


def test_a_package_that_composes_layers_of_torch_made_them(package: ModuleType) -> None:
    with record_creation_sites() as sites:
        by_package, by_user = package.stack(4), nn.Linear(4, 4)
        holder = nn.Sequential(by_package, by_user)
    assert sites.maker_of(by_package[0].weight) == "graphs_for_all"
    assert sites.maker_of(by_user.weight) == "user"
    assert sites.put_in_by(by_package) == "user"
    assert sites.put_in_by(by_package[0]) == "graphs_for_all"
    assert sites.holders_of(by_package[0]) == [by_package, holder]


def test_a_parameter_that_nobody_saw_being_made() -> None:
    before = nn.Linear(4, 4)
    with record_creation_sites() as sites:
        nn.Sequential(before)
    assert sites.maker_of(before.weight) is None
    assert made_by("0", {"": nn.Sequential(before), "0": before}, direct=True) == "user"


def test_assigning_over_a_layers_own_parameter_is_noticed() -> None:
    with record_creation_sites() as sites:
        embedding, head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
        own = head.weight
        head.weight = nn.Parameter(embedding.weight.detach().clone())
    assert sites.assigned_over_another(head.weight)
    assert not sites.assigned_over_another(own)
    assert not sites.assigned_over_another(embedding.weight)


def test_functional_use_of_a_package_is_no_call(package: ModuleType) -> None:
    """Some of its modules ran: the package decides which."""
    verdict = flow(training(lambda: package.Graph(8), lambda part, x: F.relu(part.get_submodule("used")(x))))
    assert verdict.passed


class OwnDescent(torch.optim.SGD):
    def __init__(self, params: Iterable[Tensor]) -> None:
        super().__init__(params, lr=0.1)


def test_an_optimizer_of_ones_own_was_made_where_its_constructor_was_called() -> None:
    with record_creation_sites() as sites:
        optimizer = OwnDescent(nn.Linear(2, 2).parameters())
    place = sites(optimizer)
    assert place is not None
    assert place.code == "optimizer = OwnDescent(nn.Linear(2, 2).parameters())"
