"""keeps_precision where the loss stays finite and falls: a line that overflows, gradients that are 0, lost updates."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis.half_precision import own_precision, vanished
from pytest_trainhealth.checks.keeps_precision import FLOAT32, judge, stop_when
from pytest_trainhealth.records.judgement import CouldNotJudge, Passed
from pytest_trainhealth.records.numbers import HalfRecord, NumbersRecord
from pytest_trainhealth.records.state import PrecisionRecord, Sketch, StateRecord
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom


def gradients(**norms: float) -> dict[str, Sketch]:
    return {name: Sketch(norm, (norm,)) for name, norm in norms.items()}


def run(losses, halves=(), **facts) -> Trace:
    numbers = NumbersRecord(halves={kind: HalfRecord(kind, "mul", "") for kind in halves})
    return replace(Trace.of(losses), state=StateRecord(precision=PrecisionRecord(**facts)), numbers=numbers)


def both(**norms: float) -> dict[str, dict[str, Sketch]]:
    return {"gradients": gradients(**norms), "later": gradients(**norms)}


FALLING = [2.0, 1.5, 1.2, 1.0, 0.9, 0.8, 0.7, 0.6]


# -- records ---------------------------------------------------------------------------------------


def test_a_line_that_casts_is_a_precision_of_its_own():
    assert own_precision(run(FALLING, ["float16"])) == "float16"
    assert own_precision(run(FALLING, ["float16"], own="bfloat16")) == "bfloat16"
    assert own_precision(run(FALLING)) == ""


def test_gradients_that_are_0_in_half_only():
    whole, low = run(FALLING, **both(a=1e-6, b=1e-8)), run(FALLING, own="float16", **both(a=1e-6, b=0.0))
    found = judge(low, {}, {FLOAT32.label: whole})
    assert isinstance(found, Symptom)
    assert found.headline == "the gradients of b are 0 in float16"


@pytest.mark.parametrize(
    ("whole", "low"),
    [
        (both(a=1e-6, b=1e-13), both(a=1e-6, b=0.0)),  # rounding: a bias before a BatchNorm
        (both(a=1e-6, b=0.0), both(a=1e-6, b=0.0)),  # behind a part that begins with zeros
        (both(a=1e-6, b=1e-8), {"gradients": gradients(a=1e-6, b=0.0), "later": gradients(a=1e-6, b=1e-8)}),
        (both(a=1e-6, b=1e-8), both(a=0.0, b=0.0)),  # no gradient at all: not a matter of size
    ],
)
def test_gradients_that_are_0_for_another_reason(whole, low):
    assert vanished(PrecisionRecord(**whole), PrecisionRecord(**low)) == []


def test_it_looks_for_longer_where_updates_are_lost():
    def after(steps, held, **facts):
        return stop_when(run([1.0] * steps, moves={"w": (held, 100 - held)}, half_weights=["w"], **facts), {})

    assert not after(39, 0)
    assert after(40, 10)
    assert not after(40, 40)
    assert after(40, 90)
    assert not stop_when(replace(run([1.0] * 40, was_half=True), cured=True), {})


def test_lost_updates_that_do_not_matter_pass_and_those_nobody_knows_about_are_not_judged():
    lost = {"half_weights": ["w"], "moves": {"w": (40, 60)}, "gradients": gradients(w=1.0)}
    assert isinstance(
        judge(run(FALLING, **lost), {}, {FLOAT32.label: run(FALLING, gradients=gradients(w=1.0))}), Passed
    )
    flat = [1.0, 1.1] * 4
    unknown = judge(run(flat, **lost), {}, {FLOAT32.label: run(flat, gradients=gradients(w=1.0))})
    assert isinstance(unknown, CouldNotJudge)
    assert "rounding takes 40 % of the updates" in unknown.reason


# -- real trainings --------------------------------------------------------------------------------


def verdict(subject):
    (found,) = diagnose(subject, ["keeps_precision"]).verdicts
    return found


class Unit(nn.Module):
    """Rows of length one, whose length is taken in 16 bits."""

    def forward(self, x: Tensor) -> Tensor:
        return x / (x.half() * x.half()).sum(-1, keepdim=True).sqrt().float().add(1e-3)


def lengths_in_half(size):
    def training() -> Training:
        model = nn.Sequential(Unit(), nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
        data = [(size * x, x.abs().argmax(1) % 3) for x in torch.randn(4, 24, 6)]
        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), criterion=nn.CrossEntropyLoss(), data=data)

    return training


def weights_in_half(size):
    """Samples are weighted by their energy, which the loss takes in 16 bits."""

    def training() -> Training:
        model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
        data = [(x, (x[:, :1] * x[:, 1:2])) for x in torch.randn(4, 24, 6)]

        def loss(model, batch):
            energy = torch.exp(size * batch[0][:, 2].abs().to(torch.float16)).float()
            return ((1 / (1 + energy / 4)) * F.mse_loss(model(batch[0]), batch[1], reduction="none")[:, 0]).mean()

        return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss, data)

    return training


def test_an_overflow_inside_of_a_layer_is_found_where_it_is():
    found = verdict(lengths_in_half(400.0))
    assert found.failed
    assert (found.findings[0].cause, found.findings[0].certainty) == ("low-precision-overflow", "confirmed")
    assert "x.half() * x.half()" in found.findings[0].places[0].code


def test_lines_in_half_that_fit_pass():
    assert verdict(lengths_in_half(1.0)).passed
    assert verdict(weights_in_half(1.0)).passed
    # it overflows, but only where 1 / (1 + Inf) is as good as what float32 has
    assert not verdict(weights_in_half(8.0)).failed


def small_loss(*, scaled=False, autocast_in_step=False, norm=False):
    """Two layers behind a last one with small weights, and small targets: a loss of 1e-7."""

    def training() -> Training:
        inner = [nn.Linear(4, 24), *([nn.BatchNorm1d(24)] if norm else []), nn.ReLU()]
        model = nn.Sequential(*inner, nn.Linear(24, 300))
        size = 1.0 if norm else 1e-3
        with torch.no_grad():
            model[-1].weight.mul_(size)
            model[-1].bias.mul_(size)
        basis = torch.randn(4, 300) * size
        data = [(x, x.abs() @ basis) for x in torch.randn(4, 24, 4)]
        optimizer = torch.optim.Adam(model.parameters(), 1e-3 * size, eps=1e-12)
        scale = 2.0**14 if scaled else 1.0

        def step(batch):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.float16, enabled=autocast_in_step or torch.is_autocast_enabled("cpu")):
                out = model(batch[0])
            loss = F.mse_loss(out.float(), batch[1])
            (loss * scale).backward()
            for p in model.parameters():
                p.grad /= scale
            optimizer.step()
            return loss.detach()

        return Training(model, optimizer, step=step, data=data, precision=None if autocast_in_step else torch.float16)

    return training


@pytest.mark.parametrize("autocast_in_step", [False, True])
def test_gradients_that_float16_has_no_number_for(autocast_in_step):
    found = verdict(small_loss(autocast_in_step=autocast_in_step))
    assert found.failed
    assert (found.findings[0].cause, found.findings[0].certainty) == ("low-precision-overflow", "confirmed")


def test_a_scaled_loss_and_a_bias_before_a_batch_norm_pass():
    assert verdict(small_loss(scaled=True)).passed
    assert verdict(small_loss(norm=True)).passed


def rounded(rate, kind):
    def training() -> Training:
        model = nn.Sequential(nn.Linear(12, 96), nn.SiLU(), nn.Linear(96, 1)).bfloat16()
        weight = torch.randn(12) / 3
        data = [(x, 3.0 + torch.tanh(x @ weight)) for x in torch.randn(8, 32, 12)]

        def loss(model, batch):
            return F.mse_loss(model(batch[0].bfloat16()).float().squeeze(-1), batch[1])

        return Training(model, kind(model.parameters(), rate), loss, data)

    return training


def test_a_training_that_rounding_slows_down_by_a_third_is_seen():
    found = verdict(rounded(3e-4, torch.optim.Adam))
    assert found.failed
    assert (found.findings[0].cause, found.findings[0].certainty) == ("updates-lost", "confirmed")


def test_weights_of_16_bits_that_learn_all_the_same_pass():
    assert verdict(rounded(5e-3, torch.optim.Adam)).passed
