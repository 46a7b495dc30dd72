"""Whatever a check does, and wherever it is stopped, the user's objects are bit-identical afterwards."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.settings import BATTERY


class Interrupt(KeyboardInterrupt):
    """Ctrl-C at a chosen moment."""


def _model(kind: str) -> nn.Module:
    if kind == "batchnorm":
        return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    if kind == "dropout":
        return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 3))
    if kind == "frozen":
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        model[0].requires_grad_(False)
        return model
    if kind == "weightnorm":
        return nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 8)), nn.Tanh(), nn.Linear(8, 3))
    tied = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.Linear(4, 3))
    tied[2].weight = tied[0].weight
    return tied


def _optimizer(kind: str, model: nn.Module) -> torch.optim.Optimizer:
    parameters = [p for p in model.parameters() if p.requires_grad]
    makers: dict[str, Any] = {
        "sgd": lambda: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
        "adamw": lambda: torch.optim.AdamW(parameters, lr=1e-2, amsgrad=True),
        "rmsprop": lambda: torch.optim.RMSprop(parameters, lr=1e-2),
        "adagrad": lambda: torch.optim.Adagrad(parameters, lr=1e-2),
        "lbfgs": lambda: torch.optim.LBFGS(parameters, lr=0.1, max_iter=2),
    }
    return makers[kind]()  # type: ignore[no-any-return]


class Bench:
    """One generated training and everything around it that must not change."""

    def __init__(self, model: str, optimizer: str, form: str, stop: str, at: int, warm: bool) -> None:
        torch.manual_seed(0)
        self.model = _model(model)
        self.optimizer = _optimizer(optimizer, self.model)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 2, gamma=0.5)
        self.batch = {"x": torch.randn(6, 4), "y": torch.randint(0, 3, (6,)), "name": "first"}
        self.other = {"x": torch.randn(6, 4), "y": torch.randint(0, 3, (6,)), "name": "second"}
        self.history: list[float] = []
        self.counts = {"calls": 0}
        self.generator = torch.Generator().manual_seed(3)
        self.numpy_random = np.random.default_rng(5)
        self.average = copy.deepcopy(self.model)
        self._stop, self._at, self._calls = "never", at, 0
        if warm and optimizer != "lbfgs":  # gradients and optimizer state are there already
            self._loss(self.model, copy.deepcopy(self.batch)).backward()
            self.optimizer.step()
        self._stop, self._calls = stop, 0
        common = {"data": [self.batch, self.other], "optimizer": self.optimizer}
        if form == "step" and optimizer != "lbfgs":
            self.training = Training(self.model, step=self._step, **common)
        else:
            self.training = Training(self.model, loss=self._loss, scheduler=self.scheduler, **common)

    def _loss(self, model: nn.Module, batch: Any) -> torch.Tensor:
        self._calls += 1
        if self._calls == self._at and self._stop != "never":
            raise Interrupt if self._stop == "ctrl-c" else RuntimeError("out of cheese")
        batch["x"] += 0.01 * torch.randn(batch["x"].shape, generator=self.generator)  # in place, on purpose
        return F.cross_entropy(model(batch.pop("x")), batch.pop("y"))

    def _step(self, batch: Any) -> torch.Tensor:
        self.counts["calls"] += 1
        self.model.train(self.counts["calls"] % 2 == 0)
        self.optimizer.zero_grad()
        loss = self._loss(self.model, batch)
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        self.history.append(float(loss.detach()) + self.numpy_random.random() + random.random())
        with torch.no_grad():
            for mine, theirs in zip(self.average.parameters(), self.model.parameters(), strict=True):
                mine.lerp_(theirs, 0.1)
        return loss

    def state(self) -> dict[str, Any]:
        """Copies of everything, to be compared bit by bit."""
        return {
            "parameters": [_bits(p) for p in self.model.parameters()],
            "identities": [id(p) for p in self.model.parameters()],
            "gradients": [None if p.grad is None else _bits(p.grad) for p in self.model.parameters()],
            "frozen": [p.requires_grad for p in self.model.parameters()],
            "buffers": [_bits(b) for b in self.model.buffers()],
            "modes": [m.training for m in self.model.modules()],
            "hooks": [
                (len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks)) for m in self.model.modules()
            ],
            "optimizer": _plain(self.optimizer.state_dict()),
            "scheduler": _plain(self.scheduler.state_dict()),
            "average": [_bits(p) for p in self.average.parameters()],
            "batch": _plain(self.batch),
            "python": (self.history[:], dict(self.counts)),
            "generators": (self.generator.get_state().tolist(), str(self.numpy_random.bit_generator.state)),
            "random": (random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()),
            "threads": torch.get_num_threads(),
            "torch": (
                torch.autograd.backward,
                torch.optim.Optimizer.zero_grad,
                nn.Module.zero_grad,
                torch.optim.Optimizer.__init__,
            ),
            "global hooks": _global_hooks(),
            "anomaly": (torch.is_anomaly_enabled(), torch.is_grad_enabled()),
        }


def _global_hooks() -> list[int]:
    from torch.nn.modules import module
    from torch.optim import optimizer

    return [
        len(module._global_forward_hooks),
        len(module._global_forward_pre_hooks),
        len(module._global_module_registration_hooks),
        len(optimizer._global_optimizer_pre_hooks),
        len(optimizer._global_optimizer_post_hooks),
    ]


def _bits(tensor: torch.Tensor) -> bytes:
    return tensor.detach().clone().numpy().tobytes()


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _bits(value)
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return repr(value)


@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(
    model=st.sampled_from(["batchnorm", "dropout", "frozen", "weightnorm", "tied"]),
    optimizer=st.sampled_from(["sgd", "adamw", "rmsprop", "adagrad", "lbfgs"]),
    form=st.sampled_from(["loss", "step"]),
    stop=st.sampled_from(["never", "error", "ctrl-c"]),
    at=st.integers(1, 12),
    warm=st.booleans(),
    check=st.sampled_from(BATTERY),
)
def test_everything_is_bit_identical_afterwards(
    model: str, optimizer: str, form: str, stop: str, at: int, warm: bool, check: str
) -> None:
    bench = Bench(model, optimizer, form, stop, at, warm)
    before = bench.state()
    if stop == "never":
        examine(bench.training, Request(check, "generated", 1, {"steps": 6}))
    else:
        with pytest.raises((Interrupt, RuntimeError)):
            examine(bench.training, Request(check, "generated", 1, {"steps": 20}))
    after = bench.state()
    for part, value in before.items():
        assert after[part] == value, f"{part} changed"


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
