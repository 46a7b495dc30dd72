"""Parameters that an optimizer holds, that get gradients and do not move; and those that only seem so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.programs.watched_program import watch
from pytest_trainhealth.records.verdict import Verdict

Batch = tuple[Tensor, Tensor]
Loop = Callable[[nn.Module, torch.optim.Optimizer, Batch], Tensor]


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))


def batches(count: int = 4) -> list[Batch]:
    found = [torch.randn(16, 6) for _ in range(count)]
    return [(inputs, inputs[:, :3].argmax(1)) for inputs in found]


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    return F.cross_entropy(model(batch[0]), batch[1])


def flow(make: Callable[[], Training]) -> Verdict:
    return examine(make, Request("gradients_flow", "held", 0, {}))


def found(make: Callable[[], Training]) -> list[tuple[str, str]]:
    return [(f.cause, f.certainty) for f in flow(make).findings]


def with_optimizer(optimizer: Callable[[nn.Module], torch.optim.Optimizer]) -> Callable[[], Training]:
    def make() -> Training:
        model = network()
        return Training(model, optimizer(model), loss_of, batches())

    return make


def with_loop(loop: Loop) -> Callable[[], Training]:
    def make() -> Training:
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        return Training(model, optimizer, step=lambda batch: loop(model, optimizer, batch), data=batches())

    return make


# -- skipped, put back, at a rate of 0 ------------------------------------------------------------------------


class SkipsTheFirst(torch.optim.SGD):
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        held = self.param_groups[0]["params"]
        self.param_groups[0]["params"] = held[1:]
        super().step(closure)
        self.param_groups[0]["params"] = held


def restoring(model: nn.Module) -> torch.optim.Optimizer:
    optimizer, first = torch.optim.Adam(model.parameters(), 1e-2), next(model.parameters())
    kept = first.detach().clone()

    def restore(*_: Any) -> None:
        with torch.no_grad():
            first.copy_(kept)

    optimizer.register_step_post_hook(restore)
    return optimizer


def test_an_optimizer_that_skips_a_parameter() -> None:
    finding = flow(with_optimizer(lambda model: SkipsTheFirst(model.parameters(), 0.1))).findings[0]
    assert (finding.cause, finding.statement) == ("updates-lost", "0.weight is skipped at every step")
    assert any("did not write" in each.text for each in finding.evidence)


def test_a_hook_that_puts_it_back() -> None:
    finding = flow(with_optimizer(restoring)).findings[0]
    assert (finding.cause, finding.statement) == ("updates-lost", "0.weight is put back at every step")


def test_a_loop_that_puts_it_back() -> None:
    def loop(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch) -> Tensor:
        kept = next(model.parameters()).detach().clone()
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            next(model.parameters()).copy_(kept)
        return loss

    assert found(with_loop(loop)) == [("updates-lost", "likely")]


def groups(*rates: float) -> Callable[[nn.Module], torch.optim.Optimizer]:
    def optimizer(model: nn.Module) -> torch.optim.Optimizer:
        parts = [part for part in model.children() if next(part.parameters(), None) is not None]
        return torch.optim.SGD([{"params": p.parameters(), "lr": r} for p, r in zip(parts, rates, strict=True)], 0.1)

    return optimizer


def test_a_group_with_a_rate_of_zero_behind_what_is_trained() -> None:
    verdict = flow(with_optimizer(groups(0.1, 0.0)))
    assert [(f.cause, f.certainty) for f in verdict.findings] == [("lr-too-low", "confirmed")]
    assert verdict.findings[0].statement == "the learning rate of 2.weight and 2.bias is 0"


def test_a_group_with_a_rate_of_zero_before_what_is_trained_may_wait_for_its_turn() -> None:
    verdict = flow(with_optimizer(groups(0.0, 0.1)))
    assert verdict.outcome == "could not judge"
    assert "0.weight and 0.bias had a learning rate of 0 for 32 steps" in verdict.reason


def test_a_rate_of_zero_for_all() -> None:
    assert found(with_optimizer(groups(0.0, 0.0))) == [("lr-too-low", "confirmed")]


# -- mostly empty steps -----------------------------------------------------------------------------------------


def test_more_steps_than_backward_passes() -> None:
    def loop(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch) -> Tensor:
        loss = loss_of(model, batch)
        loss.backward()
        for _ in range(4):
            optimizer.step()
            optimizer.zero_grad()
        return loss

    finding = flow(with_loop(loop)).findings[0]
    assert finding.cause == "empty-optimizer-steps"
    assert [place.code for place in finding.places] == ["optimizer.step()"]


@pytest.mark.parametrize("to_none", [True, False])
def test_gradients_cleared_before_most_of_the_steps(to_none: bool) -> None:
    taken = [0]

    def loop(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch) -> Tensor:
        taken[0] += 1
        loss = loss_of(model, batch)
        loss.backward()
        if taken[0] % 4 != 1:
            optimizer.zero_grad(set_to_none=to_none)
        optimizer.step()
        optimizer.zero_grad(set_to_none=to_none)
        return loss

    assert found(with_loop(loop))[0][0] == "gradients-cleared-before-step"


def test_a_loss_that_is_often_zero_has_no_empty_steps() -> None:
    """A margin that is kept: backward() ran, and the gradients are 0 by nature."""
    with watch(("empty_updates",)) as trace:
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for number, batch in enumerate(batches(12)):
            optimizer.zero_grad()
            torch.relu(loss_of(model, batch) - (0.0 if number % 4 == 0 else 9.0)).backward()
            optimizer.step()
    seen = trace.wiring.empty_updates
    assert (seen.full, seen.empty) == (3, 0)


# -- never an alarm ---------------------------------------------------------------------------------------------


def test_a_warm_up_from_zero() -> None:
    def make() -> Training:
        model = network()
        optimizer = groups(0.1, 0.1)(model)
        rises = [lambda step: min(1.0, step / 20), lambda step: float(step >= 12)]
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rises)
        return Training(model, optimizer, loss_of, batches(), scheduler=schedule)

    assert flow(make).passed


def test_updates_that_are_too_small_for_the_type_of_number_are_a_note() -> None:
    class Normed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.entry, self.norm, self.head = nn.Linear(6, 16), nn.LayerNorm(16), nn.Linear(16, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.norm(self.entry(x)))

    def make() -> Training:
        model = Normed().to(torch.bfloat16)
        data = [(inputs.to(torch.bfloat16), labels) for inputs, labels in batches()]
        return Training(model, torch.optim.SGD(model.parameters(), 1e-3), loss_of, data)

    verdict = flow(make)
    assert verdict.passed
    assert verdict.notes == ("norm.weight did not move: updates at this rate are too small for bfloat16",)


def test_a_bias_in_front_of_a_batch_norm_has_nothing_but_rounding_to_follow() -> None:
    def make() -> Training:
        model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
        return Training(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), loss_of, batches())

    assert flow(make).passed


def test_an_optimizer_that_steps_at_every_third_batch() -> None:
    """Parameters that move at steps which are not sampled have moved all the same."""
    taken = [0]

    def loop(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch) -> Tensor:
        taken[0] += 1
        loss = loss_of(model, batch) / 3
        loss.backward()
        if taken[0] % 3 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    assert flow(with_loop(loop)).passed
