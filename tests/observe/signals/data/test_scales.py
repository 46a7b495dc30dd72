"""What is measured about inputs, targets, initial values, dropout and precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training
from pytest_trainhealth.observe.signals import close_signals
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.data import ScaleRecord
from pytest_trainhealth.records.trace import Trace


def looked_at(model: nn.Module, data: Any, loss: Callable[[Any, Any], Any] | None = None, **facts: Any) -> Trace:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, weight_decay=facts.pop("weight_decay", 0.0))
    criterion = None if loss is not None else nn.MSELoss()
    training = Training(model, optimizer, loss=loss, criterion=criterion, data=data, **facts)
    return TrainingProgram(Start(training, seed=0)).record(RunPlan(max_steps=3, look=Look(signals=close_signals())))


def scales(trace: Trace) -> dict[tuple[str, bool], ScaleRecord]:
    return {(s.name, s.target): s for s in trace.data.scales}


def test_inputs_and_targets_by_the_names_of_the_batch() -> None:
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    inputs = torch.tensor([[0.0, 100.0, 7.0], [2.0, 300.0, 7.0]])
    trace = looked_at(model, (inputs, torch.tensor([[1e5], [3e5]])))
    found = scales(trace)
    assert set(found) == {("batch[0]", False), ("batch[1]", True)}
    features = found["batch[0]", False]
    assert features.mean == pytest.approx((1 + 200 + 7) / 3)
    assert features.std == pytest.approx((1 + 100 + 0) / 3)
    assert features.largest == pytest.approx(200)
    assert found["batch[1]", True].mean == pytest.approx(2e5)


def test_what_the_model_normalises_itself_is_in_order() -> None:
    class Normalising(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer((x.float() - 128) / 64)

    trace = looked_at(Normalising(), (torch.randint(0, 256, (16, 4), dtype=torch.uint8), torch.randn(16, 1)))
    (record,) = [s for s in trace.data.scales if not s.target]
    assert record.name == "the input of layer"
    assert record.largest < 2


def test_behind_a_normalisation_layer_nothing_is_an_input() -> None:
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 1))
    trace = looked_at(model, (1000 * torch.rand(16, 4), torch.randn(16, 1)))
    assert not [s for s in trace.data.scales if not s.target]


def test_a_target_by_hand_and_a_view_of_it() -> None:
    model = nn.Linear(4, 1)
    data = {"x": torch.randn(16, 4), "y": 500 * torch.ones(16, 1)}
    trace = looked_at(model, data, lambda model, batch: ((model(batch["x"])[:, 0] - batch["y"][:, 0]) ** 2).mean())
    assert ("batch['y']", True) in scales(trace)


def test_one_sample_does_not_pass_for_all() -> None:
    inputs = torch.randn(32, 4)
    inputs[7, 2] = 9999.0
    trace = looked_at(nn.Linear(4, 1), (inputs, torch.randn(32, 1)))
    record = scales(trace)["batch[0]", False]
    assert record.outlier == 7
    assert record.outlier_ratio > 1000
    assert record.largest < 3


def test_starts() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 1))
    nn.init.constant_(model[0].weight, 0.5)  # type: ignore[arg-type]
    nn.init.zeros_(model[0].bias)  # type: ignore[arg-type]
    nn.init.ones_(model[2].weight)  # type: ignore[arg-type]
    parameters = looked_at(model, (torch.randn(16, 4), torch.randn(16, 1))).wiring.parameters
    first = parameters["0.weight"]
    assert first.std == 0
    assert first.fan_in == 4
    assert max(first.unit_spread.values()) < 1e-4  # still, after three steps


def test_fan_in_of_a_matrix_that_is_used_the_other_way_round() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.randn(6, 1))

        def forward(self, x: Tensor) -> Tensor:
            return x @ self.w

    assert looked_at(Own(), (torch.randn(16, 6), torch.randn(16, 1))).wiring.parameters["w"].fan_in == 6


def test_dropout_functions_and_modules_and_weight_decay() -> None:
    class Dropping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.drop, self.head = nn.Linear(8, 256), nn.Dropout(0.8), nn.Linear(256, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.drop(F.dropout(F.relu(self.layer(x)), p=0.3, training=self.training)))

    trace = looked_at(Dropping(), (torch.randn(32, 8), torch.randn(32, 1)), weight_decay=0.3)
    assert [d.share for d in trace.numbers.dropouts] == [pytest.approx(0.3, abs=0.05), pytest.approx(0.8, abs=0.05)]
    assert trace.wiring.optimizers["SGD"].weight_decay == 0.3


def test_penalties_are_places() -> None:
    def loss(model: nn.Module, batch: Any) -> Tensor:
        return F.mse_loss(model(batch[0]), batch[1]) + sum(p.abs().sum() for p in model.parameters())

    trace = looked_at(nn.Linear(4, 1), (torch.randn(8, 4), torch.randn(8, 1)), loss)
    assert [place.code for place in trace.numbers.penalties] == [
        "return F.mse_loss(model(batch[0]), batch[1]) + sum(p.abs().sum() for p in model.parameters())"
    ]


def test_operations_are_those_of_the_model() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    trace = looked_at(model, (torch.randn(8, 4), torch.randn(8, 1)))
    assert {"linear", "tanh"} <= trace.numbers.operations
    assert "mse_loss" not in trace.numbers.operations


def test_half_precision() -> None:
    data = (torch.randn(8, 4), torch.randn(8, 1))
    trace = looked_at(nn.Linear(4, 1), data, precision="float16")
    assert trace.numbers.halves["float16"].operation == "linear"
    assert not looked_at(nn.Linear(4, 1), data).numbers.halves


class TwoLooks(nn.Module):
    """A frozen layer has a look at the inputs; what it makes is thrown away, and its memory is used again."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen = nn.Linear(64, 64).requires_grad_(False)
        self.head = nn.Linear(64, 1)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(50):
            memory = self.frozen(x).untyped_storage().data_ptr()
            scaled = x * 1000
            if scaled.untyped_storage().data_ptr() == memory:
                break
        result: Tensor = self.head(scaled)
        return result


def test_memory_that_is_used_again_is_not_what_it_was() -> None:
    model = TwoLooks()
    found = scales(looked_at(model, (torch.randn(32, 64), torch.randn(32, 1))))
    assert ("the input of head", False) in found
    assert found["the input of head", False].std > 100


def test_a_dropout_that_is_off_drops_nothing() -> None:
    """It gives back what it was given: the zeros in that are those of the rectifier."""

    class Dropping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.head = nn.Linear(8, 256), nn.Linear(256, 1)

        def forward(self, x: Tensor) -> Tensor:
            hidden = F.relu(self.layer(x) - 1)
            hidden = torch.dropout(F.dropout(hidden, 0.5, training=False), 0.5, False)
            return self.head(F.dropout(hidden, p=0.3))

    trace = looked_at(Dropping(), (torch.randn(32, 8), torch.randn(32, 1)))
    assert [d.share for d in trace.numbers.dropouts] == [pytest.approx(0.3, abs=0.1)]
