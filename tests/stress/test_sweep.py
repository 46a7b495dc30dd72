"""Circumstances under which a training does not stay finite: found, shrunk, told as code, and never by default."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Verdict
from pytest_trainhealth.settings import WrongSetting, read_keywords
from pytest_trainhealth.stress import precisions
from pytest_trainhealth.stress.circumstances import Circumstances, RequestedSweep

from ..budget.slow_machine import Clock


class Net(nn.Module):
    def __init__(self, before: Callable[[Tensor], Tensor], after: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.before, self.after = before, after

    def forward(self, x: Tensor) -> Tensor:
        return self.after(self.inner(self.before(x)))


def same(x: Tensor) -> Tensor:
    return x


def training(before: Callable[[Tensor], Tensor] = same, after: Callable[[Tensor], Tensor] = same, **more: Any) -> Any:
    def make() -> Training:
        model = Net(before, after)
        data = [(torch.randn(16, 4), torch.randn(16, 4)) for _ in range(4)]
        optimizer = torch.optim.SGD(model.parameters(), 1e-2)
        return Training(model, optimizer, criterion=nn.MSELoss(), **{"data": data, **more})

    return make


def judged(make: Any, **values: Any) -> Verdict:
    parsed = read_keywords("trains_without_nan", values, "the test")
    return examine(make, Request("trains_without_nan", "swept", 0, parsed))


def of_unit_length(x: Tensor) -> Tensor:
    return x / x.norm(dim=1, keepdim=True)


def over_the_batch(h: Tensor) -> Tensor:
    return (h - h.mean(0)) / h.std(0)


def by_its_spread(x: Tensor) -> Tensor:
    return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)


def between_rows(h: Tensor) -> Tensor:
    apart = (h[:, None] - h[None]).abs().sum(-1)
    return h / (apart.amax() / (apart.amax() + 0)).clamp(max=1)


FRAGILE = {
    "exp": (training(after=torch.exp), {"scales": (1e-3, 1e3)}, "scales=(10.0,)"),
    "zeros": (training(before=of_unit_length), {"samples": ("zero", "constant")}, "samples=('zero',)"),
    "constant": (training(before=by_its_spread), {"samples": ("constant",)}, "samples=('constant',)"),
    "one sample": (training(after=over_the_batch), {"batch_sizes": (1, 2)}, "batch_sizes=(1,)"),
    "repeated": (training(after=between_rows), {"samples": ("repeated",)}, "samples=('repeated',)"),
    # neither alone
    "half": (training(after=lambda h: (h * 40).square() * 1e-6), {"precisions": ("float16",), "scales": (10.0,)},
             "scales=(10.0,), precisions=('float16',)"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FRAGILE)
def test_the_least_circumstances_are_told_as_code(kind: str) -> None:
    make, asked, code = FRAGILE[kind]
    assert judged(make).passed  # nobody asked
    verdict = judged(make, **asked)
    assert verdict.failed, verdict
    assert f"  @pytest.mark.trains_without_nan({code})" in verdict.notes


@pytest.mark.parametrize("kind", FRAGILE)
def test_the_code_shows_the_same(kind: str) -> None:
    make, asked, code = FRAGILE[kind]
    again = eval(f"dict({code})")
    first, second = judged(make, **asked), judged(make, **again)
    assert first.symptom is not None
    assert second.symptom is not None
    assert second.symptom.summary == first.symptom.summary
    assert [f.headline for f in second.findings] == [f.headline for f in first.findings]


def test_no_files_of_hypothesis_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, asked, _ = FRAGILE["half"]
    assert judged(make, **asked).failed
    assert list(tmp_path.iterdir()) == []


def test_what_the_sweep_finds_is_explained_with_the_line() -> None:
    verdict = judged(training(before=of_unit_length), samples=("zero",))
    finding = verdict.findings[0]
    assert finding.cause == "unstable-operation"
    assert finding.places[0].code.strip() == "return x / x.norm(dim=1, keepdim=True)"


def test_a_robust_training_passes_whatever_is_asked() -> None:
    asked = {"scales": (1e-3, 1e3), "batch_sizes": (1, 2), "samples": ("zero", "constant", "repeated", "extreme")}
    assert judged(training(after=torch.tanh), **asked, seeds=(1, 2)).passed


def test_circumstances_that_the_code_does_not_bear_are_noted() -> None:
    def eight(h: Tensor) -> Tensor:
        return h.reshape(-1, 8, 4).flatten(0, 1)

    verdict = judged(training(after=eight), batch_sizes=(3,))
    assert verdict.passed
    assert any(note.startswith("not tried: batches of 3 (RuntimeError") for note in verdict.notes)


def test_a_sparse_matrix_has_no_samples_and_a_long_error_is_told_in_short() -> None:
    """The rows of a graph's adjacency matrix relate nodes to one another. What torch adds to an error is advice."""
    matrix = torch.eye(6).to_sparse()

    def make() -> Training:
        model = Convolution()
        batch = (torch.randn(6, 4), matrix)
        return Training(
            model,
            torch.optim.SGD(model.parameters(), 0.1),
            loss=lambda model, batch: model(*batch).square().mean(),
            data=[batch] * 4,
        )

    assert judged(make).notes == ()

    def refuses(h: Tensor) -> Tensor:
        if len(h) == 3:
            raise RuntimeError("three rows are not what this layer was made for, as everybody knows. Use four.")
        return h

    verdict = judged(training(after=refuses), batch_sizes=(3,))
    assert [note for note in verdict.notes if "not tried" in note] == [
        "not tried: batches of 3 (RuntimeError: three rows are not what this layer was made for, as everybody knows)"
    ]


class Convolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        return torch.sparse.mm(adjacency, self.inner(x))


def test_the_batch_at_the_end_of_an_epoch_is_tried() -> None:
    """Fifty steps do not come to it; the first epoch of a real run does."""
    rows = TensorDataset(torch.randn(60 * 4 + 1, 4), torch.randn(60 * 4 + 1, 4))
    verdict = judged(training(after=over_the_batch, data=DataLoader(rows, batch_size=4)))
    assert verdict.failed
    assert verdict.symptom is not None
    assert verdict.symptom.summary.endswith("with batches of 1")
    assert judged(training(after=over_the_batch, data=DataLoader(rows, batch_size=4, drop_last=True))).passed


def test_nothing_is_tried_where_nobody_wants_it() -> None:
    rows = TensorDataset(torch.randn(60 * 4 + 1, 4), torch.randn(60 * 4 + 1, 4))
    assert judged(training(after=over_the_batch, data=DataLoader(rows, batch_size=4)), sweep=False).passed


def test_a_precision_that_the_machine_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precisions, "_TRIAL", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    precisions.usable.cache_clear()
    try:
        verdict = judged(training(), precisions=("bfloat16",))
    finally:
        precisions.usable.cache_clear()
    assert verdict.outcome == "could not judge"
    assert verdict.reason == "bfloat16 cannot be used on this machine: it ends the process with signal 4"


def test_the_margin_is_measured_and_asserted() -> None:
    wide, narrow = judged(training(after=torch.tanh), margin=True), judged(training(after=torch.exp), margin=True)
    assert wide.passed
    assert narrow.passed
    assert narrow.figures["margin_inputs"] < wide.figures["margin_inputs"]
    verdict = judged(training(after=torch.exp), min_margin=1000.0)
    assert verdict.failed
    assert "a margin of 1000 was requested" in verdict.notes


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"samples": ("zeros",)}, "'zeros' is not possible. Did you mean zero?"),
        ({"precisions": ("half",)}, "'half' is not possible"),
        ({"scales": ("big",)}, "is not a list of numbers"),
        ({"batch_sizes": (0,)}, "too small, at least 1"),
        ({"min_margin": 0.5}, "too small, at least 1"),
    ],
)
def test_wrong_keywords_say_what_is_possible(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(WrongSetting, match=said.replace(".", r"\.").replace("?", r"\?")):
        judged(training(), **wrong)


def test_powers_of_ten_on_the_way() -> None:
    assert RequestedSweep(scales=(1e-3, 1e3)).choices()["scale"][:3] in ([1.0, 10.0, 0.1], [1.0, 0.1, 10.0])
    assert Circumstances(scale=0.01, batch_size=2).describe() == "batches of 2, inputs / 100"


@pytest.mark.parametrize("budget", [53, 73])
def test_half_of_a_sweep_keeps_no_promise(monkeypatch: pytest.MonkeyPatch, budget: float) -> None:
    """The run itself takes 50 s, what is plausible 6 more, and what the marker requests the rest."""
    Clock(monkeypatch).steps_take(1.0)
    verdict = judged(training(), budget=budget, scales=[1.0, 2.0, 4.0])
    assert verdict.outcome == "could not judge"
    assert verdict.reason.startswith(f"finite by itself; under other circumstances budget of {budget} s used up: ")
