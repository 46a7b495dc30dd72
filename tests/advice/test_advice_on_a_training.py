"""Advice from start to end on a small training, with a panel of a few changes: what is claimed, kept and left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.advice import advise, trial_runs
from pytest_trainhealth.advice.panel import panel
from pytest_trainhealth.records.verdict import Report, Verdict

FEW = ("learning rate x 10", "learning rate / 10", "decay", "clipping", "channels-last")


@pytest.fixture(autouse=True)
def few_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advise, "panel", lambda *given: tuple(each for each in panel(*given) if each.name in FEW))


def too_slow(rate: float = 0.01) -> Training:
    inputs = torch.randn(256, 8)
    labels = (inputs[:, 0] > 0).long()
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    batches = list(zip(inputs.split(16), labels.split(16), strict=True))
    return Training(model, torch.optim.SGD(model.parameters(), lr=rate), criterion=F.cross_entropy, data=batches)


def advised(subject: Callable[[], Any] | Training, **given: Any) -> Report:
    return diagnose(subject, checks=["gradients_flow"], advise=True, advise_steps=40, **given)


def by_change(report: Report) -> dict[str, str]:
    return {each.change: each.status for each in report.advice}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("advice") / "new" / "advice.jsonl"


@pytest.fixture(scope="module")
def report(kept: Path) -> Report:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(advise, "panel", lambda *given: tuple(each for each in panel(*given) if each.name in FEW))
        return advised(too_slow, advise_cache=kept)


def test_what_helps_comes_first_with_its_interval_and_its_code(report: Report) -> None:
    first = report.advice[0]
    assert (first.change, first.status) == ("learning rate x 10", "gain")
    assert "times fewer steps (" in first.statement
    assert "over 5 fresh seeds" in first.statement
    assert first.code == ("rate = 0.1  # instead of 0.01",)  # by the name that the rate has
    figures = first.figures
    assert 1.25 < figures["low"] <= figures["gain"] <= figures["high"]
    assert figures["speed"] == 1


def test_the_training_stays_healthy_and_is_told_the_rest(report: Report) -> None:
    assert report.healthy
    assert by_change(report) == {
        "learning rate x 10": "gain",
        "learning rate / 10": "no gain",
        "decay": "no gain",
        "clipping": "no gain",
        "channels-last": "not tried",
    }
    text = str(report)
    assert "\nadvice\n  1. learning rate x 10: the same loss in " in text
    assert "no gain beyond noise, 3 changes tried: " in text
    assert "not tried: channels-last (no convolutions over images)" in text


def test_it_travels_as_json(report: Report) -> None:
    there = report.verdicts[0]
    assert Verdict.from_json(there.to_json()) == there
    older = {name: value for name, value in there.to_json().items() if name != "advice"}
    assert Verdict.from_json(older).advice == ()


def test_what_was_measured_is_not_measured_again(report: Report, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = kept.read_text()
    kept.write_text(lines + '{"training": "cut off')  # as if it had been killed
    made, words, record = [], list[str](), trial_runs.record
    monkeypatch.setattr(trial_runs, "record", lambda *given, **named: made.append(given) or record(*given, **named))
    again = advised(too_slow, advise_cache=kept, progress=words.append)
    assert [str(each) for each in again.advice] == [str(each) for each in report.advice]
    assert made == []
    assert "of an earlier run used again" in words[-1]


def test_another_training_is_measured_anew(kept: Path, report: Report) -> None:
    before = kept.read_text()
    advised(lambda: too_slow(0.011), advise_cache=kept)
    assert kept.read_text().startswith(before.splitlines()[0])
    assert len(kept.read_text()) > len(before)


def test_a_file_that_cannot_be_written_is_no_reason_to_stop(tmp_path: Path) -> None:
    words: list[str] = []
    found = advised(too_slow, advise_cache=tmp_path, progress=words.append)
    assert found.advice[0].status == "gain"
    assert words[-1].endswith("nothing is kept")


def test_a_budget_that_is_used_up_says_what_was_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    record, ran = trial_runs.record, []

    def slow(program: Any, plan: Any, *given: Any, **named: Any) -> Any:
        ran.append(given)
        plan.budget.seconds -= 40
        return record(program, plan, *given, **named)

    monkeypatch.setattr(trial_runs, "record", slow)
    found = advised(too_slow, advise_budget=100)
    assert "gain" not in by_change(found).values()
    assert {each.change for each in found.advice if "used up" in each.statement} == set(FEW) - {"channels-last"}
    assert len(ran) <= 3


def test_a_training_that_cannot_be_rebuilt_has_one_start_only() -> None:
    torch.manual_seed(0)
    first = advised(too_slow()).advice[0]
    assert (first.change, first.status) == ("learning rate x 10", "gain")
    assert "from one start" in first.statement


def test_a_failed_check_comes_first() -> None:
    def head_left_out() -> Training:
        training = too_slow()
        training.optimizers["SGD"].param_groups[0]["params"].pop()
        return training

    found = advised(head_left_out)
    assert found.verdicts[0].failed
    assert [each.status for each in found.advice] == ["not tried"]
    assert found.advice[0].statement.startswith("gradients_flow failed")


def test_a_watched_test_is_looked_at_and_not_changed() -> None:
    def script() -> None:
        model = nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(4, 8)), torch.randint(2, (4,))).backward()
            optimizer.step()

    found = advised(script)
    assert found.advice[0].statement.startswith("a watched test runs as a whole")
    assert [each.change for each in found.advice if each.status == "not measured"] == ["normalisation"]


def test_nothing_of_the_users_is_changed() -> None:
    torch.manual_seed(0)
    training = too_slow()
    before = {name: value.clone() for name, value in training.model.state_dict().items()}
    numbers = torch.get_rng_state()
    advised(training)
    assert all(torch.equal(value, before[name]) for name, value in training.model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), numbers)
    assert training.optimizers["SGD"].param_groups[0]["lr"] == 0.01


def test_a_wrong_setting_is_said_at_once() -> None:
    with pytest.raises(ValueError, match=r"diagnose\(\): advise_steps=: 3 is too small, at least 20"):
        diagnose(too_slow, checks=["gradients_flow"], advise=True, advise_steps=3)
