"""Gradients that are turned round, and functions of one's own that do something else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis import wiring
from pytest_trainhealth.causes import needs_lr_decay
from pytest_trainhealth.programs.watched_program import watch
from pytest_trainhealth.records.symptoms import PLATEAU
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom
from pytest_trainhealth.records.wiring import OptimizerRecord, ParameterRecord


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -0.3 * gradient


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.clamp(-1, 1)


def by_function(x: Tensor) -> Tensor:
    return Reverse.apply(x)


def by_hook(x: Tensor) -> Tensor:
    x = x * 1.0
    x.register_hook(lambda gradient: -gradient)
    return x


def by_arithmetic(x: Tensor) -> Tensor:
    return 2 * x.detach() - x


def by_weighted_arithmetic(x: Tensor) -> Tensor:
    return -0.3 * x + (1.3 * x).detach()


def straight_through(x: Tensor) -> Tensor:
    return StraightThrough.apply(x)


def straight_through_by_arithmetic(x: Tensor) -> Tensor:
    return x + (x.round() - x).detach()


def difference_from_a_copy(x: Tensor) -> Tensor:
    return x - 0.5 * x.detach()


def hook_that_clips(x: Tensor) -> Tensor:
    x = x * 1.0
    x.register_hook(lambda gradient: gradient.clamp(-0.1, 0.1))
    return x


def hook_that_looks(x: Tensor) -> Tensor:
    x = x * 1.0
    x.register_hook(lambda gradient: None)
    return x


def losses(between: Callable[[Tensor], Tensor], steps: int = 3) -> Trace:
    body, head, domains = nn.Linear(6, 8), nn.Linear(8, 3), nn.Linear(8, 2)
    parameters = [p for module in (body, head, domains) for p in module.parameters()]
    optimizer = torch.optim.SGD(parameters, 0.1)
    with watch(signals=("loss_calls",)) as trace:
        for _ in range(steps):
            hidden = torch.tanh(body(torch.randn(8, 6)))
            loss = F.cross_entropy(head(hidden), torch.randint(3, (8,)))
            loss = loss + F.cross_entropy(domains(between(hidden)), torch.randint(2, (8,)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return trace


REVERSALS = [by_function, by_hook, by_arithmetic, by_weighted_arithmetic]
OTHERS = [
    straight_through,
    straight_through_by_arithmetic,
    difference_from_a_copy,
    hook_that_clips,
    hook_that_looks,
]


@pytest.mark.parametrize("between", REVERSALS, ids=lambda f: f.__name__)
def test_a_reversed_gradient_is_seen(between: Callable[[Tensor], Tensor]) -> None:
    trace = losses(between)
    assert wiring.adversarial(trace)
    assert "turned round" in wiring.why_it_need_not_fall(trace)


@pytest.mark.parametrize("between", OTHERS, ids=lambda f: f.__name__)
def test_other_functions_and_hooks_are_not(between: Callable[[Tensor], Tensor]) -> None:
    assert not losses(between).wiring.reversed_gradients


def test_hooks_are_torchs_own_again() -> None:
    before = Tensor.register_hook
    losses(by_hook, steps=5)
    assert Tensor.register_hook is before


def test_who_pulls_against_another_needs_no_decay() -> None:
    trace = Trace.of([4.0, *[0.3] * 79])
    trace.wiring.optimizers["o"] = OptimizerRecord("o", "SGD", {0: 0.5}, 80, rates=[0.5] * 80)
    trace.wiring.parameters["w"] = ParameterRecord("w", (8, 8), 64, updates={0: 0.4, 32: 0.3})
    stuck = Symptom("loss 4.0 -> 0.3", PLATEAU, 0.3, 0.0)
    assert needs_lr_decay.look(trace, stuck) is not None
    trace.wiring.reversed_gradients = 1
    assert needs_lr_decay.look(trace, stuck) is None


@pytest.mark.parametrize("between", REVERSALS, ids=lambda f: f.__name__)
def test_a_domain_classifier_that_is_fooled_is_healthy(between: Callable[[Tensor], Tensor]) -> None:
    def make() -> Training:
        model = nn.ModuleDict({"body": nn.Linear(12, 32), "head": nn.Linear(32, 4), "domain": nn.Linear(32, 2)})
        labels, domains = torch.randint(4, (256,)), torch.arange(256) % 2
        samples = torch.randn(4, 12)[labels] + 0.8 * torch.randn(256, 12)
        samples = samples + domains[:, None] * torch.linspace(-1, 1, 12)

        def loss(model, batch):
            hidden = torch.relu(model["body"](batch[0]))
            fooled = F.cross_entropy(model["domain"](between(hidden)), batch[2])
            return F.cross_entropy(model["head"](hidden), batch[1]) + fooled

        data = list(zip(samples.split(16), labels.split(16), domains.split(16), strict=True))
        return Training(model, torch.optim.SGD(model.parameters(), 0.3, momentum=0.9), loss, data)

    report = diagnose(make)
    assert report.healthy, str(report)
