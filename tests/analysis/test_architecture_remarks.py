"""Remarks on how a model is built: on records that were made up, and on models that really run."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training
from pytest_trainhealth.advice.give import LOOK
from pytest_trainhealth.analysis.architecture import remarks
from pytest_trainhealth.programs.plan import RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.architecture import ArchitectureRecord, LayerRecord
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.wiring import OptimizerRecord, ParameterRecord


def topics(trace: Trace) -> dict[str, str]:
    found = list(remarks(trace))
    assert {each.status for each in found} <= {"not measured"}
    return {each.change: each.statement for each in found}


def built(**known: object) -> Trace:
    trace = Trace.of([1.0])
    trace.wiring.architecture = ArchitectureRecord(**known)  # type: ignore[arg-type]
    return trace


@pytest.mark.parametrize(
    ("known", "remarked"),
    [
        ({"longest": 11, "shortest": 11}, "neither normalisation nor shortcuts"),
        ({"longest": 30, "shortest": 29, "normalisations": 30}, "no shortcuts around them"),
        ({"longest": 50, "shortest": 2}, ""),
        ({"longest": 10, "shortest": 10}, ""),
        ({}, ""),
    ],
)
def test_depth(known: dict[str, int], remarked: str) -> None:
    found = topics(built(**known)).get("depth", "")
    assert bool(found) == bool(remarked)
    assert remarked in found


def test_few_values_for_a_batch_norm() -> None:
    trace = built()
    trace.numbers.values_per_channel = {"a": 64, "b": 2}
    assert topics(trace)["normalisation"].startswith("BatchNorm b takes mean and variance from 2 values")


def test_more_values_than_samples() -> None:
    trace = built(samples=100)
    trace.wiring.parameters = {"w": ParameterRecord("w", (100, 50), 5000)}
    assert "50 for each (beyond 10" in topics(trace)["size"]
    trace.wiring.architecture = ArchitectureRecord(samples=1000)
    assert "size" not in topics(trace)


def test_weight_decay_on_a_bias() -> None:
    trace = built()
    trace.wiring.parameters = {"b": ParameterRecord("b", (8,), 8, held_by=("AdamW",))}
    trace.wiring.optimizers = {"AdamW": OptimizerRecord("AdamW", "AdamW", weight_decay=0.01)}
    assert topics(trace)["weight decay"].startswith("0.01, also on biases")
    trace.wiring.optimizers["AdamW"].weight_decay = 0.0
    assert topics(trace) == {}


@pytest.mark.parametrize(
    ("gains", "remarked"),
    [
        ((0.6, 0.5), ""),
        ((0.6, 50.0), "b turns a spread of 1 into 50"),
        ((0.01, 1.0), "a turns a spread of 1 into 0.01"),
    ],
)
def test_a_layer_that_changes_the_spread(gains: tuple[float, float], remarked: str) -> None:
    layers = [LayerRecord(path, "Linear", 1.0, gain) for path, gain in zip("ab", gains, strict=True)]
    found = topics(built(layers=[*layers, LayerRecord("head", "Linear", 1.0, 1e-6)]))
    assert found.get("initialisation", "").startswith(remarked)
    assert bool(found) == bool(remarked)


class Residual(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.inner = nn.ModuleList(nn.Linear(8, 8) for _ in range(layers))
        self.head = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.inner:
            x = x + torch.relu(layer(x))
        return self.head(x)


def plain(layers: int, activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    inner = [part for _ in range(layers) for part in (nn.Linear(8, 8), activation())]
    return nn.Sequential(*inner, nn.Linear(8, 3))


def seen(model: nn.Module) -> Trace:
    torch.manual_seed(0)
    batches = [(torch.randn(64, 8), torch.randint(3, (64,))) for _ in range(100)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    training = Training(model, optimizer, criterion=F.cross_entropy, data=batches)
    return TrainingProgram(Start(training, seed=0)).record(RunPlan(max_steps=1, look=LOOK, one_batch=False))


def test_ways_through_a_real_model() -> None:
    record = seen(plain(12)).wiring.architecture
    assert record is not None
    assert (record.longest, record.shortest, record.samples, len(record.layers)) == (13, 13, 6400, 13)
    shortcuts = seen(Residual(12)).wiring.architecture
    assert shortcuts is not None
    assert (shortcuts.longest, shortcuts.shortest) == (13, 2)  # the inputs themselves leave no trace in the graph


def test_remarks_on_real_models() -> None:
    assert "depth" in topics(seen(plain(12)))
    assert "depth" not in topics(seen(Residual(12)))
    assert topics(seen(plain(2))) == {}
    assert topics(seen(nn.Sequential(nn.LayerNorm(8), plain(3)))) == {}
    assert "6 layers with tanh" in topics(seen(plain(6, nn.Tanh)))["activations"]


def test_a_recurrence_has_no_depth_of_its_own() -> None:
    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.head = nn.GRU(1, 8, batch_first=True), nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.inner(x.unsqueeze(-1))[0][:, -1])

    assert topics(seen(Reader())) == {}
