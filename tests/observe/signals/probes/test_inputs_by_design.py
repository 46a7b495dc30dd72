"""Inputs without influence: by design, behind a gate that is closed for now, or thrown away."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.causes import cause
from pytest_trainhealth.observe.signals.probes.influence import _blind_to_data
from pytest_trainhealth.records.symptoms import NOT_LEARNING, SILENT
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom

from .trainings import Rows, Sequences, probe, series, table, train


class Masked(nn.Linear):
    def __init__(self, mask: Tensor) -> None:
        super().__init__(mask.shape[1], mask.shape[0])
        self.register_buffer("mask", mask.float())

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight * self.mask, self.bias)


def made(order: Tensor, each: int = 1, cut: bool = False) -> nn.Module:
    """Each output depends on the inputs before its own in the order; with `each` numbers for it."""
    hidden = torch.arange(24) % (len(order) - 1)
    enter, leave = hidden[:, None] >= order, order[:, None] > hidden
    if cut:
        leave = torch.ones_like(leave)  # every output depends on all that gets in
    return nn.Sequential(Masked(enter), nn.ReLU(), Masked(leave.repeat(each, 1)))


def density(model: nn.Module, batch: Tensor) -> Tensor:
    mean, *spread = model(batch).chunk(model[2].out_features // batch.shape[1], 1)
    spread = spread[0].clamp(-3, 3) if spread else torch.zeros_like(mean)
    return (spread + (batch - mean) ** 2 * (-spread).exp()).mean()


def likelihood(model: nn.Module) -> Training:
    return Training(model, torch.optim.SGD(model.parameters(), 0.01), loss=density, data=torch.randn(16, 6).cumsum(1))


@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("order", [torch.arange(6), torch.tensor([3, 0, 5, 1, 4, 2])])
def test_the_last_input_of_an_autoregressive_model_reaches_no_output(order, each):
    (verdict,) = diagnose(lambda: likelihood(made(order, each)), "uses_its_input").verdicts
    assert verdict.outcome == "passed"
    last = int(order.argmax())
    assert any(f"column {last} of input comes last" in note for note in verdict.notes)


def test_a_column_that_is_masked_where_there_is_no_order_is_ignored():
    (record,) = probe(likelihood(made(torch.arange(6), cut=True))).ignored_in_part
    assert record.ignored_parts == (5,)


class Scheduled(nn.Module):
    """A branch that a counter, a factor or a buffer keeps closed at first."""

    def __init__(self, gate: str) -> None:
        super().__init__()
        self.enter, self.side, self.leave = nn.Linear(10, 12), nn.Linear(5, 12), nn.Linear(12, 3)
        self.gate, self.calls, self.factor = gate, 0, 0.0
        self.register_buffer("weight", torch.zeros(()))

    def forward(self, x: Tensor, side: Tensor) -> Tensor:
        self.calls += 1
        share = {"counter": min(max(self.calls - 1000, 0) / 100, 1.0), "factor": self.factor, "buffer": self.weight}
        opened = share.get(self.gate, 0.0)
        return self.leave(self.enter(x) + opened * self.side(side))


@pytest.mark.parametrize("gate", ["counter", "factor", "buffer"])
def test_a_branch_that_opens_later_is_no_ignored_input(gate):
    assert probe(train(Scheduled(gate), table(), torch.randn(16, 5))).ignored == []


def test_a_branch_that_never_opens_is():
    (record,) = probe(train(Scheduled("never"), table(), torch.randn(16, 5))).ignored
    assert record.name == "side"


def test_a_threshold_beyond_the_data_is_an_influence():
    def forward(self: Rows, x: Tensor) -> Tensor:
        return self.leave(self.enter(torch.cat([x[:, :9], (x[:, 9:] > 50).float()], 1)))

    assert probe(train(Rows(forward), table())).ignored_in_part == []


def test_buckets_that_all_samples_share():
    def forward(self: Rows, x: Tensor) -> Tensor:
        return self.leave(self.enter((x.abs() / 50).floor()))

    found = probe(train(Rows(forward), table()))
    assert found.ignored == []
    assert [record.within_the_data for record in found.inputs] == [True]
    trace = Trace.of([0.7] * 8)
    trace.probe = found
    assert cause("ignores-input").look(trace, Symptom("stuck", NOT_LEARNING, 0.7, 0.07)) is not None
    assert cause("ignores-input").look(trace, Symptom("odd", SILENT, 0.7, 0.07)) is None


class Constant:
    """Stands for a model that is called again: it returns the same whatever it is given."""

    def __init__(self, value: float) -> None:
        self.value = value

    def run(self, changed: Any = None) -> dict[str, Tensor]:
        return {"": torch.full((4, 2), self.value)}

    def other_weights(self, seed: int) -> Any:
        return nullcontext()


@pytest.mark.parametrize(("value", "blind"), [(1.0, True), (float("inf"), False), (float("nan"), False)])
def test_outputs_that_are_not_finite_hide_an_influence(value: float, blind: bool):
    model: Any = Constant(value)
    leaf: Any = SimpleNamespace(name="x", tensor=torch.randn(4, 3))
    assert _blind_to_data(model, model.run(), leaf) == blind


def first_state(self: Sequences, x: Tensor) -> Tensor:
    return self.leave(self.rnn(x)[0][:, 0])


def overwritten(self: Sequences, x: Tensor) -> Tensor:
    for step in range(x.shape[1]):
        hidden = self.enter(x[:, step]).relu()
    return self.leave(hidden)


def chosen(self: Sequences, x: Tensor) -> Tensor:
    return self.leave(self.enter(x[:, -1]).relu())


@pytest.mark.parametrize(("forward", "kept"), [(first_state, 0), (overwritten, 9)])
def test_positions_that_are_read_and_thrown_away(forward: Any, kept: int):
    (record,) = probe(train(Sequences(forward, batch_first=True), series())).ignored_in_part
    assert record.unit == "position"
    assert set(range(10)) - set(record.ignored_parts) == {kept}


def test_one_position_may_be_chosen_and_others_may_be_silent():
    silent = torch.zeros(16, 10, 6)
    silent[:, 0] = torch.randn(16, 6)
    assert probe(train(Sequences(chosen, batch_first=True), series())).ignored_in_part == []
    assert probe(train(Sequences(first_state, batch_first=True), silent)).ignored_in_part == []


class Trees(nn.Module):
    """Goes over a tree, and puts the answer at each of its nodes into a list that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.leaves, self.join, self.out = nn.Embedding(2, 8), nn.Linear(16, 8), nn.Linear(8, 2)

    def forward(self, tree: Any, answers: list[Tensor], labels: list[int]) -> tuple[Tensor, int]:
        if isinstance(tree, int):
            state, value = self.leaves.weight[tree], tree
        else:
            (one, of_one), (two, of_two) = (self(part, answers, labels) for part in tree)
            state, value = torch.tanh(self.join(torch.cat((one, two)))), of_one ^ of_two
        answers.append(self.out(state))
        labels.append(value)
        return state, value


def test_lists_that_a_model_puts_its_results_into_are_no_inputs_and_batches_may_hold_no_tensor():
    model = Trees()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)

    def step(batch: list[Any]) -> Tensor:
        answers, labels = [], []
        for tree in batch:
            model(tree, answers, labels)
        loss = F.cross_entropy(torch.stack(answers), torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    trees = [[((0, 1), 1), (1, (0, 0))], [((1, 1), 0), (0, (1, 0))]]
    training = Training(model, optimizer, step=step, data=trees)
    (verdict,) = diagnose(training, "uses_its_input").verdicts
    assert verdict.outcome == "could not judge"
    assert "no input has two or more different samples" in verdict.reason
