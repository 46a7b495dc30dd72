"""Courses of runs, healthy and sick, as functions of a seed and a length: what logs look like, without any training.

Healthy ones may be odd, and must never fail. `random.Random` only, so that they are the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

Columns = dict[str, list[float]]
Shape = Callable[[Random, int], Columns]

HEALTHY: dict[str, Shape] = {}
SICK: dict[str, tuple[Shape, str]] = {}
#: Lengths that every healthy shape is tried in.
LENGTHS = (12, 60, 400)


def healthy(shape: Shape) -> Shape:
    HEALTHY[shape.__name__] = shape
    return shape


def sick(kind: str) -> Callable[[Shape], Shape]:
    """`kind`: of the fault that has to be found first (`HistoryFault.kind`)."""

    def register(shape: Shape) -> Shape:
        SICK[shape.__name__] = (shape, kind)
        return shape

    return register


def decay(t: float, start: float = 2.3, floor: float = 0.3, pace: float = 8.0) -> float:
    return floor + (start - floor) * math.exp(-pace * t)


def at(n: int) -> list[float]:
    return [i / max(n - 1, 1) for i in range(n)]


def noisy(r: Random, values: list[float], share: float) -> list[float]:
    return [v * (1 + r.gauss(0, share)) for v in values]


def cosine(n: int, peak: float = 1e-3, warmup: float = 0.05) -> list[float]:
    return [
        peak * (t / warmup if t < warmup else 0.5 * (1 + math.cos(math.pi * (t - warmup) / (1 - warmup))))
        for t in at(n)
    ]


# ---- healthy ------------------------------------------------------------------------------------------------------


@healthy
def converged_and_flat(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [decay(t, pace=20) for t in at(n)], 0.005)}


@healthy
def still_falling(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [decay(t, pace=1.5) for t in at(n)], 0.02)}


@healthy
def falls_in_a_straight_line(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [2.3 - 1.5 * t for t in at(n)], 0.02)}


@healthy
def small_batches(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [decay(t) for t in at(n)], 0.3)}


@healthy
def batches_of_one(r: Random, n: int) -> Columns:
    return {"loss": [decay(t, 2, 0.6) * r.expovariate(1.0) for t in at(n)]}


@healthy
def diffusion(r: Random, n: int) -> Columns:
    return {"train_loss": [decay(t, 1.0, 0.04, 40) * math.exp(r.gauss(0, 0.7)) for t in at(n)], "lr": [1e-4] * n}


@healthy
def cosine_schedule(r: Random, n: int) -> Columns:
    rates = cosine(n)
    return {
        "loss": noisy(r, [decay(t, pace=5) for t in at(n)], 0.03),
        "lr": rates,
        "grad_norm": noisy(r, [1.0] * n, 0.3),
    }


@healthy
def warm_up_with_a_bump(r: Random, n: int) -> Columns:
    bump = [0.8 * math.exp(-(((t - 0.05) / 0.03) ** 2)) for t in at(n)]
    return {"loss": noisy(r, [decay(t) + b for t, b in zip(at(n), bump, strict=True)], 0.02), "lr": cosine(n)}


@healthy
def steps_of_a_schedule(r: Random, n: int) -> Columns:
    levels = [1.2 * math.exp(-10 * t) + (0.9 if t < 0.3 else 0.45 if t < 0.6 else 0.35) for t in at(n)]
    rates = [0.1 if t < 0.3 else 0.01 if t < 0.6 else 0.001 for t in at(n)]
    return {"loss": noisy(r, levels, 0.05), "val_loss": noisy(r, [x + 0.1 for x in levels], 0.08), "lr": rates}


@healthy
def warm_restarts(r: Random, n: int) -> Columns:
    cycle = [(3 * t) % 1 for t in at(n)]
    rates = [1e-3 * 0.5 * (1 + math.cos(math.pi * c)) + 1e-6 for c in cycle]
    loss = [decay(t, pace=6) + 0.4 * math.exp(-12 * c) * (t > 0.1) for t, c in zip(at(n), cycle, strict=True)]
    return {"loss": noisy(r, loss, 0.03), "lr": rates}


@healthy
def ends_right_after_a_restart(r: Random, n: int) -> Columns:
    rates = [1e-3 * (1 - 0.98 * min(t / 0.9, 1)) if t < 0.9 else 1e-3 for t in at(n)]
    loss = [decay(t, pace=6) + (0.9 if t >= 0.9 else 0) for t in at(n)]
    return {"loss": noisy(r, loss, 0.03), "lr": rates}


@healthy
def spikes(r: Random, n: int) -> Columns:
    return {"loss": [decay(t) * (8 if r.random() < 0.03 else 1) * (1 + r.gauss(0, 0.03)) for t in at(n)]}


@healthy
def double_descent(r: Random, n: int) -> Columns:
    bump = [0.7 * math.exp(-(((t - 0.45) / 0.12) ** 2)) for t in at(n)]
    train = [decay(t, floor=0.05, pace=5) for t in at(n)]
    return {
        "loss": noisy(r, train, 0.03),
        "val_loss": noisy(r, [decay(t, floor=0.6) + b for t, b in zip(at(n), bump, strict=True)], 0.03),
    }


@healthy
def overfits_mildly_late(r: Random, n: int) -> Columns:
    val = [decay(t, floor=0.9, pace=9) + 0.35 * max(t - 0.5, 0) for t in at(n)]
    return {"loss": noisy(r, [decay(t, floor=0.05, pace=4) for t in at(n)], 0.02), "val_loss": noisy(r, val, 0.02)}


@healthy
def fine_tuning_whose_first_epoch_is_best(r: Random, n: int) -> Columns:
    val = [0.35 + 0.15 * t for t in at(n)]
    return {"loss": noisy(r, [0.6 * math.exp(-2 * t) for t in at(n)], 0.05), "eval_loss": noisy(r, val, 0.02)}


@healthy
def most_was_gained_before_the_first_entry(r: Random, n: int) -> Columns:
    val = [0.373 + 0.055 * t for t in at(n)]
    return {"loss": noisy(r, [0.338 - 0.08 * t for t in at(n)], 0.005), "val_loss": noisy(r, val, 0.005)}


@healthy
def more_certain_of_its_mistakes(r: Random, n: int) -> Columns:
    val = [decay(t, floor=0.9, pace=12) + 1.2 * max(t - 0.3, 0) for t in at(n)]
    accuracy = [0.76 - 0.66 * math.exp(-9 * t) + r.gauss(0, 0.004) for t in at(n)]
    return {
        "loss": [decay(t, floor=0.001, pace=6) for t in at(n)],
        "val_loss": noisy(r, val, 0.02),
        "val_accuracy": accuracy,
    }


@healthy
def wide_gap_that_does_not_grow(r: Random, n: int) -> Columns:
    return {
        "accuracy": [0.999 - 0.9 * math.exp(-8 * t) for t in at(n)],
        "val_accuracy": [0.76 - 0.66 * math.exp(-8 * t) + r.gauss(0, 0.005) for t in at(n)],
        "loss": [decay(t, 4.6, 0.01) for t in at(n)],
        "val_loss": noisy(r, [decay(t, 4.6, 1.05) for t in at(n)], 0.02),
    }


@healthy
def regularised_more_than_validated(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t, floor=1.4) for t in at(n)], 0.02),
        "val_loss": noisy(r, [decay(t, floor=0.5) for t in at(n)], 0.03),
    }


@healthy
def class_weights(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t, 35, 12) for t in at(n)], 0.1),
        "val_loss": noisy(r, [decay(t, 0.7, 0.4) for t in at(n)], 0.05),
    }


@healthy
def likelihood_below_zero(r: Random, n: int) -> Columns:
    return {
        "loss": [3 - 9 * (1 - math.exp(-6 * t)) + r.gauss(0, 0.1) for t in at(n)],
        "val_loss": [3 - 8.5 * (1 - math.exp(-6 * t)) + r.gauss(0, 0.1) for t in at(n)],
    }


@healthy
def loss_through_zero(r: Random, n: int) -> Columns:
    return {"nll": [0.5 - 1.0 * (1 - math.exp(-4 * t)) + r.gauss(0, 0.03) for t in at(n)]}


@healthy
def elbo_that_rises(r: Random, n: int) -> Columns:
    return {"elbo": [-550 + 450 * (1 - math.exp(-7 * t)) + r.gauss(0, 3) for t in at(n)]}


@healthy
def annealed_kl(r: Random, n: int) -> Columns:
    beta = [min(2 * t, 1.0) for t in at(n)]
    return {"loss": noisy(r, [80 + 400 * math.exp(-25 * t) + 60 * b for t, b in zip(at(n), beta, strict=True)], 0.01)}


@healthy
def annealed_kl_that_is_logged(r: Random, n: int) -> Columns:
    beta = [min(2 * t, 1.0) for t in at(n)]
    return {
        "loss": noisy(r, [80 + 100 * math.exp(-25 * t) + 80 * b for t, b in zip(at(n), beta, strict=True)], 0.01),
        "kl_weight": beta,
    }


@healthy
def harder_data_late(r: Random, n: int) -> Columns:
    loss = [decay(t, floor=0.2) + (1.3 if t > 0.6 else 0) for t in at(n)]
    return {"loss": noisy(r, loss, 0.05), "val_loss": noisy(r, [decay(t, floor=0.4, pace=4) for t in at(n)], 0.02)}


@healthy
def adversaries(r: Random, n: int) -> Columns:
    return {
        "g_loss": [0.7 + 3 * t + r.gauss(0, 0.3) for t in at(n)],
        "d_loss": [abs(1.3 - t + r.gauss(0, 0.3)) for t in at(n)],
    }


@healthy
def adversaries_by_their_letters(r: Random, n: int) -> Columns:
    return {
        "Loss_G": [1 + math.sin(9 * t) + r.gauss(0, 0.3) for t in at(n)],
        "Loss_D": [1 - math.sin(9 * t) + r.gauss(0, 0.3) for t in at(n)],
    }


@healthy
def rewards(r: Random, n: int) -> Columns:
    return {
        "rollout/ep_rew_mean": [20 + 180 * (1 - math.exp(-4 * t)) + r.gauss(0, 15) for t in at(n)],
        "train/value_loss": [5 + 40 * t + r.gauss(0, 3) for t in at(n)],
        "train/policy_loss": [r.gauss(0, 0.02) for t in at(n)],
    }


@healthy
def rewards_that_collapse_and_recover(r: Random, n: int) -> Columns:
    return {
        "episode_return": [100 * t - 60 * math.exp(-(((t - 0.7) / 0.05) ** 2)) + r.gauss(0, 10) for t in at(n)],
        "loss": [r.gauss(0, 1) for _ in at(n)],
    }


@healthy
def rewards_of_a_language_model(r: Random, n: int) -> Columns:
    return {
        "loss": [0.0] * n,
        "reward": [0.2 + 0.5 * t + r.gauss(0, 0.05) for t in at(n)],
        "kl": [0.02 * t for t in at(n)],
    }


@healthy
def nothing_left_to_learn(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [0.31] * n, 0.2), "val_loss": noisy(r, [0.33] * n, 0.02)}


@healthy
def nothing_left_to_learn_quietly(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [0.31] * n, 0.01), "accuracy": [0.91 + r.gauss(0, 0.003) for _ in range(n)]}


@healthy
def running_mean(r: Random, n: int) -> Columns:
    mean, values = 2.3, []
    for t in at(n):
        mean = 0.95 * mean + 0.05 * decay(t) * (1 + r.gauss(0, 0.5))
        values.append(mean)
    return {"loss": values}


@healthy
def running_mean_of_nothing_new(r: Random, n: int) -> Columns:
    mean, values = 0.5, []
    for _ in at(n):
        mean = 0.95 * mean + 0.05 * 0.5 * (1 + r.gauss(0, 0.5))
        values.append(mean)
    return {"loss": values}


@healthy
def grokking(r: Random, n: int) -> Columns:
    val = [4.6 + 3 * min(t / 0.3, 1) if t < 0.7 else 7.6 * math.exp(-25 * (t - 0.7)) + 0.01 for t in at(n)]
    return {"train_loss": [decay(t, 4.6, 0.001, 30) for t in at(n)], "val_loss": noisy(r, val, 0.02)}


@healthy
def exponential_decay(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t, 0.7, 0.3, 12) for t in at(n)], 0.03),
        "lr": [1e-3 * math.exp(-9 * t) for t in at(n)],
    }


@healthy
def rate_of_one_over_the_root(r: Random, n: int) -> Columns:
    rates = [1e-3 * min((i + 1) / 10, math.sqrt(10 / (i + 1))) for i in range(n)]
    return {"loss": noisy(r, [decay(t, 9, 3, 10) for t in at(n)], 0.03), "learning_rate": rates}


@healthy
def linear_decay_to_zero(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t, pace=3) for t in at(n)], 0.08),
        "learning_rate": [2e-5 * (1 - t) for t in at(n)],
        "grad_norm": [2 * math.exp(r.gauss(0, 0.5)) for _ in at(n)],
    }


@healthy
def one_cycle(r: Random, n: int) -> Columns:
    rates = [
        0.01 * (0.04 + t / 0.3) if t < 0.3 else 0.01 * 0.5 * (1 + math.cos(math.pi * (t - 0.3) / 0.7)) for t in at(n)
    ]
    return {
        "loss": noisy(r, [decay(t, pace=4) + 0.2 * math.sin(math.pi * min(t / 0.6, 1)) for t in at(n)], 0.05),
        "lr-SGD": rates,
        "lr-SGD-momentum": [0.95 - 0.1 * min(t / 0.3, 1) for t in at(n)],
    }


@healthy
def gradients_that_grow_a_little(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t, 3, 1.5) for t in at(n)], 0.02),
        "grad_norm": [0.5 * (1 + 6 * t) * math.exp(r.gauss(0, 0.3)) for t in at(n)],
    }


@healthy
def large_gradients_of_a_sum(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t, 3000, 900) for t in at(n)], 0.02),
        "grad_norm": [4e4 * math.exp(r.gauss(0, 0.3)) for _ in at(n)],
    }


@healthy
def skipped_steps_of_a_scaler(r: Random, n: int) -> Columns:
    norm = [math.inf if i in (0, 1, n // 2) else 1 + r.random() for i in range(n)]
    loss = noisy(r, [decay(t) for t in at(n)], 0.03)
    return {"loss": [math.nan if i == n // 2 else x for i, x in enumerate(loss)], "grad_norm": norm}


@healthy
def metric_that_is_not_defined(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [decay(t) for t in at(n)], 0.03), "val_precision": [math.nan] * n}


@healthy
def parts_of_a_detector(r: Random, n: int) -> Columns:
    parts = {"box": 1.2, "cls": 2.0, "dfl": 1.4}
    return {
        f"{p}/{name}_loss": noisy(r, [decay(t, 2 * x, x, 5) for t in at(n)], 0.02)
        for p in ("train", "val")
        for name, x in parts.items()
    }


@healthy
def only_an_accuracy(r: Random, n: int) -> Columns:
    return {
        "train_acc": [95 - 85 * math.exp(-6 * t) + r.gauss(0, 0.5) for t in at(n)],
        "valid_acc": [88 - 78 * math.exp(-6 * t) + r.gauss(0, 1) for t in at(n)],
    }


@healthy
def accuracy_of_a_small_set(r: Random, n: int) -> Columns:
    return {
        "acc": [0.98 - 0.5 * math.exp(-6 * t) for t in at(n)],
        "val_acc": [0.7 - 0.2 * math.exp(-6 * t) + r.gauss(0, 0.04) for t in at(n)],
    }


@healthy
def validation_of_a_few_samples(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t) for t in at(n)], 0.02),
        "val_loss": noisy(r, [decay(t, floor=0.5) for t in at(n)], 0.35),
    }


@healthy
def noisy_on_both_sides(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t, pace=30) for t in at(n)], 0.3),
        "val_loss": noisy(r, [decay(t, pace=30) for t in at(n)], 0.3),
    }


@healthy
def wild_until_the_rate_drops(r: Random, n: int) -> Columns:
    level = [0.9 if t < 0.6 else 0.3 for t in at(n)]
    jump = [math.exp(r.gauss(0, 0.4)) if t < 0.6 else 1 for t in at(n)]
    return {
        "loss": [x * (1.5 - t) * j for x, t, j in zip(level, at(n), jump, strict=True)],
        "val_loss": [x * 1.1 * j for x, j in zip(level, jump, strict=True)],
        "lr": [0.1 if t < 0.6 else 0.01 for t in at(n)],
    }


@healthy
def two_tasks_in_turn(r: Random, n: int) -> Columns:
    return {"loss": [decay(t) * (1 if i % 2 else 6) * (1 + r.gauss(0, 0.05)) for i, t in enumerate(at(n))]}


@healthy
def sorted_within_epochs(r: Random, n: int) -> Columns:
    return {"loss": [decay(t) * (0.6 + 0.8 * ((10 * t) % 1)) * (1 + r.gauss(0, 0.05)) for t in at(n)]}


@healthy
def long_plateau_then_a_drop(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [2.3 if t < 0.7 else 2.3 * math.exp(-12 * (t - 0.7)) + 0.05 for t in at(n)], 0.01)}


@healthy
def first_value_far_off(r: Random, n: int) -> Columns:
    return {"loss": [300.0, *noisy(r, [decay(t) for t in at(n)], 0.03)[1:]]}


@healthy
def perfect_fit(r: Random, n: int) -> Columns:
    return {"loss": [2.3 * math.exp(-30 * t) for t in at(n)], "accuracy": [1 - 0.9 * math.exp(-30 * t) for t in at(n)]}


@healthy
def rounded_to_two_digits(r: Random, n: int) -> Columns:
    return {
        "loss": [round(decay(t, pace=15), 2) for t in at(n)],
        "val_loss": [round(decay(t, floor=0.4, pace=15), 2) for t in at(n)],
    }


@healthy
def perplexity(r: Random, n: int) -> Columns:
    return {"train_ppl": [math.exp(decay(t, 9, 3)) * (1 + r.gauss(0, 0.05)) for t in at(n)]}


@healthy
def frozen_group(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [decay(t) for t in at(n)], 0.03), "lr-AdamW/pg1": [0.0] * n, "lr-AdamW/pg2": [1e-3] * n}


@healthy
def rates_that_are_rounded_away(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [decay(t) for t in at(n)], 0.03), "lr": [0.0] * n}


@healthy
def slower_neighbour_from_half_way(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [decay(t) for t in at(n)], 0.03), "step_time": [0.1 if t < 0.5 else 0.2 for t in at(n)]}


@healthy
def self_distillation(r: Random, n: int) -> Columns:
    return {"loss": [1.5 * math.exp(-40 * t) + 0.4 + 0.3 * t + r.gauss(0, 0.03) for t in at(n)]}


@healthy
def validation_every_now_and_then(r: Random, n: int) -> Columns:
    val = [decay(t, floor=0.5) for t in at(max(n // 5, 2))]
    return {"loss": noisy(r, [decay(t) for t in at(n)], 0.03), "val_loss": noisy(r, val, 0.03)}


@healthy
def two_measures_of_validation(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t) for t in at(n)], 0.03),
        "val_loss": noisy(r, [decay(t, floor=0.5) for t in at(n)], 0.03),
        "val_f1": [0.8 * (1 - math.exp(-6 * t)) + r.gauss(0, 0.01) for t in at(n)],
        "test_loss": [0.6],
    }


# ---- sick ---------------------------------------------------------------------------------------------------------


@sick("nonfinite")
def nan_half_way(r: Random, n: int) -> Columns:
    return {"loss": [decay(t) if t < 0.5 else math.nan for t in at(n)], "lr": [1e-3] * n}


@sick("nonfinite")
def infinite_at_the_end(r: Random, n: int) -> Columns:
    return {"loss": [decay(t) if t < 0.9 else math.inf for t in at(n)]}


@sick("nonfinite")
def gradients_explode_then_nan(r: Random, n: int) -> Columns:
    norm = [1.0 if t < 0.5 else 10 ** (20 * (t - 0.5)) for t in at(n)]
    return {"loss": [decay(t) if t < 0.7 else math.nan for t in at(n)], "grad_norm": norm, "lr": [1e-3] * n}


@sick("nonfinite")
def only_validation_is_nan(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t) for t in at(n)], 0.03),
        "val_loss": [decay(t) if t < 0.6 else math.nan for t in at(n)],
    }


@sick("nonfinite")
def nan_from_the_start(r: Random, n: int) -> Columns:
    return {"loss": [math.nan] * n}


@sick("nonfinite")
def nan_of_an_adversary(r: Random, n: int) -> Columns:
    return {
        "g_loss": [1.0 if t < 0.5 else math.nan for t in at(n)],
        "d_loss": [0.7 if t < 0.5 else math.nan for t in at(n)],
    }


@sick("no rate")
def rate_is_zero(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [2.303] * n, 0.01), "lr": [0.0] * n}


@sick("still")
def never_moves(r: Random, n: int) -> Columns:
    return {"loss": [2.3026 + r.gauss(0, 2e-4) for _ in range(n)], "lr": [1e-3] * n}


@sick("still")
def exactly_the_same(r: Random, n: int) -> Columns:
    return {"loss": [0.6931] * n, "val_loss": [0.6931] * n, "accuracy": [0.5] * n}


@sick("chance")
def noise_around_chance(r: Random, n: int) -> Columns:
    return {
        "loss": [2.31 + r.gauss(0, 0.02) for _ in range(n)],
        "accuracy": [0.1 + r.gauss(0, 0.005) for _ in range(n)],
    }


@sick("chance")
def chance_in_percent(r: Random, n: int) -> Columns:
    return {
        "train_loss": [4.61 + r.gauss(0, 0.01) for _ in range(n)],
        "train_acc": [1.0 + r.gauss(0, 0.05) for _ in range(n)],
    }


@sick("diverged")
def falls_then_explodes(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t) if t < 0.6 else decay(0.6) * math.exp(12 * (t - 0.6)) for t in at(n)], 0.03),
        "lr": [0.5] * n,
    }


@sick("diverged")
def jumps_and_stays(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [decay(t) if t < 0.7 else 2.3 for t in at(n)], 0.03), "lr": cosine(n)}


@sick("diverged")
def rises_from_the_start(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [2.3 * math.exp(4 * t) for t in at(n)], 0.05)}


@sick("diverged")
def likelihood_comes_back_up(r: Random, n: int) -> Columns:
    return {"loss": [3 - 9 * (1 - math.exp(-9 * t)) + 9 * max(t - 0.5, 0) ** 0.5 + r.gauss(0, 0.1) for t in at(n)]}


@sick("diverged")
def rate_without_end(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t) if t < 0.5 else decay(0.5) * math.exp(15 * (t - 0.5)) for t in at(n)], 0.03),
        "lr": [1e-5 * math.exp(14 * t) for t in at(n)],
    }


@sick("growing swings")
def oscillates_more_and_more(r: Random, n: int) -> Columns:
    return {
        "loss": [decay(t, floor=0.5) * math.exp((0.03 + (1.0 if t > 0.6 else 0)) * r.gauss(0, 1)) for t in at(n)],
        "lr": [0.1] * n,
    }


@sick("swings together")
def weights_jump(r: Random, n: int) -> Columns:
    jump = [math.exp(r.gauss(0, 0.5)) for _ in range(n)]
    return {
        "loss": [decay(t, floor=0.5) * j for t, j in zip(at(n), jump, strict=True)],
        "val_loss": [decay(t, floor=0.6) * j * math.exp(r.gauss(0, 0.1)) for t, j in zip(at(n), jump, strict=True)],
        "lr": [0.1] * n,
    }


@sick("gradients")
def gradients_grow_without_end(r: Random, n: int) -> Columns:
    loss = [decay(t, pace=12) + (0.2 * (t - 0.4) if t > 0.4 else 0) for t in at(n)]
    return {
        "loss": noisy(r, loss, 0.05),
        "grad_norm": [0.5 * 10 ** (5 * max(t - 0.3, 0)) * math.exp(r.gauss(0, 0.2)) for t in at(n)],
    }


@sick("rate gone")
def rate_gone_too_early(r: Random, n: int) -> Columns:
    loss = [2.3 - 4 * min(t, 0.3) for t in at(n)]
    return {"loss": noisy(r, loss, 0.01), "lr": [1e-3 * max(1 - t / 0.3, 0) for t in at(n)]}


@sick("rate gone")
def cosine_over_a_third(r: Random, n: int) -> Columns:
    loss = [3 - 5 * min(t, 0.33) for t in at(n)]
    rates = [0.1 * 0.5 * (1 + math.cos(math.pi * min(t / 0.33, 1))) for t in at(n)]
    return {"loss": noisy(r, loss, 0.01), "val_loss": noisy(r, [x + 0.1 for x in loss], 0.02), "lr": rates}


@sick("overfitting")
def overfits(r: Random, n: int) -> Columns:
    val = [decay(t, 0.7, 0.42, 15) + 1.2 * max(t - 0.25, 0) for t in at(n)]
    return {"loss": noisy(r, [decay(t, 0.7, 0.005, 6) for t in at(n)], 0.03), "val_loss": noisy(r, val, 0.03)}


@sick("overfitting")
def overfits_from_the_first_epoch(r: Random, n: int) -> Columns:
    return {
        "train_loss": noisy(r, [decay(t, 0.7, 0.005, 6) for t in at(n)], 0.03),
        "val_loss": noisy(r, [0.6 + 1.6 * t for t in at(n)], 0.03),
    }


@sick("overfitting")
def overfits_by_loss_and_accuracy(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t, 2.3, 0.01, 6) for t in at(n)], 0.03),
        "val_loss": noisy(r, [decay(t, 2.3, 1.1, 15) + 1.5 * max(t - 0.3, 0) for t in at(n)], 0.03),
        "val_accuracy": [0.62 - 0.5 * math.exp(-15 * t) - 0.14 * max(t - 0.3, 0) + r.gauss(0, 0.004) for t in at(n)],
    }


@sick("overfitting")
def overfits_by_accuracy_alone(r: Random, n: int) -> Columns:
    return {
        "accuracy": [1 - 0.5 * math.exp(-8 * t) for t in at(n)],
        "val_accuracy": [0.8 - 0.3 * math.exp(-20 * t) - 0.25 * max(t - 0.25, 0) + r.gauss(0, 0.005) for t in at(n)],
    }


@sick("overfitting")
def overfits_below_zero(r: Random, n: int) -> Columns:
    return {
        "loss": [2 - 8 * t + r.gauss(0, 0.1) for t in at(n)],
        "val_loss": [2 - 4 * min(t, 0.4) + 4 * max(t - 0.4, 0) + r.gauss(0, 0.1) for t in at(n)],
    }


@sick("slower")
def four_times_as_slow_from_half_way(r: Random, n: int) -> Columns:
    return {
        "loss": noisy(r, [decay(t) for t in at(n)], 0.03),
        "step_time": noisy(r, [0.1 if t < 0.5 else 0.4 for t in at(n)], 0.03),
    }


@sick("tiny rate")
def rate_too_low_to_move_anything(r: Random, n: int) -> Columns:
    return {"step": list(range(n)), "loss": noisy(r, [0.693] * n, 0.01), "lr": [1e-9] * n}


@sick("rate gone")
def staircase_in_the_first_tenth(r: Random, n: int) -> Columns:
    rates = [0.05 * 0.1 ** (i // 2) for i in range(n)]
    loss = [3.83, 3.14, *[3.05] * (n - 2)]
    return {"loss": noisy(r, loss, 0.006), "lr": rates}


@sick("growing swings")
def slow_swings_that_grow(r: Random, n: int) -> Columns:
    """The validation that would tell is not logged, but noise from one batch to the next is no wave of ten."""
    long = max(n, 400)
    waves = [max(t - 0.4, 0) * 2.0 * math.sin(2 * math.pi * i / 11) for i, t in enumerate(at(long))]
    return {"loss": [decay(t, 3.2, 1.2, 8) + w + r.gauss(0, 0.03) for t, w in zip(at(long), waves, strict=True)]}


@sick("diverged")
def explodes_at_once(r: Random, n: int) -> Columns:
    return {"loss": [2.3, *noisy(r, [1e9] * (n - 1), 0.1)]}


@sick("no gradients")
def nothing_reaches_the_parameters(r: Random, n: int) -> Columns:
    return {"loss": noisy(r, [2.303] * n, 0.01), "grad_norm": [1e-9] * n}


@sick("unbounded")
def falls_without_bound(r: Random, n: int) -> Columns:
    return {"loss": [-(10.0 ** (12 * t)) for t in at(n)]}


@sick("overfitting")
def worse_than_at_the_beginning_though_its_accuracy_stays(r: Random, n: int) -> Columns:
    return {
        "loss": [decay(t, 2.3, 0.05, 9) for t in at(n)],
        "val_loss": noisy(r, [decay(t, 2.3, 1.0, 15) + 1.9 * max(t - 0.2, 0) for t in at(n)], 0.01),
        "val_accuracy": [0.62 - 0.42 * math.exp(-18 * t) + r.gauss(0, 0.004) for t in at(n)],
    }


#: Healthy, and now and then too noisy to be judged.
HARD_TO_JUDGE = ("wild_until_the_rate_drops",)
#: Healthy, or not: nobody can tell from the log.
NOT_JUDGED = (
    "adversaries",
    "adversaries_by_their_letters",
    "nothing_left_to_learn",
    "nothing_left_to_learn_quietly",
    "running_mean_of_nothing_new",
)
