"""Graphs that outlive the update after them are a fault where none of them is ever let go of."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.records.verdict import Verdict

Keep = Callable[[Tensor, Tensor, nn.Module], object]


def verdict_of(factory: Callable[[], Training]) -> Verdict:
    (verdict,) = diagnose(factory, checks="gradients_flow").verdicts
    return verdict


def training(keep: Keep, batches: int = 5, every: int = 1) -> Training:
    """`keep` gets the loss and the output of each step, and the model. Each `every`-th step updates."""
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    taken = [0]

    def step(batch: tuple[Tensor, Tensor]) -> float:
        out = model(batch[0])
        loss = F.cross_entropy(out, batch[1])
        loss.backward()
        taken[0] += 1
        if taken[0] % every == 0:
            optimizer.step()
            optimizer.zero_grad()
        keep(loss, out, model)
        return loss.item()

    return Training(model, optimizer, step=step, data=[(torch.randn(8, 6), torch.arange(8) % 3)] * batches)


class Average:
    def __init__(self, beta: float = 0.9) -> None:
        self.value: Any = 0.0
        self.beta = beta

    def __call__(self, loss: Tensor, out: Tensor, model: nn.Module) -> None:
        self.value = self.beta * self.value + (1 - self.beta) * loss


def an_average() -> Training:
    return training(Average())


def a_list_of_outputs() -> Training:
    seen: list[Tensor] = []
    return training(lambda loss, out, model: seen.append(out))


def a_loss_nobody_learns_from() -> Training:
    """It never sees a backward()."""
    history: dict[int, Tensor] = {}
    held_out = torch.randn(4, 6)
    return training(lambda loss, out, model: history.update({len(history): model(held_out).square().mean()}))


class _Logging(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 3)
        self.norms: Any = 0.0

    def forward(self, x: Tensor) -> Tensor:
        h = self.body(x).tanh()
        self.norms = self.norms + h.norm()
        out: Tensor = self.head(h)
        return out


def a_total_inside_the_model() -> Training:
    model = _Logging()
    return Training(
        model,
        torch.optim.SGD(model.parameters(), 0.1),
        criterion=nn.CrossEntropyLoss(),
        data=[(torch.randn(8, 6), torch.arange(8) % 3)] * 5,
    )


@pytest.mark.parametrize(
    ("broken", "holder"),
    [
        (an_average, "Average.value"),
        (a_list_of_outputs, "seen"),
        (a_loss_nobody_learns_from, "history"),
        (a_total_inside_the_model, "_Logging.norms"),
    ],
)
def test_what_keeps_every_graph_is_named(broken: Callable[[], Training], holder: str) -> None:
    verdict = verdict_of(broken)
    assert verdict.failed, str(verdict)
    finding = verdict.findings[0]
    assert (finding.cause, finding.certainty) == ("memory-growth", "confirmed"), str(verdict)
    assert holder in finding.statement


def values_of_them() -> Training:
    average = Average()
    return training(lambda loss, out, model: average(loss.detach(), out, model))


def the_last_ones() -> Training:
    recent: deque[Tensor] = deque(maxlen=20)
    return training(lambda loss, out, model: recent.append(loss))


def an_epoch_of_them() -> Training:
    losses: list[Tensor] = []

    def keep(loss: Tensor, out: Tensor, model: nn.Module) -> None:
        losses.append(loss)
        if len(losses) == 40:
            losses.clear()

    return training(keep, batches=40)


def the_first_one() -> Training:
    first: list[Tensor] = []
    return training(lambda loss, out, model: first.append(out) if not first else None)


class _Itself:
    def __init__(self, loss: Tensor) -> None:
        self.loss, self.self = loss, self


def circles() -> Training:
    """Each refers to itself, and goes only when the garbage collector comes by."""
    return training(lambda loss, out, model: _Itself(loss))


def waiting_for_an_update() -> Training:
    """None outlives the update that it waits for."""
    waiting: list[Tensor] = []

    def keep(loss: Tensor, out: Tensor, model: nn.Module) -> None:
        waiting.append(loss)
        if len(waiting) % 16 == 0:
            waiting.clear()

    return training(keep, every=16)


def an_episode() -> Training:
    """Log-probabilities wait for the return of the whole episode; a step is one move in it."""
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    moves: list[Tensor] = []

    def move(states: Tensor) -> float:
        moves.append(model(states).log_softmax(1)[:, 0].mean())
        if len(moves) == 50:
            optimizer.zero_grad()
            (-torch.stack(moves).mean()).backward()
            optimizer.step()
            moves.clear()
        return 1.0

    return Training(model, optimizer, step=move, data=[torch.randn(8, 6)] * 5)


HEALTHY = (
    values_of_them,
    the_last_ones,
    an_epoch_of_them,
    the_first_one,
    circles,
    waiting_for_an_update,
    an_episode,
)


@pytest.mark.parametrize("healthy", HEALTHY, ids=lambda each: each.__name__)
def test_what_goes_at_some_time_is_no_fault(healthy: Callable[[], Training]) -> None:
    verdict = verdict_of(healthy)
    assert verdict.passed, str(verdict)
    assert not any("memory" in note for note in verdict.notes)


def test_where_the_end_of_the_data_is_not_seen_it_is_a_note() -> None:
    seen: list[Tensor] = []
    verdict = verdict_of(lambda: training(lambda loss, out, model: seen.append(loss), batches=300))
    assert verdict.passed, str(verdict)
    assert any(note.startswith("the graphs of all ") and "keep loss.item()" in note for note in verdict.notes)


def test_most_trainings_are_not_looked_at_for_long() -> None:
    verdict = verdict_of(values_of_them)
    assert verdict.steps == 4
