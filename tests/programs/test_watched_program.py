"""Whatever trains inside a block is recorded without touching its code."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import NotATraining, examine
from pytest_trainhealth.observe.signals.speed.memory import Memory
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.watched_program import WatchedProgram, watch
from pytest_trainhealth.records.verdict import Verdict


def script(*, zero: bool = True, step: bool = True, steps: int = 12, accumulate: int = 1, scale: float = 1.0) -> None:
    """Any training script."""
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for number in range(steps):
        x, y = torch.randn(8, 4) * scale, torch.randint(0, 3, (8,))
        if zero and number % accumulate == 0:
            optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if step and (number + 1) % accumulate == 0:
            optimizer.step()
    with torch.no_grad():  # evaluation is not training
        model(torch.randn(8, 4))


def examined(body: Callable[[], object], check: str) -> Verdict:
    return examine(body, Request(check, "script", 0, {}))


def test_the_trace_of_a_block() -> None:
    with watch() as trace:
        script()
    assert trace.steps == 12
    assert trace.updates == [1] * 12
    assert trace.backwards == [1] * 12
    assert trace.batch_size == 8
    assert [o.kind for o in trace.wiring.optimizers.values()] == ["SGD"]
    assert sorted(trace.wiring.parameters) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert all(p.has_gradient and p.moved for p in trace.wiring.parameters.values())


def test_an_accumulating_script() -> None:
    with watch() as trace:
        script(accumulate=3)
    assert trace.update_count == 4
    assert not trace.wiring.stale_gradients


def test_hooks_are_gone_when_the_block_raises() -> None:
    backward, zero_grad = torch.autograd.backward, torch.optim.Optimizer.zero_grad
    with pytest.raises(ZeroDivisionError), watch():
        raise ZeroDivisionError
    assert (torch.autograd.backward, torch.optim.Optimizer.zero_grad) == (backward, zero_grad)


@pytest.mark.parametrize("check", ["gradients_flow", "trains_without_nan"])
def test_a_healthy_script_passes(check: str) -> None:
    assert examined(script, check).passed


def test_the_cure_runs_the_script_once_more() -> None:
    verdict = examined(lambda: script(zero=False), "gradients_flow")
    assert verdict.findings[0].cause == "missing-zero-grad"
    assert verdict.findings[0].confirmed


def test_a_script_that_never_steps() -> None:
    verdict = examined(lambda: script(step=False), "gradients_flow")
    assert verdict.findings[0].cause == "missing-optimizer-step"
    assert verdict.findings[0].confirmed


def test_a_script_that_overflows() -> None:
    def overflow() -> None:
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), 1e30)
        for _ in range(5):
            optimizer.zero_grad()
            model(torch.ones(8, 4)).pow(2).mean().backward()
            optimizer.step()

    verdict = examined(overflow, "trains_without_nan")
    assert verdict.failed
    assert verdict.symptom is not None
    assert verdict.symptom.category == "explosion"


def test_nothing_trained() -> None:
    with pytest.raises(NotATraining, match="returned nothing and trained nothing"):
        examined(lambda: None, "gradients_flow")


def test_something_else_returned() -> None:
    with pytest.raises(NotATraining, match="returned int 3: return a Training, or nothing"):
        examined(lambda: 3, "gradients_flow")


def test_nan_in_the_data_of_a_script() -> None:
    def trained_on_a_hole() -> None:
        samples = torch.randn(64, 4)
        samples[37, 2] = torch.nan
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.05)
        for x, y in DataLoader(TensorDataset(samples, torch.randint(0, 3, (64,))), 8):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    verdict = examined(trained_on_a_hole, "trains_without_nan")
    assert (verdict.findings[0].cause, verdict.findings[0].certainty) == ("nan-in-data", "confirmed")


def test_what_a_step_computes_before_it_calls_the_model_goes_under_the_microscope() -> None:
    def trains() -> None:
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for number in range(12):
            x = torch.rand(16, 4)
            if number == 8:
                x[3] = 0
            with torch.no_grad():
                torch.log(torch.zeros(2)) - torch.log(torch.zeros(2))  # a figure for the log file: nan
            weight = torch.log(x.sum(1))
            loss = (weight * model(x).squeeze()).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    verdict = examine(trains, Request("trains_without_nan", "early", 0, {}))
    assert verdict.failed
    finding = verdict.findings[0]
    assert finding.statement.startswith("log before the model (test_watched_program.py:")
    assert finding.places[0].code.strip() == "weight = torch.log(x.sum(1))"
    assert "at step 8" in finding.evidence[0].text


def test_tokens_of_a_script_are_counted() -> None:
    """The step after the first begins while its model is about to be called, hooks and all."""

    def script_of_words() -> None:
        embedding, head = nn.Embedding(20, 8), nn.Linear(8, 2)
        model = nn.Sequential(embedding, nn.Flatten(0, 1), head)
        optimizer = torch.optim.SGD(model.parameters(), 0.05)
        for _ in range(30):
            loss = F.cross_entropy(model(torch.randint(20, (4, 6))), torch.randint(2, (24,)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    verdict = examined(script_of_words, "keeps_throughput")
    assert verdict.passed, verdict
    assert verdict.figures["tokens_per_second"] == pytest.approx(24 / verdict.figures["step_seconds"])


def test_samples_of_accumulated_batches() -> None:
    """Four batches of eight for each update, and a validation now and then that reads many more."""

    def accumulating() -> None:
        data = TensorDataset(torch.randn(64, 4), torch.randint(3, (64,)))
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.05)
        for _ in range(10):
            for number, (x, y) in enumerate(DataLoader(data, batch_size=8)):
                (F.cross_entropy(model(x), y) / 4).backward()
                if number % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()
            with torch.no_grad():
                for x, _ in DataLoader(data, batch_size=2):
                    model(x)

    known = examined(accumulating, "keeps_throughput").figures
    assert known["samples_per_second"] == pytest.approx(32 / known["step_seconds"])


def test_steps_that_all_begin_with_the_forward_pass_are_of_one_length(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[None] = []
    monkeypatch.setattr(time, "perf_counter", ticks.__len__)

    def body() -> None:
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        for _ in range(20):
            loss = model(torch.ones(2, 4)).mean()
            ticks.extend([None] * 100)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def lengths(plan: RunPlan) -> list[int]:
        return [round(seconds) for seconds in WatchedProgram(body, 0).record(plan).speed.computes]

    assert set(lengths(RunPlan(max_steps=20, look=Look(from_forward=True)))) == {100}
    assert set(lengths(RunPlan(max_steps=20))) == {0, 100, 200}  # around sampled steps


def test_what_listeners_take_between_two_steps_is_no_steps_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second of collecting garbage had been added to one step and taken off the next."""
    ticks: list[None] = []
    monkeypatch.setattr(time, "perf_counter", ticks.__len__)
    monkeypatch.setattr(Memory, "step_ends", lambda memory: ticks.extend([None] * 5000))

    def body() -> None:
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        for _ in range(20):
            optimizer.zero_grad()
            loss = model(torch.ones(2, 4)).mean()
            loss.backward()
            ticks.extend([None] * 100)
            optimizer.step()

    assert (
        WatchedProgram(body, 0).record(RunPlan(max_steps=20, look=Look(signals=("memory",)))).speed.computes
        == [100] * 19
    )


class WithItsOwnLoss(nn.Module):
    """Its loss goes around `__call__`: the first module that runs is a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.head = nn.Linear(4, 16), nn.Linear(16, 3)

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.head(torch.relu(self.encoder(x))), y)


@pytest.mark.parametrize("left_out", [False, True])
def test_a_layer_is_not_taken_for_the_model(left_out: bool) -> None:
    def body() -> None:
        model = WithItsOwnLoss()
        optimizer = torch.optim.SGD((model.encoder if left_out else model).parameters(), 0.05)
        for _ in range(12):
            optimizer.zero_grad()
            model.loss(torch.randn(8, 4), torch.randint(0, 3, (8,))).backward()
            optimizer.step()

    with watch() as trace:
        body()
    assert list(trace.wiring.parameters) == ["encoder.weight", "encoder.bias", "head.weight", "head.bias"]
    found = [f.cause for f in examined(body, "gradients_flow").findings]
    assert found == (["parameters-not-in-optimizer"] if left_out else [])
