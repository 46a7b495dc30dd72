"""The hooks that only advice uses: each does what its name says, and leaves everything as it was."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training
from pytest_trainhealth.interventions.machine import compiled
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.intervention import Cure
from pytest_trainhealth.records.trace import Trace


def training(data: Any = None, **settings: Any) -> Training:
    torch.manual_seed(0)
    inputs, targets = torch.randn(64, 8), torch.randn(64, 2)
    batches = list(zip(inputs.split(16), targets.split(16), strict=True)) if data is None else data
    model = nn.Sequential(nn.Linear(8, 6), nn.LayerNorm(6), nn.ReLU(), nn.Linear(6, 2))
    optimizer = torch.optim.AdamW(model.parameters(), **{"lr": 0.01, "weight_decay": 0.1, **settings})
    return Training(model, optimizer, criterion=F.mse_loss, data=batches)


def run(subject: Training, *cures: Cure, steps: int = 4, signals: tuple[str, ...] = ()) -> Trace:
    plan = RunPlan(max_steps=steps, one_batch=False, look=Look(signals))
    return TrainingProgram(Start(subject, seed=0)).record(plan.curing(*cures))


def rates(trace: Trace) -> list[float]:
    return [rate / 0.01 for rate in next(iter(trace.wiring.optimizers.values())).rates]


def test_the_rate_rises_and_falls() -> None:
    subject = training()
    assert rates(run(subject, Cure("rate_schedule", "", {"warm_up": 4}))) == pytest.approx([0.25, 0.5, 0.75, 1.0])
    fall = rates(run(training(), Cure("rate_schedule", "", {"decay": 3})))
    assert fall == pytest.approx([1.0, 0.775, 0.325, 0.1])
    assert subject.optimizers["AdamW"].param_groups[0]["lr"] == 0.01


def test_vectors_are_not_decayed_and_the_groups_stay() -> None:
    """With a rate of 1 in a million and a decay of 100,000, only decay moves anything."""
    settings = {"lr": 1e-6, "weight_decay": 1e5}
    seen = {}
    for name, cures in {"as it is": (), "changed": (Cure("undecayed_vectors", ""),)}.items():
        subject = training(**settings)
        nn.init.ones_(subject.model[0].bias)
        run(subject, *cures)
        seen[name] = [float(each.detach().abs().mean()) for each in (subject.model[0].bias, subject.model[1].weight)]
        assert len(subject.optimizers["AdamW"].param_groups) == 1
    assert max(seen["as it is"]) < 0.7
    assert min(seen["changed"]) > 0.99


def test_a_fused_update_is_the_same_update() -> None:
    subject = training()
    fused = run(subject, Cure("fused_update", ""))
    assert fused.crash is None
    assert fused.losses == pytest.approx(run(training()).losses, rel=1e-5)
    assert subject.optimizers["AdamW"].param_groups[0]["fused"] is None


def test_parts_of_a_batch_give_its_gradient_and_keep_less() -> None:
    whole = run(training(), signals=("kept_for_backward",))
    parts = run(training(), Cure("micro_batches", "", {"count": 4}), signals=("kept_for_backward",))
    assert parts.losses == pytest.approx(whole.losses, rel=1e-4)
    assert whole.speed.kept_for_backward is not None
    assert parts.speed.kept_for_backward == pytest.approx(whole.speed.kept_for_backward / 4, rel=0.1)


def test_workers_load_and_are_gone_afterwards() -> None:
    loader = DataLoader(TensorDataset(torch.randn(32, 8), torch.randn(32, 2)), batch_size=8)
    trace = run(training(loader), Cure("loader_workers", "", {"count": 1}))
    assert trace.speed.worker_starts == [0]
    assert (loader.num_workers, loader.prefetch_factor) == (0, None)
    assert "loader_workers" in run(training(), Cure("loader_workers", "", {"count": 1})).applied.without_effect


def test_images_and_weights_have_their_channels_last() -> None:
    seen: list[bool] = []

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Conv2d(3, 4, 3)

        def forward(self, images: Tensor) -> Tensor:
            seen.extend(t.is_contiguous(memory_format=torch.channels_last) for t in (images, self.inner.weight))
            return self.inner(images).mean()

    torch.manual_seed(0)
    model, images = Net(), [torch.randn(2, 3, 5, 5)] * 2
    subject = Training(
        model, torch.optim.SGD(model.parameters(), lr=0.1), loss=lambda model, batch: model(batch), data=images
    )
    run(subject, Cure("channels_last", ""), steps=2)
    assert seen == [True] * 4
    assert model.inner.weight.is_contiguous()


def test_a_compiled_model_is_as_before_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the compiler makes of it is the compiler's: here it is only seen to be asked."""
    asked: list[Any] = []
    monkeypatch.setattr(compiled.torch, "compile", lambda function: asked.append(function) or function)
    monkeypatch.setattr(compiled.torch.compiler, "reset", lambda: None)
    subject = training()
    before = dict(vars(subject.model))
    assert run(subject, Cure("compiled", "")).losses == run(training()).losses
    assert len(asked) == 1
    assert vars(subject.model).keys() == before.keys()
