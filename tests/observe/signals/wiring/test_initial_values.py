"""Units that start equal and stay equal, whatever kind of layer they belong to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth import Training
from pytest_trainhealth.causes.bad_initialization import stay_equal
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.trace import Trace

_SIGNALS = ("parameters", "gradients", "movement", "initial_values", "scales")


class Sequences(nn.Module):
    """`layer` between an embedding and a head, with weights of one constant where `constant` says so."""

    def __init__(self, layer: nn.Module, constant: Callable[[str], bool]) -> None:
        super().__init__()
        self.embed, self.layer, self.head = nn.Embedding(10, 8), layer, nn.Linear(8, 5)
        for name, parameter in self.named_parameters():
            if constant(name):
                nn.init.constant_(parameter, 0.1)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        given = (x, x, x) if isinstance(self.layer, nn.MultiheadAttention) else (x,)
        made = self.layer(*given)
        out: Tensor = self.head((made[0] if isinstance(made, tuple) else made).mean(1))
        return out


def looked_at(model: nn.Module, steps: int = 5) -> Trace:
    data = (torch.randint(10, (16, 6)), torch.randint(5, (16,)))
    training = Training(model, torch.optim.Adam(model.parameters(), 1e-2), criterion=nn.CrossEntropyLoss(), data=data)
    return TrainingProgram(Start(training, seed=0)).record(RunPlan(max_steps=steps, look=Look(signals=_SIGNALS)))


LAYERS = {
    "lstm": lambda: nn.LSTM(8, 8, batch_first=True),
    "gru": lambda: nn.GRU(8, 8, batch_first=True),
    "rnn": lambda: nn.RNN(8, 8, batch_first=True),
    "attention": lambda: nn.MultiheadAttention(8, 2, batch_first=True),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_a_constant_start_stays(kind: str) -> None:
    found = stay_equal(looked_at(Sequences(LAYERS[kind](), lambda name: not name.startswith("embed"))))
    assert found, kind
    assert {p.units for p in found if p.name.startswith("layer.") and p.units is not None} == {8}


@pytest.mark.parametrize("kind", LAYERS)
def test_torchs_own_start_does_not(kind: str) -> None:
    assert stay_equal(looked_at(Sequences(LAYERS[kind](), lambda name: False))) == []


@pytest.mark.parametrize("kind", LAYERS)
def test_a_constant_embedding_or_head_alone_parts_at_the_first_step(kind: str) -> None:
    """Each token and each class gets a gradient of its own."""
    for part in ("embed", "head"):
        assert stay_equal(looked_at(Sequences(LAYERS[kind](), lambda name, part=part: name.startswith(part)))) == []  # type: ignore[misc]
