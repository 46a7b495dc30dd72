"""Logs of healthy runs that look odd in some way: none of them may fail. Pure records, no training."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from pytest_trainhealth import history
from pytest_trainhealth.engine.finished_run import judge_history
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.records.verdict import Verdict

from .shapes import Columns, at, cosine, decay, noisy

Odd = Callable[[Random, int], Columns]
ODD: dict[str, Odd] = {}
LENGTHS = (9, 40, 320)
SEEDS = (1, 2)


def odd(shape: Odd) -> Odd:
    ODD[shape.__name__] = shape
    return shape


def judged(source: object) -> Verdict:
    return judge_history(history(source), Request("history_is_healthy", "run", 0))


@odd
def four_warm_restarts(r: Random, n: int) -> Columns:
    phase = [(4 * t) % 1.0 for t in at(n)]
    rates = [0.05 * 0.5 * (1 + math.cos(math.pi * p)) + 1e-5 for p in phase]
    loss = [decay(t, pace=5) + 3 * rate for t, rate in zip(at(n), rates, strict=True)]
    return {"loss": noisy(r, loss, 0.02), "lr": rates}


@odd
def triangular_rates(r: Random, n: int) -> Columns:
    rates = [1e-4 + 1e-3 * abs(2 * ((5 * t) % 1.0) - 1) for t in at(n)]
    return {"loss": noisy(r, [decay(t) + 60 * x for t, x in zip(at(n), rates, strict=True)], 0.02), "lr": rates}


@odd
def rewards_and_a_wild_critic(r: Random, n: int) -> Columns:
    return {
        "reward": [200 * t + r.gauss(0, 25) for t in at(n)],
        "policy_loss": [r.gauss(0, 0.02) for _ in range(n)],
        "value_loss": [abs(r.gauss(0, 5 + 400 * t)) for t in at(n)],
    }


@odd
def a_generator_that_falls_behind(r: Random, n: int) -> Columns:
    critic = noisy(r, [0.7 - 0.5 * t for t in at(n)], 0.1)
    return {"g_loss": [1 + 6 * t + r.gauss(0, 0.3) for t in at(n)], "d_loss": critic}


@odd
def grokking_with_accuracies(r: Random, n: int) -> Columns:
    return {
        "train_loss": [decay(t, 4.6, 0.001, 30) for t in at(n)],
        "train_acc": [1 - math.exp(-30 * t) for t in at(n)],
        "val_loss": [4.6 + 4 * min(t / 0.3, 1) if t < 0.6 else 8.6 * math.exp(-20 * (t - 0.6)) + 0.01 for t in at(n)],
        "val_acc": [0.01 if t < 0.6 else 1 - math.exp(-20 * (t - 0.6)) for t in at(n)],
    }


@odd
def double_descent_of_the_validation(r: Random, n: int) -> Columns:
    val = [decay(t, 2.3, 0.8, 12) + 0.9 * math.exp(-(((t - 0.45) / 0.12) ** 2)) - 0.3 * t for t in at(n)]
    return {"loss": noisy(r, [decay(t, floor=0.02) for t in at(n)], 0.02), "val_loss": noisy(r, val, 0.01)}


@odd
def spikes_of_fifty_times_that_recover(r: Random, n: int) -> Columns:
    return {"loss": [v * (50 if i % 23 == 20 else 1) for i, v in enumerate(noisy(r, [decay(t) for t in at(n)], 0.02))]}


@odd
def a_plateau_before_anything_is_learnt(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [2.3 if t < 0.3 else decay(t - 0.3, pace=9) for t in at(n)], 0.004), "lr": [1e-3] * n}


@odd
def resumed_from_an_earlier_step(r: Random, n: int) -> Columns:
    steps = [i if i < 0.6 * n else i - n // 5 for i in range(n)]
    loss = noisy(r, [decay(step / n) for step in steps], 0.02)
    times = [0.1 if i < 0.6 * n else 0.5 for i in range(n)]
    return {"step": [float(step) for step in steps], "loss": loss, "step_time": times}


@odd
def smoothed_over_a_hundred(r: Random, n: int) -> Columns:
    mean, values = 2.3, []
    for t in at(n):
        mean = 0.97 * mean + 0.03 * decay(t, pace=4) * (1 + r.gauss(0, 0.4))
        values.append(mean)
    return {"loss": values}


@odd
def fine_tuning_with_a_rate_of_a_millionth(r: Random, n: int) -> Columns:
    return {
        "step": [50.0 * i for i in range(n)], "lr": [1e-6] * n,
        "loss": noisy(r, [decay(t, 0.9, 0.7, 4) for t in at(n)], 0.01),
    }  # fmt: skip


@odd
def nothing_to_gain_at_a_small_rate(r: Random, n: int) -> Columns:
    """A thousand steps of 1e-6 are enough to move a weight; that the loss stays proves nothing."""
    return {"step": [10.0 * i for i in range(n)], "lr": [1e-6] * n, "loss": noisy(r, [0.7] * n, 0.02)}


@odd
def steps_get_longer_with_the_texts(r: Random, n: int) -> Columns:
    late = [t >= 0.5 for t in at(n)]
    return {
        "loss": noisy(r, [decay(t) for t in at(n)], 0.02), "seq_len": [2048.0 if x else 512.0 for x in late],
        "step_time": [0.4 if x else 0.1 for x in late],
    }  # fmt: skip


@odd
def steps_get_longer_little_by_little(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [decay(t) for t in at(n)], 0.02), "epoch_time": [60 + 240 * t for t in at(n)]}


@odd
def an_hour_on_a_busy_machine(r: Random, n: int) -> Columns:
    times = [250.0 if 0.4 < t < 0.6 else 60.0 for t in at(n)]
    return {"loss": noisy(r, [decay(t) for t in at(n)], 0.02), "epoch_time": times}


@odd
def a_staircase_at_half_and_three_quarters(r: Random, n: int) -> Columns:
    rates = [0.1 if t < 0.5 else 0.01 if t < 0.75 else 0.001 for t in at(n)]
    loss = [decay(t, floor=0.5) - (0.2 if t >= 0.5 else 0) - (0.05 if t >= 0.75 else 0) for t in at(n)]
    return {"loss": noisy(r, loss, 0.02), "lr": rates}


@odd
def a_staircase_after_it_has_converged(r: Random, n: int) -> Columns:
    rates = [0.1 if t < 0.25 else 1e-5 for t in at(n)]
    return {"loss": noisy(r, [decay(t, floor=0.5, pace=60) for t in at(n)], 0.01), "lr": rates}


@odd
def still_warming_up_when_the_log_was_copied(r: Random, n: int) -> Columns:
    return {"step": [float(i) for i in range(n)], "lr": [1e-6 * (i + 1) for i in range(n)],
            "loss": noisy(r, [10.4 - 0.4 * t for t in at(n)], 0.003)}  # fmt: skip


@odd
def a_penalty_that_is_switched_on(r: Random, n: int) -> Columns:
    """It begins near 0, and grows with a weight that is logged."""
    beta = [min(t / 0.5, 1.0) for t in at(n)]
    return {"loss": [1e-4 + 0.3 * b + abs(r.gauss(0, 0.002)) for b in beta], "kl_weight": beta}


@odd
def less_sure_but_more_often_right(r: Random, n: int) -> Columns:
    return {
        "loss": [decay(t, floor=0.01) for t in at(n)],
        "val_loss": noisy(r, [decay(t, 2.3, 0.9, 20) + 1.8 * max(t - 0.2, 0) for t in at(n)], 0.01),
        "val_accuracy": [0.5 + 0.25 * t - 0.4 * math.exp(-18 * t) for t in at(n)],
    }


@odd
def a_sum_over_samples_from_a_million(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [decay(t, 3e6, 2e5) for t in at(n)], 0.05), "grad_norm": noisy(r, [4e4] * n, 0.3)}


@odd
def noisier_with_smaller_batches_late(r: Random, n: int) -> Columns:
    return {"loss": [decay(t) * (1 + r.gauss(0, 0.02 if t < 0.6 else 0.05)) for t in at(n)]}


@odd
def the_same_wave_in_every_epoch(r: Random, n: int) -> Columns:
    return {"loss": [decay(t) + 0.15 * math.sin(2 * math.pi * i / 16) + r.gauss(0, 0.02) for i, t in enumerate(at(n))]}


@odd
def one_cycle_that_ends_in_nothing(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [decay(t, pace=4) for t in at(n)], 0.02), "lr": cosine(n, 0.1, 0.3)}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_run_that_is_healthy_never_fails(name: str) -> None:
    for length in LENGTHS:
        for seed in SEEDS:
            verdict = judged(ODD[name](Random(1000 * seed + length), length))
            assert not verdict.failed, str(verdict)


def test_validation_once_in_eight_entries() -> None:
    r = Random(3)
    entries = [
        {"step": i, "train_loss": decay(i / 160) * (1 + r.gauss(0, 0.1))}
        | ({"val_loss": decay(i / 160)} if i % 8 == 7 else {})
        for i in range(160)
    ]
    assert judged(entries).outcome == "passed"


def trainer_state(folder: Path, taken: int, planned: int) -> Path:
    r, count = Random(5), 60
    losses = [10.4 - 0.3 * i / count + r.gauss(0, 0.03) for i in range(count)]
    log = [
        {"step": taken * (i + 1) // count, "loss": loss, "learning_rate": 1e-8 * (i + 1)}
        for i, loss in enumerate(losses)
    ]
    path = folder / "trainer_state.json"
    path.write_text(json.dumps({"global_step": taken, "max_steps": planned, "log_history": log}))
    return path


def test_a_warm_up_without_an_end_is_a_fault_once_the_run_is_over(tmp_path: Path) -> None:
    finished = judged(trainer_state(tmp_path, 2400, 2400))
    assert [(each.cause, each.certainty) for each in finished.findings] == [("scheduler-misuse", "likely")]
    interrupted = judged(trainer_state(tmp_path, 2400, 90_000))
    assert not interrupted.failed
    assert any("its warm-up has no end" in note for note in interrupted.notes)


@pytest.mark.parametrize(
    ("loss", "outcome"),
    [
        ([1.0, 0.5, 0.4, 0.35, 0.33], "passed"),  # each below the one before
        ([1.0, 0.5, 0.6, 0.45, 0.52], "could not judge"),
        ([1.0, 1.4, 2.0, 3.1, 4.8], "could not judge"),
        ([1.0, 1.4, 2.0, 5.1, 9.8, 20.0, 60.0], "failed"),
        ([2.3, 900.0, 4e5], "failed"),
    ],
)
def test_a_log_of_a_few_entries(loss: list[float], outcome: str) -> None:
    assert judged({"loss": loss}).outcome == outcome
