"""Memory that grows is no fault by itself. Where a re-run without the kept graphs does not grow, it is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.checks.keeps_throughput import clearly_better, judge, result
from pytest_trainhealth.engine.conclude import conclude
from pytest_trainhealth.records.judgement import FailedRun, FailIfConfirmed, Passed
from pytest_trainhealth.records.symptoms import MEMORY, PERFORMANCE
from pytest_trainhealth.records.verdict import Symptom, Verdict

from .test_a_second_look_at_speed import FAST, SLOWER, examination, made_up

SLOW_STEPS = Symptom("slow", PERFORMANCE, 21.0, 5.0, "low", "slow")
Keep = Callable[[nn.Module, torch.Tensor], None]


def training(keep: Keep, every: int = 1) -> Training:
    """`keep` is called in each step, with the model and half a MB of inputs; each `every`-th step updates."""
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, taken = torch.randn(2048, 64), [0]

    def step(batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        taken[0] += 1
        if taken[0] % every == 0:
            optimizer.step()
            optimizer.zero_grad()
        keep(model, inputs)
        return loss

    batches = [(torch.randn(16, 64), torch.randint(4, (16,))) for _ in range(4)]
    return Training(model, optimizer, step=step, data=batches)


def asked(factory: Callable[[], Training]) -> Verdict:
    (verdict,) = diagnose(factory, checks=["keeps_throughput"]).verdicts
    return verdict


def test_graphs_that_are_kept_are_told_without_a_gate() -> None:
    def factory() -> Training:
        history = []
        return training(lambda model, inputs: history.append(model(inputs).mean()))

    verdict = asked(factory)
    assert verdict.failed
    assert verdict.symptom is not None
    assert verdict.symptom.category == MEMORY
    assert verdict.symptom.measured > 1
    assert (verdict.findings[0].cause, verdict.findings[0].certainty) == ("memory-growth", "confirmed")
    assert "history" in verdict.findings[0].statement


def test_a_buffer_that_fills_is_no_fault() -> None:
    def factory() -> Training:
        replay = []
        return training(lambda model, inputs: replay.append(inputs.clone()))

    verdict = asked(factory)
    assert verdict.passed
    assert (verdict.figures["memory_growth_mb"] or 0) > 0.5


@pytest.mark.parametrize("episode", [12, 60])
def test_an_episode_that_is_learned_from_at_its_end_is_no_fault(episode: int) -> None:
    """Log-probabilities wait for the return, each with its graph; a step is a move in the game."""

    def factory() -> Training:
        model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
        log_probs: list[torch.Tensor] = []

        def move(states: torch.Tensor) -> float:
            log_probs.append(model(states).log_softmax(1)[:, 0].mean())
            if len(log_probs) == episode:
                optimizer.zero_grad()
                (-torch.stack(log_probs).mean()).backward()
                optimizer.step()
                log_probs.clear()
            return 1.0

        return Training(model, optimizer, step=move, data=[torch.randn(512, 64) for _ in range(4)])

    assert asked(factory).passed


def test_growth_alone_is_doubtful() -> None:
    judgement = judge(made_up(*FAST, growth=2 * 10**6), {})
    assert isinstance(judgement, FailIfConfirmed)
    assert isinstance(judgement.otherwise, Passed)
    assert (
        judgement.symptom.summary
        == "memory grows by 2 MB with every step, at most 0.5 MB is allowed without max_memory_growth="
    )
    assert judgement.otherwise.figures["memory_growth_mb"] == pytest.approx(2.0)


@pytest.mark.parametrize("growth", [0, 50_000, 400_000])
def test_little_growth_is_none(growth: int) -> None:
    assert isinstance(judge(made_up(*FAST, growth=growth), {}), Passed)


def test_a_re_run_has_to_stop_growing() -> None:
    """Half of it would be below the limit, and no cure."""
    trace = made_up(*FAST, growth=400_000)
    trace.cured = True
    assert isinstance(judge(trace, {}), FailIfConfirmed)


def test_faster_is_no_cure_of_memory_that_grows() -> None:
    symptom = Symptom("memory grows", MEMORY, 2.0, 0.5, "high", "memory grows")
    failed_run, fast = FailedRun(made_up(0.001, 0.02, growth=2 * 10**6), symptom), made_up(0.001, 0.002, growth=10**6)
    assert not clearly_better(fast, failed_run)
    assert clearly_better(fast, replace(failed_run, symptom=SLOW_STEPS))
    assert result(fast, failed_run) == "2 -> 1 MB a step"
    assert result(fast, replace(failed_run, symptom=SLOW_STEPS)) == "762 -> 5,330 samples/s, 7.0 x faster"


def test_growth_that_was_allowed_is_not_doubted() -> None:
    assert isinstance(judge(made_up(*FAST, growth=2 * 10**6), {"max_memory_growth": 3.0}), Passed)


def test_what_is_kept_until_an_update_is_none() -> None:
    trace = made_up(*FAST, growth=2 * 10**6)
    trace.updates[::2] = [0] * len(trace.updates[::2])
    assert isinstance(judge(trace, {}), Passed)


def test_a_comparison_is_looked_at_beside_growth_that_is_no_fault() -> None:
    verdict = conclude(examination(made_up(*FAST, growth=2 * 10**6)), "it", [], comparison=SLOWER).verdict
    assert verdict.failed
    assert "1.30 x the time of main" in verdict.headline
