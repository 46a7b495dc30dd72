"""Runs do not see each other's traces. That nothing else is left, either: tests/reliability, on generated trainings."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine


def _bits(tensor: torch.Tensor) -> bytes:
    return tensor.detach().clone().numpy().tobytes()


def test_a_factory_that_shares_its_model_leaves_it_as_it_was() -> None:
    """A session fixture's model is handed to the test again and again: no run may see another's traces."""
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    before = _bits(model.weight)
    seen: list[bytes] = []

    def factory() -> Training:
        seen.append(_bits(model.weight))
        return Training(model, torch.optim.SGD(model.parameters(), 1e-5), criterion=F.cross_entropy,
                        data=(torch.randn(8, 4), torch.randint(0, 3, (8,))))  # fmt: skip

    verdict = examine(factory, Request("overfits_one_batch", "shared", 1, {"steps": 20}))
    assert verdict.failed
    assert len(seen) > 3
    assert set(seen) == {before}
    assert _bits(model.weight) == before


def test_runs_of_the_same_seed_are_the_same() -> None:
    def factory() -> Training:
        model = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.3), nn.Linear(16, 3))
        return Training(model, torch.optim.Adam(model.parameters(), 1e-3), criterion=F.cross_entropy,
                        data=(torch.randn(8, 4), torch.randint(0, 3, (8,))))  # fmt: skip

    first, second = (examine(factory, Request("trains_without_nan", "twice", 9, {})) for _ in range(2))
    assert first.figures == second.figures
    other = examine(factory, Request("trains_without_nan", "twice", 10, {}))
    assert other.figures != first.figures


def test_the_batches_of_a_shuffling_loader_are_the_same_in_every_run() -> None:
    """Its generator is set back with everything else, also when only an object is known."""
    generator = torch.Generator().manual_seed(11)
    before = generator.get_state().tolist()
    data = TensorDataset(torch.randn(32, 4), torch.randint(0, 3, (32,)))
    model = nn.Linear(4, 3)
    loader = DataLoader(data, 4, shuffle=True, generator=generator)
    training = Training(model, torch.optim.SGD(model.parameters(), 0.1), criterion=F.cross_entropy, data=loader)
    one, other = (examine(training, Request("trains_without_nan", "shuffled", 1, {})) for _ in range(2))
    assert one.figures == other.figures
    assert generator.get_state().tolist() == before
