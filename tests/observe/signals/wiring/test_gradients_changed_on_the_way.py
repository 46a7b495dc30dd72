"""What the user's code makes of gradients before the optimizer gets them: set to 0 by a hook, cut off on one side."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.observe.calls.cut_gradients import cut_on_one_side

Hook = Callable[[Tensor], Tensor]


def flow(hook: Hook, dead: bool = False) -> list[tuple[str, str]]:
    def make() -> Training:
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3))
        if dead:
            nn.init.constant_(model[0].bias, -100.0)
        first = model[0].weight
        first.register_hook(lambda gradient: gradient.clamp(-1, 1))
        first.register_hook(hook)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2, weight_decay=0.1)
        inputs = torch.randn(64, 6)
        data = list(zip(inputs.split(16), inputs[:, :3].argmax(1).split(16), strict=True))
        return Training(model, optimizer, lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]), data)

    verdict = examine(make, Request("gradients_flow", "hooked", 0, {}))
    return [(finding.cause, finding.certainty) for finding in verdict.findings]


def test_frozen_by_a_hook_and_decaying() -> None:
    assert flow(torch.zeros_like) == [("frozen-parameters-change", "confirmed")]


def test_a_hook_that_masks_some_values() -> None:
    assert flow(lambda gradient: gradient * (torch.arange(6) < 4)) == []


def test_what_gets_no_gradient_anyway_is_not_frozen_by_its_hook() -> None:
    assert "frozen-parameters-change" not in dict(flow(lambda gradient: gradient, dead=True))


class Residual(nn.Module):
    """Weights that are all pushed the same way soon run away in it."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.first, self.second = nn.Embedding(12, 16), nn.Linear(16, 32), nn.Linear(32, 32)
        self.out = nn.Linear(32, 12)

    def forward(self, ids: Tensor) -> Tensor:
        hidden = F.relu(self.first(self.table(ids)))
        return self.out(hidden + F.relu(self.second(hidden))).mean(1)


def stays_finite(clip: Callable[[Tensor], object]) -> list[tuple[str, str]]:
    def make() -> Training:
        model = Residual()
        optimizer = torch.optim.SGD(model.parameters(), 0.5, momentum=0.9)

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            for parameter in model.parameters():
                clip(parameter.grad)  # type: ignore[arg-type]
            optimizer.step()
            return loss.detach()

        ids = torch.randint(0, 12, (128, 2))
        return Training(model, optimizer, step=step, data=[(ids, (5 * ids[:, 0] + ids[:, 1] % 2) % 12)])

    verdict = examine(make, Request("trains_without_nan", "clipped", 0, {"steps": 200, "stress": False}))
    return [(finding.cause, finding.certainty) for finding in verdict.findings]


def test_clipped_from_above_only() -> None:
    assert stays_finite(lambda gradient: gradient.clamp_(max=1e-3)) == [("bad-gradient-clipping", "confirmed")]


def test_clipped_on_both_sides() -> None:
    assert stays_finite(lambda gradient: gradient.clamp_(-1e-3, 1e-3)) == []


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_cut_shows_in_the_values(sign: float) -> None:
    gradient = sign * torch.linspace(-1, 1, 101)
    assert cut_on_one_side([gradient]) is None
    limit = cut_on_one_side([sign * (sign * gradient).clamp(max=0.1)])
    assert limit == pytest.approx(sign * 0.1)
    assert cut_on_one_side([gradient.clamp(-0.1, 0.1)]) is None
    assert cut_on_one_side([gradient.abs()]) is None  # all of one sign


def test_few_equal_values_are_no_cut() -> None:
    gradient = torch.linspace(-1, 0.1, 1000)
    assert cut_on_one_side([gradient]) is None
    assert cut_on_one_side([]) is None
