"""Where a learning rate got its name: found in the source, and only where the number is the one that was used."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.source.named_values import rate_written_at

RATE_OF_ALL = 30.0


@pytest.mark.parametrize(
    ("source", "rate"),
    [
        ("LR = 0.5\n", "LR"),
        ("lr: float = 5e-1\n", "lr"),
        ("def make(model, lr=0.5):\n    pass\n", "lr"),
        ("def make(model, *, lr=0.5):\n    pass\n", "lr"),
        ("class Config:\n    steps = 3\n    lr = 0.5\n", "config.lr"),
        ("config = Config(steps=3,\n                lr=0.5)\n", "config.lr"),
        ('config = {"steps": 3, "lr": 0.5}\n', 'config["lr"]'),
        ('parser.add_argument("--base-lr", type=float, default=0.5)\n', "args.base_lr"),
        ("self.lr = 0.5\n", "self.lr"),
    ],
)
@pytest.mark.parametrize("call", ["Adam(model.parameters(), lr={})", "optimizer = Adam(net.parameters(), {})"])
def test_the_line_that_names_it(tmp_path: Path, source: str, rate: str, call: str) -> None:
    file = tmp_path / "train.py"
    file.write_text(f"import torch\n{source}")
    found = rate_written_at(call.format(rate), 0.5, str(file))
    assert found is not None
    place, name = found
    assert "0.5" in place.code or "5e-1" in place.code
    assert rate.rstrip('"]').endswith(name)


@pytest.mark.parametrize(
    ("source", "statement"),
    [
        ("lr = 0.5\n", "Adam(model.parameters(), lr=0.5)"),
        ("lr = 0.1\n", "Adam(model.parameters(), lr=lr)"),
        ("lr = 0.5\nif quick:\n    lr = 0.5\n", "Adam(model.parameters(), lr=lr)"),
        ("lr = base * 2\n", "Adam(model.parameters(), lr=lr)"),
        ("lr = True\n", "Adam(model.parameters(), lr=lr)"),
        ("this is no Python\n", "Adam(model.parameters(), lr=lr)"),
        ("lr = 0.5\n", "Adam(model.parameters(), lr="),
        ("lr = 0.5\n", "Adam(model.parameters())"),
    ],
    ids=["a number", "another value", "two places", "computed", "no number", "no source", "no statement", "no rate"],
)
def test_what_is_not_known_is_not_said(tmp_path: Path, source: str, statement: str) -> None:
    file = tmp_path / "train.py"
    file.write_text(source)
    assert rate_written_at(statement, 0.5, str(file)) is None


@pytest.mark.parametrize(
    ("imports", "rate"), [("from settings_of_it import LR", "LR"), ("import settings_of_it as s", "s.LR")]
)
def test_a_module_that_it_was_imported_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, imports: str, rate: str
) -> None:
    other, file = tmp_path / "settings_of_it.py", tmp_path / "train.py"
    other.write_text("STEPS = 3\nLR = 0.5\n")
    file.write_text(f"{imports}\n")
    module = ModuleType("settings_of_it")
    module.__file__ = str(other)
    monkeypatch.setitem(sys.modules, "settings_of_it", module)
    found = rate_written_at(f"Adam(model.parameters(), lr={rate})", 0.5, str(file))
    assert found is not None
    assert (Path(found[0].file).name, found[0].line, found[1]) == ("settings_of_it.py", 2, "LR")


def test_a_rate_that_is_too_high_is_lowered_where_it_is_named() -> None:
    def make() -> Training:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE_OF_ALL)
        x = torch.randn(32, 4)
        return Training(model, optimizer, criterion=nn.MSELoss(), data=[(x, x[:, :1])])

    found = diagnose(make, checks=["overfits_one_batch"]).findings[0]
    assert found.cause == "lr-too-high"
    assert found.places[0].code == "RATE_OF_ALL = 30.0"
    assert found.fix is not None
    assert found.fix.code[0].startswith("RATE_OF_ALL = ")
    assert f"test_named_values.py:{found.places[0].line}" in found.fix.instruction
