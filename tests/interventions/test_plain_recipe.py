"""The plain recipe and what is exchanged for it: each acts on the run, and leaves the user's objects alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.programs.plan import RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.intervention import Cure
from pytest_trainhealth.records.trace import Trace


def blobs(batches: int = 4) -> list[tuple[torch.Tensor, torch.Tensor]]:
    centres, labels = torch.randn(4, 8) * 2, torch.randint(0, 4, (16 * batches,))
    return list(zip((centres[labels] + 0.5 * torch.randn(len(labels), 8)).split(16), labels.split(16), strict=True))


def training(optimizer: Any = None, model: nn.Module | None = None) -> Training:
    model = model or nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    made = torch.optim.SGD(model.parameters(), 1e-4) if optimizer is None else optimizer(model.parameters())
    return Training(model, made, criterion=nn.CrossEntropyLoss(), data=blobs())


def run(given: Training, *cures: Cure, steps: int = 60, one_batch: bool = True) -> Trace:
    start = Start(given, seed=0)
    try:
        return TrainingProgram(start).record(RunPlan(steps, one_batch=one_batch).curing(*cures))
    finally:
        start.close()


PLAIN = Cure("reference_recipe", "plain", {"rate": 1e-2})


def test_the_plain_recipe_learns_whatever_the_users_optimizer_does() -> None:
    given = training()
    before = [p.detach().clone() for p in given.model.parameters()]
    assert run(given).losses[-1] > 1.0
    assert run(given, PLAIN).losses[-1] < 0.2
    assert all(torch.equal(a, b) for a, b in zip(before, given.model.parameters(), strict=True))


def test_it_moves_only_what_the_user_handed_to_an_optimizer() -> None:
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    given = Training(model, torch.optim.SGD(model[2].parameters(), 1e-6), criterion=nn.CrossEntropyLoss(), data=blobs())
    trace = run(given, PLAIN)
    assert trace.finite
    assert trace.losses[-1] < trace.losses[0]


def test_a_closure_is_left_to_its_optimizer() -> None:
    trace = run(training(lambda parameters: torch.optim.LBFGS(parameters, lr=0.1)), PLAIN, steps=3)
    assert "plain_adam" in trace.applied.without_effect


class OwnSGD:
    def __init__(self, parameters: Any, rate: float) -> None:
        self.parameters, self.rate = list(parameters), rate

    @torch.no_grad()
    def step(self) -> None:
        for p in self.parameters:
            p -= self.rate * p.grad
            p.grad = None


def by_an_optimizer_of_ones_own(model: nn.Module, rate: float) -> Any:
    return OwnSGD(model.parameters(), rate).step


def by_data(model: nn.Module, rate: float) -> Any:
    def update() -> None:
        for p in model.parameters():
            p.data = p.data - rate * p.grad
        model.zero_grad(set_to_none=False)

    return update


def by_signs(model: nn.Module, rate: float) -> Any:
    """Momentum, a sign, one call for all parameters; gradients are cleared before the next pass."""
    averages = [torch.zeros_like(p) for p in model.parameters()]

    def update() -> None:
        with torch.no_grad():
            for average, p in zip(averages, model.parameters(), strict=True):
                average.lerp_(p.grad, 0.1)
            torch._foreach_add_(list(model.parameters()), [a.sign() for a in averages], alpha=-rate)
        for p in model.parameters():
            p.grad = None

    return update


def by_hand(how: Any, rate: float) -> Training:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    update = how(model, rate)

    def step(batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        update()
        return loss

    return Training(model, step=step, data=blobs())


@pytest.mark.parametrize("how", [by_an_optimizer_of_ones_own, by_data, by_signs], ids=lambda how: how.__name__)
def test_what_no_optimizer_of_torchs_moves_gets_the_plain_recipe_too(how: Any) -> None:
    assert run(by_hand(how, 1e-4)).losses[-1] > 1.0
    plain = run(by_hand(how, 1e-4), PLAIN)
    assert plain.losses[-1] < 0.2
    torch.manual_seed(0)
    same = training(model=nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)))
    assert plain.losses[:20] == pytest.approx(run(same, PLAIN).losses[:20], rel=1e-3)


def test_a_step_that_moves_nothing_is_no_update_for_the_plain_recipe_either() -> None:
    trace = run(by_hand(lambda model, rate: model.zero_grad, 1.0), PLAIN)
    assert trace.losses[-1] == pytest.approx(trace.losses[0], rel=1e-4)


def test_held_out_batches_are_named_and_not_learnt_from() -> None:
    held_out = Cure("reference_recipe", "held out", {"rate": 1e-2, "held_out": True})
    trace = run(training(), held_out, steps=40, one_batch=False)
    assert trace.applied.held_out == list(range(3, 40, 4))


def test_torchs_own_initialisation_leaves_frozen_layers_alone() -> None:
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    for parameter in model.parameters():
        nn.init.constant_(parameter, 0.3)
    model[0].requires_grad_(False)
    given = Training(model, torch.optim.SGD(model[2].parameters(), 0.1), criterion=nn.CrossEntropyLoss(), data=blobs())
    first = run(given, Cure("default_initialisation", "own"), steps=1).losses[0]
    assert first != run(given, steps=1).losses[0]
    assert torch.equal(model[0].weight, torch.full_like(model[0].weight, 0.3))


@pytest.mark.parametrize("kind", ["group_norms"])
def test_each_sample_is_normalised_by_itself(kind: str) -> None:
    model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 4))
    assert run(training(model=model), Cure(kind, "by itself"), steps=2).losses != run(training(model=model)).losses[:2]
    assert kind in run(training(), Cure(kind, "by itself"), steps=2).applied.without_effect


def dropped() -> Training:
    model = nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.55), nn.ReLU(), nn.Dropout(0.55), nn.Linear(32, 4))
    return training(lambda parameters: torch.optim.Adam(parameters, 1e-3, weight_decay=3.0), model)


@pytest.mark.parametrize(("make", "cause"), [(training, "lr-too-low"), (dropped, "too-much-regularization")])
def test_the_ingredient_that_differs_is_named(make: Any, cause: str) -> None:
    report = diagnose(make, ["overfits_one_batch"])
    assert (report.findings[0].cause, report.findings[0].certainty) == (cause, "confirmed")
